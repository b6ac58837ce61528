#include "profiler/backends/cuda/routing.hpp"

namespace ddl::cuda {

Routing::Routing(std::int64_t token_rows, std::int64_t expert_count, std::int64_t best)
    : rows(token_rows),
      experts(expert_count),
      active(best),
      counts(std::make_shared<DeviceMemory>(buffer_bytes(expert_count, Precision::fp32, false))) {}

std::vector<KernelTensor> Routing::kept(bool written) const {
  std::vector<KernelTensor> tensors;
  for (int index = 0; index < 3; ++index) {
    // The kept tensors are described as fp32, because their elements are integers of 32 bits.
    tensors.push_back(flat(TensorRole::kept, index, rows * active, written, Precision::fp32));
  }
  return tensors;
}

void Routing::work_out(const Device& device, Precision precision, const void* scores, std::span<void* const> at) const {
  auto* const chosen = static_cast<std::int32_t*>(at[0]);
  started(device::choose_best(device.launch(precision), scores, chosen, rows, experts, active));
  started(device::place_copies(device.stream, chosen, rows, experts, active, static_cast<std::int32_t*>(counts->data()),
                               static_cast<std::int32_t*>(at[2]), static_cast<std::int32_t*>(at[1])));
}

device::Routes Routing::routes(std::int64_t channels, std::span<void* const> at) const {
  return {experts, active, channels, static_cast<const std::int32_t*>(at[0]), static_cast<const std::int32_t*>(at[1])};
}

}  // namespace ddl::cuda
