#include "profiler/backends/cuda/device/grid.cuh"

namespace ddl::cuda::device {
namespace {

__global__ void touch_kernel(const std::uint32_t* words, std::int64_t count, float* sink) {
  std::uint32_t all = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * block) {
    all ^= words[i];
  }
  // This condition is almost never true, but the compiler cannot know that, so it does not remove the reads.
  if (all == 0x5eed1e55U && sink != nullptr) *sink = 1;
}

__global__ void hold_kernel(std::int64_t cycles) {
  const std::int64_t start = clock64();
  while (clock64() - start < cycles) {}
}

}  // namespace

cudaError_t touch(cudaStream_t stream, const void* data, std::size_t bytes, float* sink) {
  const auto words = static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
  if (words == 0) return cudaSuccess;
  constexpr unsigned most_blocks = 2048;
  const unsigned count = blocks(words) < most_blocks ? blocks(words) : most_blocks;
  DDL_LAUNCH(touch_kernel, count, block, stream, static_cast<const std::uint32_t*>(data), words, sink);
  return cudaGetLastError();
}

cudaError_t hold(cudaStream_t stream, std::int64_t cycles) {
  DDL_LAUNCH(hold_kernel, 1, 1, stream, cycles);
  return cudaGetLastError();
}

}  // namespace ddl::cuda::device
