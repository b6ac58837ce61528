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

/// What the first plans spend an iteration on. Plans that take many times as long as the first one are left out.
[[nodiscard]] Chart time_bars(const std::vector<Estimate>& estimates);
/// The same of plans of several studies, each with its label.
[[nodiscard]] Chart time_bars(const std::vector<std::pair<std::string, const Estimate*>>& plans);
/// A lane for each stage.
[[nodiscard]] Chart step_lanes(const StepTimeline& timeline, const Plan& plan);
/// Bytes allocated and reserved over a step, layer by layer. `capacity`: what the device has, a line where it is near.
[[nodiscard]] Chart memory_plot(const MemoryTimeline& timeline, const Model& model, Bytes capacity);
/// What a device holds, item by item, and what it has.
[[nodiscard]] Chart memory_bar(const MemoryBreakdown& memory, Bytes capacity);
/// The rate of each kernel of a plan by its FLOPs per byte, below the roof of the device [Williams, Waterman and Patterson,
/// Roofline, CACM 52(4), 2009].
[[nodiscard]] Chart roofline_plot(const Explanation& explanation, const Study& study);

/// What add_plan_figures() adds in addition to drawings, if the document does not have it already.
struct PlanTables {
  bool phases = true, memory_items = true;
};

/// Sections that a page shows of a plan and a text leaves out: its step, its memory and its kernels as drawings, and where
/// each figure comes from. Nothing if the plan has no price.
void add_plan_figures(Document& document, const Estimator& estimator, const Plan& plan, const Study& study,
                      const PlanTables& tables = {});

}  // namespace ddl
