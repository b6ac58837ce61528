#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/layer_costs.hpp"

namespace ddl {

/// The granularity of a model on the devices of one level of a machine: compute time divided by
/// communication time, for data parallelism and for the model's graph.
struct LevelGrain {
  std::string name;  ///< name of the level
  std::int64_t devices = 1;
  /// T_comp: time of forward, backward and update of one step. T_comm: time of the step's gradient
  /// exchange, without overlap.
  Seconds computing{}, communicating{};
  Seconds smallest_node{};  ///< forward of the shortest layer that has any compute
  Seconds largest_edge{};   ///< α + mβ of the largest tensor between two layers, over one link of this level

  /// Returns T_comp / T_comm, a number; empty for one device.
  [[nodiscard]] std::optional<double> data_parallel() const;
  /// Returns min W(node) / max C(edge), a number: the shortest layer's compute time divided by the
  /// largest tensor's transfer time. Empty if the graph has no edge.
  [[nodiscard]] std::optional<double> graph() const;
};

/// Returns one value for each level, innermost first. `batch`: number of samples on each device. The assumptions of the job
/// should not overlap communication with compute.
[[nodiscard]] std::vector<LevelGrain> level_grains(const Job& job, Precision precision, Optimizer optimizer,
                                                   std::int64_t batch);

}  // namespace ddl
