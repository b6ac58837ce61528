#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The floating-point operations of matrix products and convolutions that training one sample takes, a multiply-add being
/// two. Attention counts each query with all keys, those behind a causal mask too [Chow22, appendix B].
struct SampleFlops {
  double forward = 0, backward = 0;
  double blocks = 0;  ///< of forward, those in blocks: what full recomputation computes again
  /// Of forward, those of layers that are a part of the same modules.
  std::vector<std::pair<RecomputeModules, double>> in_modules{};

  [[nodiscard]] double model() const { return forward + backward; }
  /// Returns those of forward that selective recomputation of these modules computes again.
  [[nodiscard]] double of(RecomputeModules modules) const;
  /// Returns those that devices compute: with what the plan computes a second time. `recomputed_share`: of the blocks.
  [[nodiscard]] double hardware(const Plan& plan, double recomputed_share = 1) const;
};
[[nodiscard]] SampleFlops sample_flops(const ModelFacts& facts);

/// What a plan trains in a second, and how much of the devices' peak that takes.
struct Throughput {
  double samples = 0;                      ///< per second, of all devices together
  std::optional<double> tokens{};          ///< the same; nothing for models that are not of sequences
  FlopRate model{}, hardware{};            ///< per device
  std::optional<double> model_share{};     ///< MFU: of the peak in the plan's precision; nothing where that is not known
  std::optional<double> hardware_share{};  ///< HFU
};
/// Returns nothing for a plan without a time. `flops`: of the job's model.
[[nodiscard]] std::optional<Throughput> throughput_of(const Job& job, const SampleFlops& flops, const Estimate& estimate);

/// Returns how long a plan trains for so many tokens, at least one iteration; nothing for a plan without a time, or a model
/// that is not of sequences.
[[nodiscard]] std::optional<Seconds> training_time(const Job& job, const Estimate& estimate, double tokens);

}  // namespace ddl
