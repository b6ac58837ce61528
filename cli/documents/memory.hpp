#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// `backward of layer4.0.conv1`, `update`: where a step stands.
[[nodiscard]] std::string moment_text(StepPhase phase, int layer, const Model& model);

/// Whose memory is the fullest: `each of the 4 ranks of stage 1 of 2`, or `all ranks alike`.
[[nodiscard]] std::string fullest_rank_text(const Plan& plan, int stage);

/// What MemoryBreakdown::held is.
inline constexpr std::string_view held_name = "as nvidia-smi shows it";
/// `14.6 GiB of 15.8 GiB per GPU: AT-RISK, at most 18.1 GiB`
[[nodiscard]] std::string memory_text(const MemoryBreakdown& memory, Verdict verdict, const Study& study);

/// Whose ranks a communicator has: `data, copies of shards`.
[[nodiscard]] std::string whose_text(const Communicator& communicator);

/// How much of the total is known of other machines alone: `assumed: 1.60 GiB of it (3 %), …`.
[[nodiscard]] std::string assumed_text(const MemoryBreakdown& memory);

/// Memory by item, without a sum. Of those without bytes it has the ones up to `last_empty` alone.
[[nodiscard]] Table items_table(const MemoryBreakdown& memory, std::optional<MemoryItem> last_empty = {});

/// What of `communication` belongs to which group of ranks; nothing on one device and on processors.
void add_communicators(Document& document, const Estimate& estimate, const Study& study);
[[nodiscard]] nlohmann::ordered_json communicators_to_json(const Estimate& estimate, const Study& study);

/// The peaks of a step, and the layers that hold most at its highest point.
void add_timeline(Document& document, const MemoryTimeline& timeline, const Model& model);
[[nodiscard]] nlohmann::ordered_json timeline_to_json(const MemoryTimeline& timeline, const Model& model);

/// Bytes allocated and reserved over a step, layer by layer, as an SVG of 960 × 480; next to it the contents at the peak,
/// the largest first, by the names of the layers. `capacity`: what the device has, drawn as a line where it is near.
[[nodiscard]] std::string draw_memory(const MemoryTimeline& timeline, const Model& model, std::string_view title,
                                      Bytes capacity);

}  // namespace ddl
