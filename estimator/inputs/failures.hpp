#pragma once

#include <optional>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// What a time between failures refers to: one GPU, one node, or the whole job.
enum class FailingUnit { gpu, node, job };
inline constexpr EnumNames<FailingUnit> failing_unit_names{"gpu", "node", "job"};

/// How often a part of a machine interrupts a training, and how long the training then stands still.
struct Failures {
  std::optional<Seconds> interval{};  ///< mean time between failures of one unit
  FailingUnit of = FailingUnit::gpu;
  std::optional<Seconds> restart{};  ///< from a failure to the first new step, without the steps that are repeated
};

/// Whether the training waits until a checkpoint is on storage, or only until it is copied to the host's memory.
enum class CheckpointWriting { blocking, asynchronous };
inline constexpr EnumNames<CheckpointWriting> checkpoint_writing_names{"blocking", "async"};

/// What the user states about failures of one training. A value that is set replaces the machine's.
struct Recovery {
  Failures failures{};
  std::optional<Seconds> checkpoint_every{};        ///< training time between two checkpoints; unset: the best one
  std::optional<Seconds> checkpoint_time{};         ///< time for which the training waits; unset: from bytes and bandwidth
  std::optional<Bandwidth> checkpoint_bandwidth{};  ///< bandwidth of all nodes together; unset: that of the shared storage
  CheckpointWriting writing = CheckpointWriting::blocking;
  double spare_nodes = 0;           ///< nodes that replace failed nodes immediately
  std::optional<Seconds> repair{};  ///< repair time of a failed node; unset: failed nodes are always replaced
};

}  // namespace ddl
