#pragma once

#include <string>
#include <string_view>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "core/error.hpp"

namespace ddl::cuda {

/// Out of device memory. The same call may succeed when more memory is available.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message);
};

/// Unless the status is success, throws Error with the name of the status and the library's own message, if there is one.
/// `what`: the attempted action, such as `the forward pass`. A CUDA error that is not sticky is cleared, so that the device
/// can still be used. A sticky error, such as an illegal memory access or a device that fell off the bus, throws DeviceLost;
/// this process can no longer use the device. The error may come from a kernel that was launched before `what`.
void check(cudaError_t status, std::string_view what);
void check(cudnnStatus_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);

}  // namespace ddl::cuda
