#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/formats/style.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/plan/plan.hpp"
#include "model_zoo/model.hpp"

namespace ddl {

/// `backward of layer4.0.conv1`, `update`: where a step stands.
[[nodiscard]] std::string moment_text(StepPhase phase, int layer, const Model& model);

/// Whose memory is the fullest: `each of the 4 ranks of stage 1 of 2`, or `all ranks alike`.
[[nodiscard]] std::string fullest_rank_text(const Plan& plan, int stage);

/// The peaks of a step, and the layers that hold most at its highest point.
[[nodiscard]] std::string timeline_text(const MemoryTimeline& timeline, const Model& model, const Style& style);
[[nodiscard]] nlohmann::ordered_json timeline_to_json(const MemoryTimeline& timeline, const Model& model);

}  // namespace ddl
