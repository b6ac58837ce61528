#include "profiler/backends/cuda/status.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/device_lost.hpp"
#include "core/error.hpp"

namespace ddl::cuda {
namespace {

/// Whether there is no device at all. In that case cuDNN can still plan for a device that is only described.
bool is_without_device(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary;
}

/// Whether a stream is being recorded. Waiting for the device is then not allowed, and an operation that cannot be recorded
/// reports its own error.
bool is_of_recording(cudaError_t status) {
  return status >= cudaErrorStreamCaptureUnsupported && status <= cudaErrorStreamCaptureWrongThread;
}

/// Clears CUDA's last error. If the error is sticky, throws DeviceLost. After a sticky error, every later call returns the
/// error [CUDA Runtime API, "cudaGetLastError" and the descriptions of cudaError_t].
void forget_error(std::string_view what) {
  static_cast<void>(cudaGetLastError());
  static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(cudaGetLastError());
  const cudaError_t again = cudaDeviceSynchronize();
  if (again == cudaSuccess || is_without_device(again) || is_of_recording(again)) return;
  throw DeviceLost(fmt::format("{}: the GPU is unusable: {} ({})", what, cudaGetErrorName(again), cudaGetErrorString(again)),
                   "an earlier kernel may have caused this: find the kernel with CUDA_LAUNCH_BLOCKING=1");
}

}  // namespace

OutOfMemory::OutOfMemory(const std::string& message) : Error(message, "use a smaller batch") {}

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  forget_error(what);
  const std::string message = fmt::format("{}: {} ({})", what, cudaGetErrorName(status), cudaGetErrorString(status));
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw Error(message);
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> words{};
  cudnnGetLastErrorString(words.data(), words.size());
  forget_error(what);
  const std::string_view text(words.data());
  const std::string message = fmt::format("{}: {}{}{}", what, cudnnGetErrorString(status), text.empty() ? "" : ": ",
                                          text.substr(0, text.find('\n')));
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) throw OutOfMemory(message);
  throw Error(message);
}

void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  forget_error(what);
  const std::string message =
      fmt::format("{}: {} ({})", what, cublasLtGetStatusName(status), cublasLtGetStatusString(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(message);
  throw Error(message);
}

}  // namespace ddl::cuda
