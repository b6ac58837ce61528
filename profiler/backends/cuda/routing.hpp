#pragma once

#include <memory>

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

/// The assignment of tokens to experts: the `active` experts with the best scores in each row. Copies of tokens are grouped
/// by expert over the whole batch. The copies in a group have the order of the tokens. Forward computes the routing and
/// keeps it for backward.
struct Routing {
  Routing(std::int64_t token_rows, std::int64_t expert_count, std::int64_t best);

  /// The tensors that forward keeps: for each row, the experts and the copies of the row; for each copy, its row.
  [[nodiscard]] std::vector<KernelTensor> kept(bool written) const;
  /// Computes the routing, and writes it to the kept tensors. Their addresses start at `at`.
  void work_out(const Device& device, Precision precision, const void* scores, std::span<void* const> at) const;
  [[nodiscard]] device::Routes routes(std::int64_t channels, std::span<void* const> at) const;
  [[nodiscard]] static const std::int32_t* tokens(std::span<void* const> at) {
    return static_cast<const std::int32_t*>(at[2]);
  }
  [[nodiscard]] std::size_t workspace() const { return counts->bytes(); }

  std::int64_t rows, experts, active;
  std::shared_ptr<DeviceMemory> counts;  ///< number of copies of each expert
};

}  // namespace ddl::cuda
