#pragma once

#include <string_view>

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace ddl::nccl {

// Throws Error with the library's message if the status is not success. `what`: the attempted action, such as "a broadcast".
void check(cudaError_t status, std::string_view what);
/// The Error for an NCCL status includes NCCL's last error message of the communicator.
void check(ncclResult_t status, std::string_view what, ncclComm_t communicator = nullptr);

}  // namespace ddl::nccl
