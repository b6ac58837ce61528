#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Measured runs that resemble a plan, and how well they are predicted.
struct AlikeRuns {
  /// What the runs have in common with the plan: `transformers in half precision, megatron, NVIDIA A100 SXM4 80 GB`.
  std::string what;
  int runs = 0;
  double error = 0;  ///< mean |predicted / measured − 1|
  bool other_precision = false;
};

/// Groups of measured runs of the plan's class of models, from the most to the least similar: with its software and device,
/// with its device, with its software, and all of the class. All groups have a similar precision and devices of the same
/// maker. Groups without runs, and groups that equal the group before, are left out. If all groups are empty, the same
/// groups in other precisions. Empty for an estimate without an interval, and for kernel times of another device's profile.
[[nodiscard]] std::vector<AlikeRuns> alike_runs(const Study& study, const Estimate& estimate,
                                                const std::vector<Evidence>& evidence);
/// Whether the text says what the similar runs have in common.
enum class Detail { complete, in_short };
/// Describes the most similar group in one clause: `46 similar measured runs (…) were 8 % off`. `is_fitted`: whether the
/// estimate has factors that were fitted to runs. The errors are those without these factors.
[[nodiscard]] std::string evidence_text(const std::vector<AlikeRuns>& alike, bool is_fitted,
                                        Detail detail = Detail::complete);
/// Adds a table of the groups; adds nothing without groups.
void add_evidence(Document& document, const std::vector<AlikeRuns>& alike);
[[nodiscard]] nlohmann::ordered_json evidence_to_json(const std::vector<AlikeRuns>& alike);

}  // namespace ddl
