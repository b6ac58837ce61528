#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/options/study_options.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Default samples per device: the number in the model file, else tokens enough for its
/// matrix products, else 32.
[[nodiscard]] std::int64_t usual_batch_per_gpu(const Model& model);

/// The options by which a plan is named, or what is already chosen of the plans that are sought, as typed.
struct PlanOptions {
  std::optional<std::int64_t> gpus, global_batch, batch_per_gpu, micro_batches;
  /// Several of them, where a command takes lists; else `gpus` and `global_batch` say it.
  std::vector<std::int64_t> gpu_counts{}, global_batches{};
  std::string placement, plan_file, strategy, degrees;
  /// Of each choice: its number, or its name.
  std::array<std::optional<std::int64_t>, plan_choice_count> numbers;
  std::array<std::string, plan_choice_count> names;

  /// Whether they name one plan.
  [[nodiscard]] bool name_plan() const { return !plan_file.empty() || !strategy.empty() || !degrees.empty(); }
};
/// The handles of --plan, --strategy and --degrees, for options that contradict them.
struct PlanOptionHandles {
  Option plan, strategy, degrees;
};
/// Adds --gpus, --global-batch, --batch-per-gpu and --micro-batches. `lists`: several numbers of GPUs and global batches may
/// be asked for.
struct BatchOptionHandles {
  Option global, per_gpu, micro_batches;
};
BatchOptionHandles add_batch_options(const Command& command, PlanOptions& options, bool lists = false);
PlanOptionHandles add_plan_options(const Command& command, PlanOptions& options, bool lists = false);
/// A single number of a list is no list.
void settle_lists(PlanOptions& options);

/// Throws Error on a name that is none; nothing if the option is not given.
[[nodiscard]] ChosenOfPlan chosen_of(const PlanOptions& options);
/// Returns a warning for each choice that the options fix, but with "none", and that `plan` has no use for.
[[nodiscard]] std::vector<std::string> choices_without_effect(const PlanOptions& options, const Plan& plan);
/// What is asked for, else usual_batch_per_gpu on each, halved until the data set has as many samples.
[[nodiscard]] std::int64_t global_batch_of(const PlanOptions& options, std::int64_t gpus, const Study& study);

/// A study and, where the options name one, the plan that is asked about.
struct PlanStudy {
  std::shared_ptr<Study> study;
  std::optional<PlanFile> file;  ///< of --plan
  std::optional<Plan> plan;
};
/// Takes model and machine from the report of --plan where no option names them. Returns the options that it says.
[[nodiscard]] std::vector<std::string> take_from_plan(StudyOptions& study, const PlanOptions& options,
                                                      const Command& command);

/// Loads what is asked about. Throws Error on what contradicts itself, the machine or the file.
[[nodiscard]] PlanStudy plan_study(const StudyOptions& study, const PlanOptions& options);

/// Throws Error where a limit of its shape rules the plan out: it is the user's own contradiction when the user wrote it.
void refuse_contradiction(const Estimate& estimate, const Model& model, const PlanOptions& options);

/// Everything in force that was not asked for, the batch and what a plan of the user's own leaves open included.
[[nodiscard]] std::vector<Default> plan_defaults(const Command& command, const StudyOptions& study_options,
                                                 const PlanOptions& options, const PlanStudy& asked,
                                                 std::int64_t global_batch);

}  // namespace ddl
