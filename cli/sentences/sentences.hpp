#pragma once

#include <string>

#include "calibration/runs/run_prediction.hpp"
#include "estimator/explain/comparison.hpp"
#include "estimator/explain/findings.hpp"

namespace ddl {

// What the estimator finds are values; here they become English.

/// What is wanted, what there is, and where.
[[nodiscard]] std::string describe(const Limit& limit, const Model& model);
/// All of them, with semicolons in between.
[[nodiscard]] std::string describe(const Limits& limits, const Model& model);
/// Why a measured run has no prediction.
[[nodiscard]] std::string describe(const Unpredictable& refusal);

/// `bound by: exchanging gradients among 16 ranks (ring) takes 60 % of the time`
[[nodiscard]] std::string describe(const Finding& finding, const Model& model);

/// How two plans compare, and the deciding term with its numbers. `comparison`: of these two.
[[nodiscard]] std::string describe(const Comparison& comparison, const Compared& explained, const Compared& other);
/// By how much a plan takes longer than the first one, and why it stands behind: `12 %`, `waiting in the pipeline`; where it
/// is the faster one, `-5 %` and what else speaks against it. `learned`: what the search knew.
struct Behind {
  std::string longer;
  std::string why;  ///< empty where it is as fast
};
[[nodiscard]] Behind behind_first(const Estimate& behind, const Estimate& first, const LearnedFamilies& learned);

/// What the time of a phase is made of: `17 transfers of 3.06 MiB`. `estimate`: the one that the phase is of.
[[nodiscard]] std::string describe(const PhaseShare& phase, const Estimate& estimate);

}  // namespace ddl
