#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/step/layer_costs.hpp"

namespace ddl {

/// How coarse a model's work is for the devices that one level of a machine joins: computing over communicating, of data
/// parallelism and of the graph itself.
struct LevelGrain {
  std::string name;  ///< of the level
  std::int64_t devices = 1;
  /// T_comp: forward, backward and update of one iteration; T_comm: its gradient exchange, none of it hidden.
  Seconds computing{}, communicating{};
  Seconds smallest_node{};  ///< forward of the layer that takes least, of those that compute anything
  Seconds largest_edge{};   ///< α + mβ of the largest tensor between two layers, over one link of this level

  /// T_comp / T_comm; nothing on one device.
  [[nodiscard]] std::optional<double> data_parallel() const;
  /// min W(node) / max C(edge); nothing where there is no edge.
  [[nodiscard]] std::optional<double> graph() const;
};

/// From the inside out, one for each level; `batch` samples on each device. The job's assumptions should hide nothing.
[[nodiscard]] std::vector<LevelGrain> level_grains(const Job& job, Precision precision, Optimizer optimizer,
                                                   std::int64_t batch);

}  // namespace ddl
