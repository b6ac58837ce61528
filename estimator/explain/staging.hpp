#pragma once

#include <optional>

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// The copy of samples from the shared file system to the nodes, once before a training.
struct StagedData {
  Bytes per_node{};               ///< bytes of samples that a node has, with those that its ranks receive
  bool fits = true;               ///< whether nodes can hold these bytes; if not, samples stay on the shared file system
  std::optional<Seconds> time{};  ///< time of the copy; unset if the shared file system's bandwidth is unknown
};

/// Returns the copy of a plan. Its time is the longest of four times: a node's bytes at the bandwidth of the node, and at
/// the bandwidth of its disk; all nodes' bytes at the bandwidth of the shared file system, and their files at its rate of
/// files. Empty if samples are not staged.
[[nodiscard]] std::optional<StagedData> staged_data(const Job& job, const Plan& plan);

}  // namespace ddl
