#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/options/study_options.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Returns the default number of samples per device: the number in the model file. If the file has
/// none: for sequences, a number with enough tokens for large matrix products; else 32.
[[nodiscard]] std::int64_t usual_batch_per_gpu(const Model& model);

/// The options that give a plan, or that fix some choices of the searched plans, as the user typed them.
struct PlanOptions {
  std::optional<std::int64_t> gpus, global_batch, batch_per_gpu, micro_batches;
  /// The values of --gpus and --global-batch, in commands that accept lists. Other commands set `gpus` and `global_batch`.
  std::vector<std::int64_t> gpu_counts{}, global_batches{};
  std::string placement, plan_file, strategy, degrees;
  std::string plan_word{};            ///< the value of --plan, if it is not a file: a plan in the short notation
  std::vector<std::string> layers{};  ///< values of --layers: layers and their degrees
  /// For each choice of a plan, the number or the name that the user typed.
  std::array<std::optional<std::int64_t>, plan_choice_count> numbers;
  std::array<std::string, plan_choice_count> names;

  /// Whether the options give a single plan. Strategies without degrees restrict a search.
  [[nodiscard]] bool name_plan() const { return !plan_file.empty() || !plan_word.empty() || !degrees.empty(); }
};
/// Handles of --plan, --strategy and --degrees. Commands use them to declare which options contradict these options.
struct PlanOptionHandles {
  Option plan, strategy, degrees;
};
/// Handles of --global-batch, --batch-per-gpu and --micro-batches. add_batch_options also adds
/// --gpus. Its parameter `lists` lets --gpus and --global-batch take several values.
struct BatchOptionHandles {
  Option global, per_gpu, micro_batches;
};
BatchOptionHandles add_batch_options(const Command& command, PlanOptions& options, bool lists = false);
PlanOptionHandles add_plan_options(const Command& command, PlanOptions& options, bool lists = false);
/// Moves the number in `gpu_counts` or `global_batches` to `gpus` or `global_batch`, if the list has a single number.
void settle_lists(PlanOptions& options);
/// Takes the number of GPUs from `--machine h100:32`. `is_configured`: whether --like gives the number, too. Throws Error if
/// another option gives the number, too (except for a plan with the same number), or if only some machines have one.
void settle_counts(StudyOptions& study, PlanOptions& plan, bool is_configured);

/// Returns the choices that the options fix. Throws Error for an unknown name.
[[nodiscard]] ChosenOfPlan chosen_of(const PlanOptions& options);
/// Returns the strategies that a search is restricted to; empty: all. One device has one plan, which no strategy divides.
/// `ideal`: throws Error for a strategy that implies a ZeRO stage, which the closed forms do not have.
[[nodiscard]] std::vector<NamedFamily> families_asked(const PlanOptions& options, bool ideal);
/// Returns the keys of the settings of this origin, or a later one, that have no effect on a plan: the prediction is the
/// same with any other value.
[[nodiscard]] std::vector<std::string_view> settings_without_effect(const Study& study, const Plan& plan,
                                                                    SettingOrigin origin);
/// Returns the options of choices and settings that have no effect on `plan`, as the user typed them. The value "none"
/// of a choice is never among them.
[[nodiscard]] std::vector<std::string> options_without_effect(const PlanOptions& options, const Study& study,
                                                              const Plan& plan);
/// Returns the choices and settings of a job that have no effect on its plan, with the keys of job files.
[[nodiscard]] std::vector<std::string> keys_without_effect(const Study& study, const Plan& plan);
/// Returns a warning for each name in `named`, which has no effect on `plans`: a plan, or `these plans`.
[[nodiscard]] std::vector<std::string> without_effect_on(std::string_view plans, std::vector<std::string> named);
/// Returns the requested global batch. The default is usual_batch_per_gpu samples on each GPU.
/// While the data set has fewer samples, the default is halved.
[[nodiscard]] std::int64_t global_batch_of(const PlanOptions& options, std::int64_t gpus, const Study& study);

/// A study and, if the options request one, a plan.
struct PlanStudy {
  std::shared_ptr<Study> study;
  std::optional<PlanFile> file;  ///< the file of --plan
  std::optional<Plan> plan;
};
/// Takes the model, the machine, the software and all settings from the report of --plan, unless options give them.
/// Returns the names of the options that the report has set.
[[nodiscard]] std::vector<std::string> take_from_plan(StudyOptions& study, const PlanOptions& options,
                                                      const Command& command);

/// Loads the study and the plan. Throws Error if the options contradict each other, the machine, or the file of --plan.
[[nodiscard]] PlanStudy plan_study(const StudyOptions& study, const PlanOptions& options);

/// Throws Error if the user's plan breaks a limit other than memory, such as the number of channels.
void refuse_contradiction(const Estimate& estimate, const Model& model, const PlanOptions& options);

/// Returns all defaults in force, including the batch and the choices that the user's plan leaves open.
[[nodiscard]] std::vector<Default> plan_defaults(const Command& command, const StudyOptions& study_options,
                                                 const PlanOptions& options, const PlanStudy& asked,
                                                 std::int64_t global_batch);

}  // namespace ddl
