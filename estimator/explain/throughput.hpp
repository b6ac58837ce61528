#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The floating-point operations (FLOPs) of matrix products and convolutions for training on one sample. A multiply-add
/// counts as two FLOPs. Attention counts each query with all keys, including keys behind a causal mask [Chow22, appendix B].
struct SampleFlops {
  double forward = 0, backward = 0;
  double blocks = 0;  ///< forward FLOPs of the blocks; full recomputation recomputes blocks
  /// Model FLOPs that kernels may skip: FLOPs of masked pairs of attention, and of convolutions with windows of 3 × 3 and
  /// stride 1, for which Winograd's algorithm needs fewer FLOPs.
  double masked = 0, square3 = 0;
  /// Forward FLOPs of the layers that selective recomputation can recompute, summed over the layers of the same modules.
  std::vector<std::pair<RecomputeModules, double>> in_modules{};

  [[nodiscard]] double model() const { return forward + backward; }
  /// Returns the forward FLOPs that selective recomputation of these modules adds.
  [[nodiscard]] double of(RecomputeModules modules) const;
  /// Returns the FLOPs that devices execute, including recomputation. `recomputed_share`: the share
  /// of the blocks that is recomputed.
  [[nodiscard]] double hardware(const Plan& plan, double recomputed_share = 1) const;
};
/// `stops_early`: recomputed modules end with the last tensor that backward needs.
[[nodiscard]] SampleFlops sample_flops(const ModelFacts& facts, bool stops_early = false);
[[nodiscard]] SampleFlops sample_flops(const Job& job);

/// The training throughput of a plan, and its share of the devices' peak.
struct Throughput {
  double samples = 0;                      ///< samples per second, of all devices together
  std::optional<double> tokens{};          ///< tokens per second of all devices; unset for models without sequences
  FlopRate model{}, hardware{};            ///< FLOPs per second and device, without and with recomputation
  std::optional<double> model_share{};     ///< MFU: share of the peak in the plan's precision; unset without a peak
  std::optional<double> hardware_share{};  ///< HFU: share of the peak, including recomputation
};
/// Returns empty for a plan without a predicted time. `flops` must belong to the job's model.
[[nodiscard]] std::optional<Throughput> throughput_of(const Job& job, const SampleFlops& flops, const Estimate& estimate);

/// Returns the time to train a plan on this number of tokens, with at least one step. Empty for a
/// plan without a predicted time, or for a model without sequences.
[[nodiscard]] std::optional<Seconds> training_time(const Job& job, const Estimate& estimate, double tokens);

}  // namespace ddl
