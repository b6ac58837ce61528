#pragma once

#include <string_view>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace ddl::nccl {

// An Error with the library's words where the status is no success; `what` failed: "a broadcast".
void check(cudaError_t status, std::string_view what);
/// What NCCL last noted of the communicator is said, too.
void check(ncclResult_t status, std::string_view what, ncclComm_t communicator = nullptr);

}  // namespace ddl::nccl
