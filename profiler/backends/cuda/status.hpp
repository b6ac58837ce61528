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

/// Throws Error with the name of the status, and the library's own message if it has one, unless the status is success.
/// `what`: the attempted action, such as `the forward pass`. A CUDA error that is not sticky is cleared, so that the device
/// can still be used. After a sticky error (an illegal memory access, a device that fell off the bus) this process cannot
/// use the device any more, and DeviceLost is thrown. The error may come from a kernel that was launched before `what`.
void check(cudaError_t status, std::string_view what);
void check(cudnnStatus_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);

}  // namespace ddl::cuda
