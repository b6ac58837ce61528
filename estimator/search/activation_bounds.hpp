#pragma once

#include <map>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Lower bounds of the activations that a rank keeps until backward, for all plans with the same degrees. Not thread-safe.
class ActivationBounds {
 public:
  /// The estimator must outlive the bounds.
  explicit ActivationBounds(const Estimator& estimator);

  /// Returns a lower bound in bytes for the fullest rank of a plan that offloads no activations, with any recomputation,
  /// stages, schedule, placement and ZeRO stage, and any way to divide layers along the plan's axes. Ways to hold tables
  /// change weights, but not what is kept for backward.
  [[nodiscard]] Bytes least(const Plan& plan);

 private:
  /// What a micro-batch keeps for each of its samples.
  struct Kept {
    Bytes all{};    ///< bytes of all layers
    Bytes first{};  ///< bytes of the first layer
  };
  const Kept& kept_of(const Plan& plan);

  const Estimator& estimator_;
  Job job_;                     ///< without kept copies of sent tensors, because no stage may end after the first layer
  std::map<Mesh, Kept> known_;  ///< keyed by the degrees except replicas and stages
};

}  // namespace ddl
