#include "profiler/backends/cuda/status.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/device_lost.hpp"
#include "core/error.hpp"

namespace ddl::cuda {
namespace {

constexpr const char* smaller_batch = "a smaller batch needs less memory";

/// Whether there never was a device: cuDNN plans for one that is only described, too.
bool is_without_device(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary;
}

/// Forgets the error that CUDA remembers; throws DeviceLost where it comes again. Errors that stay are given by every call
/// from then on [CUDA Runtime API, "cudaGetLastError" and the descriptions of cudaError_t].
void forget_error(std::string_view what) {
  static_cast<void>(cudaGetLastError());
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(cudaGetLastError());
  const cudaError_t again = cudaDeviceSynchronize();
  if (again == cudaSuccess || is_without_device(again)) return;
  throw DeviceLost(
      fmt::format("{}: the GPU cannot be used any more: {} ({})", what, cudaGetErrorName(again), cudaGetErrorString(again)),
      "a kernel that was started before may have caused it: CUDA_LAUNCH_BLOCKING=1 names the one that did");
}

}  // namespace

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  forget_error(what);
  const std::string hint = status == cudaErrorMemoryAllocation ? smaller_batch : "";
  throw Error(fmt::format("{}: {} ({})", what, cudaGetErrorName(status), cudaGetErrorString(status)), hint);
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> words{};
  cudnnGetLastErrorString(words.data(), words.size());
  forget_error(what);
  const std::string_view text(words.data());
  const std::string hint = status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ? smaller_batch : "";
  throw Error(fmt::format("{}: {}{}{}", what, cudnnGetErrorString(status), text.empty() ? "" : ": ",
                          text.substr(0, text.find('\n'))),
              hint);
}

void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  forget_error(what);
  const std::string hint = status == CUBLAS_STATUS_ALLOC_FAILED ? smaller_batch : "";
  throw Error(fmt::format("{}: {} ({})", what, cublasLtGetStatusName(status), cublasLtGetStatusString(status)), hint);
}

}  // namespace ddl::cuda
