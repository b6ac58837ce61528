#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/step_timeline.hpp"

namespace ddl {

/// Draws the parts of a step as bars, for the first plans. Plans that take many times as long as the first plan are left
/// out.
[[nodiscard]] Chart time_bars(const std::vector<Estimate>& estimates);
/// Draws the parts of a step as bars, for plans of several studies, each with its label.
[[nodiscard]] Chart time_bars(const std::vector<std::pair<std::string, const Estimate*>>& plans);
/// The timeline of a step, with a lane for each stage.
[[nodiscard]] Chart step_lanes(const StepTimeline& timeline, const Plan& plan);
/// Allocated and reserved bytes over a step, layer by layer. `capacity`: the device's memory, drawn as a line if the curves
/// come near it.
[[nodiscard]] Chart memory_plot(const MemoryTimeline& timeline, const Model& model, Bytes capacity);
/// The memory of a device by item, and its capacity.
[[nodiscard]] Chart memory_bar(const MemoryBreakdown& memory, Bytes capacity);
/// The rate of each kernel of a plan over its FLOPs per byte, below the roofline of the device [Williams, Waterman and
/// Patterson, Roofline, CACM 52(4), 2009].
[[nodiscard]] Chart roofline_plot(const Explanation& explanation, const Study& study);

/// The tables that add_plan_figures() adds to the drawings, because the document does not have these tables yet.
struct PlanTables {
  bool phases = true, memory_items = true;
};

/// Sections that an HTML page has in addition to the text: drawings of the plan's step, memory and kernels, and the source
/// of each number. Adds nothing if the plan has no predicted time.
void add_plan_figures(Document& document, const Estimator& estimator, const Plan& plan, const Study& study,
                      const PlanTables& tables = {});

}  // namespace ddl
