#include "profiler/backends/cuda/attention_parts.hpp"

#include "profiler/backends/cuda/layout.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {

DeviceMemory on_device(const std::vector<std::int32_t>& numbers) {
  DeviceMemory memory(buffer_bytes(static_cast<std::int64_t>(numbers.size()), Precision::fp32, false));
  const std::size_t bytes = numbers.size() * sizeof(std::int32_t);
  check(cudaMemcpy(memory.data(), numbers.data(), bytes, cudaMemcpyHostToDevice), "copying to the device");
  return memory;
}

}  // namespace ddl::cuda
