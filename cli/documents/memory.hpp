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

/// Names a moment of a step: `backward of layer4.0.conv1`, `update`.
[[nodiscard]] std::string moment_text(StepPhase phase, int layer, const Model& model);

/// Names the ranks with the largest memory: `each of the 4 ranks of stage 1 of 2`, or `all ranks have equal memory`.
[[nodiscard]] std::string fullest_rank_text(const Plan& plan, int stage);

/// The name of MemoryBreakdown::held in reports.
inline constexpr std::string_view held_name = "as nvidia-smi shows it";
/// Returns the verdict on a device's memory: `14.6 GiB of 15.8 GiB per GPU: AT-RISK, at most 18.1 GiB`.
[[nodiscard]] std::string memory_text(const MemoryBreakdown& memory, Verdict verdict, const Study& study);

/// Names the ranks of a communicator: `data, copies of shards`.
[[nodiscard]] std::string whose_text(const Communicator& communicator);

/// Returns how much of the total memory is assumed: `assumed: 1.60 GiB of it (3 %), …`.
[[nodiscard]] std::string assumed_text(const MemoryBreakdown& memory);

/// Returns a table of memory by item, without a sum. Items of zero bytes are listed only if they
/// are before `last_empty`, or are `last_empty`.
[[nodiscard]] Table items_table(const MemoryBreakdown& memory, std::optional<MemoryItem> last_empty = {});

/// Adds the memory of each communicator; adds nothing for a single device, and for processors.
void add_communicators(Document& document, const Estimate& estimate, const Study& study);
[[nodiscard]] nlohmann::ordered_json communicators_to_json(const Estimate& estimate, const Study& study);

/// Adds the memory peaks of a step, and the layers with the most bytes at the highest peak.
void add_timeline(Document& document, const MemoryTimeline& timeline, const Model& model);
[[nodiscard]] nlohmann::ordered_json timeline_to_json(const MemoryTimeline& timeline, const Model& model);

/// Draws allocated and reserved bytes over a step, layer by layer, as an SVG of 960 × 480 pixels.
/// To the right of the curves is a list of what memory contains at the peak, by layer, the largest
/// first. `capacity`: the device's memory, drawn as a line if the curves come near it.
[[nodiscard]] std::string draw_memory(const MemoryTimeline& timeline, const Model& model, std::string_view title,
                                      Bytes capacity);

}  // namespace ddl
