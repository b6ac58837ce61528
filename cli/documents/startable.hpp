#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/tools/launcher.hpp"
#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A value of --for: a framework whose plans are searched, predicted with its software, and written as its launch files.
struct Framework {
  std::string_view name;      ///< `torchtitan`
  std::string_view software;  ///< the software file with the settings to use
  std::string_view launcher;  ///< the name of its launcher (launchers())
  Family axes;                ///< the axes of plans that the framework can start; the launcher may refuse some of them
  int least_zero = 0, most_zero = 3;
  /// the memory layout that its launch files have, if its software has no layout of its own; unset: the software's
  std::optional<MixedPrecision> mixed_precision{};
};
[[nodiscard]] std::span<const Framework> frameworks();
[[nodiscard]] std::vector<std::string_view> framework_names();
/// Returns the framework of this name; null if there is none.
[[nodiscard]] const Framework* framework_named(std::string_view name);

/// The launcher that submits the launch script of another launcher.
inline constexpr std::string_view submitter = "Slurm";
/// Calls a launcher, unless no launcher supports the device or the model's packed sequences.
/// `written`: the files of earlier launchers. The submitter starts one of them.
[[nodiscard]] LaunchOutcome launch_outcome(const Launcher& launcher, const Study& study, const Estimate& estimate,
                                           std::span<const Launch> written = {});
/// Returns why the framework cannot start the plan; empty if it can.
[[nodiscard]] std::optional<std::string> cannot_start(const Framework& framework, const Study& study,
                                                      const Estimate& estimate);
/// Returns why the framework can run no plan of the model on the machine: the reason that the plans of all its axes share.
/// Empty if some plan may start.
[[nodiscard]] std::optional<std::string> starts_nothing(const Framework& framework, const Study& study, std::int64_t gpus);
/// Restricts a search to plans that the framework starts. Strategies that the user named are kept.
void keep_to(const Framework& framework, const std::shared_ptr<Study>& study, SearchOptions& options);
/// Returns the names of all tools with launch files for the plan: `PyTorch`, `torchtitan`.
[[nodiscard]] std::vector<std::string_view> tools_that_start(const Study& study, const Estimate& estimate);
/// Returns whether some tool starts a plan.
[[nodiscard]] bool is_startable(const Study& study, const Estimate& estimate);

/// What a change of a plan must keep: the values that the software has, and the choices that the user has fixed.
struct FixedChoices {
  AdmittedChoices admitted{};
  ChosenOfPlan chosen{};
  bool placement = false, micro_batches = false;
};

/// Returns the fastest feasible plan that `starts` accepts, among the plan itself and all plans that differ from it in one
/// choice, in the placement, or in the number of micro-batches, else in two of them. Empty if there is none.
[[nodiscard]] std::optional<Estimate> nearest_startable(const Estimator& estimator, const Estimate& estimate,
                                                        const FixedChoices& fixed,
                                                        const std::function<bool(const Estimate&)>& starts);

/// Returns why the framework cannot run the simplest of these plans. The framework can run none of them.
[[nodiscard]] std::string why_none_starts(const Framework& framework, const Study& study,
                                          const std::vector<Estimate>& plans);

/// A tool with launch files for a plan, and the plan as predicted with the software of this tool.
struct StartingTool {
  std::string_view name;
  Estimate estimate{};
  std::string_view other_software{};  ///< the software of the estimate, if it is not the software of the study
};
/// Returns all tools with launch files for the plan. If the software of a tool cannot predict the plan, `estimate` itself is
/// the prediction.
[[nodiscard]] std::vector<StartingTool> predicted_starts(const Study& study, const Estimate& estimate);

/// The tools that start a plan; if none starts it, a plan that some tool starts.
struct Start {
  std::vector<std::string_view> tools{};  ///< the tools that start the plan, or else `plan`, and in which it fits
  std::vector<StartingTool> too_small{};  ///< tools with launch files for the first plan, in which it does not fit
  /// Set if the first plan starts in no tool, but some tool starts this plan, as predicted with that tool's software.
  std::optional<Estimate> plan{};
  std::string_view other_software{};  ///< the software of `plan`'s prediction, if it is not the software of the study
  std::string reason{};               ///< why the first launcher cannot start the first plan, if no tool starts it
};
/// Finds the tools that start the first of these plans. If there are none, finds the fastest plan that some tool starts,
/// among the plans near each of these plans (nearest_startable).
[[nodiscard]] Start start_of(const Study& study, const Estimator& estimator, const std::vector<const Estimate*>& plans,
                             const FixedChoices& fixed);

}  // namespace ddl
