#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/documents/tie_groups.hpp"
#include "cli/report/document.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/step_timeline.hpp"

namespace ddl {

/// Draws the parts of a step as bars, for the first plans of a ranking. Omits plans that take many
/// times as long as the first plan.
[[nodiscard]] Chart time_bars(const std::vector<Estimate>& estimates);
/// Draws the parts of a step as bars, for plans of several studies, each with its label.
[[nodiscard]] Chart time_bars(const std::vector<std::pair<std::string, const Estimate*>>& plans);
/// Draws the time of each ranked plan as a dot on its interval, in the order of `rows`, with a band behind plans that tie.
/// Omits plans that take many times as long as the first row. Empty if fewer than two plans remain.
[[nodiscard]] std::optional<Chart> ranking_plot(const std::vector<Estimate>& estimates, const RankedRows& rows);
/// Draws the timeline of a step. Each stage has a lane for its compute, and a lane for its communication. Communication that
/// is hidden behind compute is drawn in another color.
[[nodiscard]] Chart step_lanes(const StepTimeline& timeline, const Plan& plan);
/// The requested bytes of each item at each point of a memory timeline (memory_by_item).
using ItemsOverTime = std::vector<std::array<Bytes, memory_item_count>>;
/// Plots allocated bytes by item, and reserved bytes, over a step, layer by layer. `capacity`: the device's memory,
/// drawn as a line if the curves come near it.
[[nodiscard]] Chart memory_plot(const MemoryTimeline& timeline, const ItemsOverTime& items, const Model& model,
                                Bytes capacity);
/// Draws the memory of a device by item, with the device's capacity.
[[nodiscard]] Chart memory_bar(const MemoryBreakdown& memory, Bytes capacity);
/// Plots the FLOP rate of each kernel of a plan against the kernel's FLOPs per byte, below the
/// roofline of the device [Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009].
[[nodiscard]] Chart roofline_plot(const Explanation& explanation, const Study& study);

/// Tells add_plan_figures() which tables to add to the drawings. A caller switches off a table that
/// the document already has.
struct PlanTables {
  bool phases = true, memory_items = true;
};

/// Adds the sections that only an HTML page has: drawings of the plan's step, memory and kernels,
/// and the source of each number. Adds nothing if the plan has no predicted time.
void add_plan_figures(Document& document, const Estimator& estimator, const Plan& plan, const Study& study,
                      const PlanTables& tables = {});

}  // namespace ddl
