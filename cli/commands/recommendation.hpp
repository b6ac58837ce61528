#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/documents/configuration.hpp"
#include "cli/documents/what_if.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/goals.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/report.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// The options of `recommend`, as the user typed them.
struct RecommendOptions {
  StudyOptions study;
  PlanOptions plan;
  Training training;
  std::optional<std::int64_t> top = 10;
  std::string objective = "time", missing, save_job, save_dir, like, typed, framework;
  std::string typed_framework{};         ///< the value of --for, if it stands for several frameworks
  std::string folder{};                  ///< the folder of the report, to which paths of its job are relative
  std::vector<std::string> set_words{};  ///< values of --set
  std::vector<std::string> what_if{};    ///< values of --what-if
  std::optional<Seconds> time_limit;
  std::optional<double> risk{};
  bool all = false, allow_risk = false, overwrite = false, per_layer = false;
  Goals goals;
};

/// The largest value of --top.
inline constexpr std::int64_t most_rows = 20'000;

/// A change of the question with which some plan is possible, and this plan.
struct PossibleChange {
  std::string change;  ///< `--gpus 32`
  Estimate best;
};

/// The content of the report. The whole content is computed before the report is written.
struct RecommendAnswer {
  std::shared_ptr<Study> study;
  std::shared_ptr<Estimator> estimator;
  RecommendOptions options;
  std::int64_t gpus = 1, global_batch = 1;
  Objective objective = Objective::time;
  SearchResult result;
  std::vector<Estimate> shown;  ///< the ranked plans that are printed
  std::vector<Default> defaults;
  /// Explanations of the shown plans. They give the share of kernel times from each source. Only set with measured kernels.
  std::vector<Explanation> shares;
  double seconds = 0;
  bool at_limit = false;  ///< whether --time-limit ended the search
  bool single = false;    ///< whether one given plan was predicted, without a search
  /// Strategies that the user requested, but that cannot divide the number of devices.
  std::vector<Family> without_plans;
  std::optional<ConfiguredPlan> configured;  ///< the plan of the file that --like names
  /// With --per-layer, the fastest plan with several layouts, if there is one; ranked only if it is faster by more than a
  /// tie.
  std::optional<Estimate> layered;
  /// If that plan recomputes some blocks: by how much its step may be shorter at most if other blocks were recomputed.
  std::optional<Seconds> recompute_gap;
  bool searched_layers = false;  ///< whether plans with several layouts were searched

  /// If no plan is possible: changes of the question with which a plan is possible.
  std::vector<PossibleChange> possible;
  std::vector<SupposedOutcome> what_if{};

  [[nodiscard]] const Estimate* best() const { return shown.empty() ? nullptr : &shown.front(); }
};

/// Computes the answer for one study, one number of GPUs and one batch, without its defaults. `asked`: what plan_study()
/// returns for these options. Throws Error if there is no answer.
[[nodiscard]] std::shared_ptr<RecommendAnswer> ranked_answer(const RecommendOptions& options, const PlanStudy& asked);
/// Returns the same answer, with the defaults in force.
[[nodiscard]] std::shared_ptr<RecommendAnswer> answer_of(const RecommendOptions& options, const Command& command);
Option add_per_layer(const Command& command, bool& per_layer);
/// With --per-layer, searches layouts of layers, and ranks the best plan first if it is faster by more than a tie.
void add_layered_plan(RecommendAnswer& answer, const SearchOptions& options);
/// Returns whether some plan of the answer fits without host memory.
[[nodiscard]] bool fits_on_devices(const RecommendAnswer& answer);
Option add_risk(const Command& command, std::optional<double>& risk);
/// Throws Error if the objective is not the time or the cost, which is proportional to it.
void refuse_risk(Objective objective);
/// Ranks plans by the time that a step does not exceed with the probability of --risk.
void rank_by_risk(RecommendAnswer& answer, const SearchOptions& options);
/// Adds the memory that the allocator reserves for each shown and rejected plan. This takes as long as the search itself.
void add_reserved(RecommendAnswer& answer);

/// Writes the unmeasured problems of the shown plans in the format of `profile --problems`. `output`: the file of the
/// report.
void write_missing(const RecommendAnswer& answer, const std::string& output);
/// Writes the first plan as a job file for `check`. If no plan is possible, the report contains a warning.
void write_job(const RecommendAnswer& answer, const std::string& output, Report& report);
/// Writes the folder of --save-dir, and lists its files in the report.
void write_directory(RecommendAnswer& answer, Report& report);

/// Returns the answer as a document. `drawn`: add the drawings and sections that only an HTML page has.
[[nodiscard]] Document document_of(const RecommendAnswer& answer, bool drawn = false);
[[nodiscard]] nlohmann::ordered_json json_of(const RecommendAnswer& answer);

/// Searches for the smallest changes of a question without a plan with which a plan is possible: more devices, a smaller
/// batch, and adapters. Ends when --time-limit is over, or the user asks.
void find_possible(RecommendAnswer& answer);
/// Reports the best plan of each pair of a model and a machine, side by side.
[[nodiscard]] Report recommend_each(const RecommendOptions& options, const Command& command);
/// Reports the best plans for several numbers of GPUs or batches, and whether each plan meets the goals.
[[nodiscard]] Report recommend_scaling(const RecommendOptions& options, const Command& command);

/// Returns the options of the search that answers the question: its size, objective, strategies and fixed choices.
[[nodiscard]] SearchOptions search_options_of(const RecommendAnswer& answer);

}  // namespace ddl
