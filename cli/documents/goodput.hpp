#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/options/train_tokens.hpp"
#include "estimator/explain/goodput.hpp"

namespace ddl {

/// Returns the goodput of a whole training; empty for an epoch or a unit of work, and if failures are unknown.
[[nodiscard]] std::optional<Goodput> goodput_of(const Estimate& estimate, const Study& study, const Training& training);
/// Describes a goodput: `93.1 %: a failure every 2 h 54 min, a checkpoint every 12 min 05 s (2.84 s for 5.17 TiB), …`.
[[nodiscard]] std::string goodput_text(const Goodput& goodput);
[[nodiscard]] nlohmann::ordered_json goodput_to_json(const std::optional<Goodput>& goodput);
/// Throws Error if options of failures, checkpoints and evaluations have no effect, because the training is not a whole one
/// or has no failures, and if the time of a checkpoint is unknown.
void refuse_useless_recovery(const Study& study, const Training& training);

}  // namespace ddl
