#include "profiler/backends/cuda/status.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl::cuda {
namespace {

constexpr const char* smaller_batch = "a smaller batch needs less memory";

}  // namespace

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  const std::string hint = status == cudaErrorMemoryAllocation ? smaller_batch : "";
  throw Error(fmt::format("{}: {} ({})", what, cudaGetErrorName(status), cudaGetErrorString(status)), hint);
}

void check(cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> words{};
  cudnnGetLastErrorString(words.data(), words.size());
  static_cast<void>(cudaGetLastError());
  const std::string_view text(words.data());
  const std::string hint = status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ? smaller_batch : "";
  throw Error(fmt::format("{}: {}{}{}", what, cudnnGetErrorString(status), text.empty() ? "" : ": ",
                          text.substr(0, text.find('\n'))),
              hint);
}

void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  static_cast<void>(cudaGetLastError());
  const std::string hint = status == CUBLAS_STATUS_ALLOC_FAILED ? smaller_batch : "";
  throw Error(fmt::format("{}: {} ({})", what, cublasLtGetStatusName(status), cublasLtGetStatusString(status)), hint);
}

}  // namespace ddl::cuda
