#pragma once

#include <string>
#include <string_view>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "core/error.hpp"

namespace ddl::cuda {

/// Memory of the device that ran out. What does not run for it may run when there is more.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message);
};

/// Throw Error with the name of the status, and the library's own words where it has some, unless it is success. `what` is
/// what was tried: `the forward pass`. An error that CUDA remembers is forgotten, so that the device can be used on. An
/// error that stays (a kernel that read where it may not, a device that fell off the bus) leaves nothing that this process
/// could do with the device: DeviceLost. It may come from a kernel that was started before `what`.
void check(cudaError_t status, std::string_view what);
void check(cudnnStatus_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);

}  // namespace ddl::cuda
