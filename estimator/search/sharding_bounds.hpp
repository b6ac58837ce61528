#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Lower bounds of the time of plans whose parameters fit in memory only if ZeRO shards them. Such plans gather weights and
/// scatter gradients for every micro-batch. Not thread-safe.
class ShardingBounds {
 public:
  /// Both arguments must outlive this object.
  ShardingBounds(const Estimator& estimator, const VariantSpace& space) : estimator_(estimator), space_(space) {}

  /// Returns a lower bound of the step time of all plans with these degrees, micro-batches and placement whose parameters
  /// need at most `limit` bytes, for any other choices. Zero if some of these plans do not shard gradients or weights.
  [[nodiscard]] Seconds least(const Plan& plan, Bytes limit);

 private:
  /// Returns plans with these degrees, one for each way to shard parameters that may need at most `limit` bytes.
  [[nodiscard]] const std::vector<Plan>& ways(const Plan& plan, Bytes limit);

  const Estimator& estimator_;
  const VariantSpace& space_;
  Mesh mesh_;  ///< the degrees that `ways_` refers to
  std::optional<Bytes> limit_;
  std::vector<Plan> ways_;
};

}  // namespace ddl
