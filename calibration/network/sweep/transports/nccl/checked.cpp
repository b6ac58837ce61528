#include "calibration/network/sweep/transports/nccl/checked.hpp"

#include <string>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl::nccl {
namespace {

std::string hint_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return "a smaller --largest needs less memory";
  if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice) {
    return "NCCL needs an NVIDIA GPU and its driver; --mpi measures between processors";
  }
  return "";
}

}  // namespace

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw Error(fmt::format("CUDA: {} failed: {} ({})", what, cudaGetErrorName(status), cudaGetErrorString(status)),
              hint_of(status));
}

void check(ncclResult_t status, std::string_view what, ncclComm_t communicator) {
  if (status == ncclSuccess) return;
  const char* const noted = ncclGetLastError(communicator);
  const std::string more = noted == nullptr || *noted == '\0' ? "" : fmt::format(": {}", noted);
  throw Error(fmt::format("NCCL: {} failed: {}{}", what, ncclGetErrorString(status), more),
              status == ncclRemoteError ? "another rank ended, or the network failed: see the output of the other ranks"
                                        : "NCCL_DEBUG=WARN prints more");
}

}  // namespace ddl::nccl
