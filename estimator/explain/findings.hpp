#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "estimator/step/estimate.hpp"

namespace ddl {

/// A cause that limits a plan, in the taxonomy of [ParaDL, Table V], and the share of the plan's
/// time or memory that it causes.
struct Finding {
  enum class Kind {
    compute,
    gradient_exchange,
    layer_collectives,
    halo,
    pipeline,
    bubble,
    weight_update,
    input,
    waiting,
    memory_redundancy,
    replicated_work,
    load_imbalance,
    scaling_limit,
    local_storage
  };
  struct Gradients {
    std::int64_t ranks;
    int zero_stage;
    std::string_view algorithm;   ///< algorithm of the gradient Allreduce
    bool copies_weights = false;  ///< whether the time contains copies of offloaded weights from the host
  };
  struct Pipeline {
    int stages;
    std::int64_t micro_batches;
  };
  /// Ranks wait for the host to launch kernels.
  struct Host {
    Seconds launch_overhead;
  };
  /// Hosts decode images while the devices train, or could not decode as many images as the devices train.
  struct Images {
    double decoded;  ///< images per second that one node's host decodes
    bool waits;      ///< whether the predicted time contains decoding
  };
  /// Ranks wait for pages of managed memory, which the host holds.
  struct Pages {};
  /// Ranks wait for activations that are copied to host memory and back, and for the slowest rank.
  struct Activations {};
  /// The first layer that a spatial strategy does not split.
  struct TilesEnd {
    int layer;
  };
  /// Ranks that hold replicas of the same data.
  struct Copies {
    std::int64_t ranks;
  };
  struct Samples {
    std::int64_t step_time;
    double epoch;
  };
  struct DataSet {
    Bytes size, storage;
    bool shared_known;  ///< whether the bandwidth of the shared file system is known
  };
  Kind kind = Kind::compute;
  double share = 0;
  /// Details of the cause. Two causes have none: waiting for the slowest rank, and replicas of a single sample.
  std::variant<std::monostate, Gradients, Pipeline, Host, Images, Pages, Activations, TilesEnd, Copies, Samples, DataSet>
      facts{};
  bool bounds = false;  ///< the cause has the largest share of the time
};
[[nodiscard]] std::string_view to_string(Finding::Kind kind);

/// Returns the findings of an estimated plan: first the finding that dominates the plan's time, then all others.
[[nodiscard]] std::vector<Finding> findings_of(const Job& job, const Estimate& estimate);

}  // namespace ddl
