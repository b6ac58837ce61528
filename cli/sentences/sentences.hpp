#pragma once

#include <string>
#include <string_view>

#include "calibration/runs/run_prediction.hpp"
#include "estimator/explain/comparison.hpp"
#include "estimator/explain/findings.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

// The estimator returns findings as values. The functions in this file turn findings into English sentences.

/// Describes a limit: what the plan requires, what is available, and in which layer.
[[nodiscard]] std::string describe(const Limit& limit, const Model& model);
/// Returns the code of a kind of limit, which stays the same between versions: `memory`.
[[nodiscard]] std::string_view code_of(Limit::Kind kind);
/// Describes all limits, joined by semicolons.
[[nodiscard]] std::string describe(const Limits& limits, const Model& model);
/// Returns the reason why a measured training run has no prediction.
[[nodiscard]] std::string describe(const Unpredictable& refusal);

/// Describes a finding: `bound by: exchanging gradients among 16 ranks (ring) takes 60 % of the time`.
[[nodiscard]] std::string describe(const Finding& finding, const Model& model);

/// Describes how two plans compare, with the numbers of the term that decides. `comparison`: the
/// comparison of `explained` with `other`.
[[nodiscard]] std::string describe(const Comparison& comparison, const Compared& explained, const Compared& other);
/// How much longer a plan takes than the first plan, and the reason: `12 %`, `waiting in the pipeline`. For a plan that is
/// faster than the first plan: `-5 %`, and why it ranks lower. `learned`: the fitted factors that the search used.
/// `why_lower`: why a faster plan ranks lower, if a reason other than its simplicity is known.
struct SlowdownReason {
  std::string longer;
  std::string why;  ///< empty if the plan is equally fast
};
[[nodiscard]] SlowdownReason behind_first(const Estimate& behind, const Estimate& first, const LearnedFamilies& learned,
                                          Objective objective = Objective::time, std::string_view why_lower = {});

/// Describes what the time of a phase consists of: `17 transfers of 3.06 MiB`. `estimate`: the
/// estimate that contains the phase.
[[nodiscard]] std::string describe(const PhaseShare& phase, const Estimate& estimate);

}  // namespace ddl
