#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/inputs/settings.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// One measured figure of one training run: a row of a table of runs (docs/runs.md).
struct MeasuredRun {
  std::string model;        ///< canonical name, where the model is a bundled one
  std::string dataset;      ///< as written; empty when not stated
  std::string strategy;     ///< `data`, `data+filter`, `data+tensor`, …
  std::optional<int> gpus;  ///< not stated in some publications: such a run cannot be predicted
  std::optional<int> gpus_per_node;
  std::optional<double> batch_per_gpu_or_node;
  std::optional<double> global_batch;
  std::string degrees;                      ///< `data=2,pipeline=4,tensor=2`; empty where not stated
  std::optional<std::int64_t> micro_batch;  ///< samples that pass a replica's stages at once
  std::optional<Precision> precision;
  std::string machine;   ///< as `--machine` takes it; empty where not stated
  std::string software;  ///< as `--software` takes it; empty where not stated
  Settings settings;     ///< of columns of their own, and of the column `settings`
  std::string set;       ///< the publication or benchmark that it belongs to
  ChosenOfPlan chosen;
  std::string quantity;  ///< with its unit: `iter_total_s`
  double value = 0;
  std::optional<double> samples_averaged;
  std::string source_file, notes, includes_io, quality;
  std::string origin;  ///< `runs.csv:17`
  friend auto operator<=>(const MeasuredRun&, const MeasuredRun&) = default;
};

/// Names of the bundled tables of runs, sorted.
[[nodiscard]] std::vector<std::string> observation_names();
/// A bundled table by name, or the user's own file when the text has a '/' or ends in `.csv`.
[[nodiscard]] std::vector<MeasuredRun> load_runs(const std::string& name_or_path);
/// Reads a table of runs. Refuses an unknown or missing column, a row without its model, strategy, quantity or value, and
/// degrees of another strategy or of another number of devices;
/// empty cells of other columns mean "not stated".
[[nodiscard]] std::vector<MeasuredRun> parse_runs(std::string text, std::string origin);

/// `data+tensor` for the published `data+hmodel`; other strategies unchanged.
[[nodiscard]] std::string canonical_strategy_name(std::string_view name);

/// Throws Error, with "did you mean", on a name that no column of a table of runs may have.
void check_column(const std::string& column);
/// The cell of that column, as text.
[[nodiscard]] std::string cell_text(const MeasuredRun& run, const std::string& column);

/// Keeps the runs whose cell of `column` is one of `values`.
struct RunFilter {
  std::string column;
  std::vector<std::string> values;
};
/// `quality=A,B`; an Error when it is not of that form, names an unknown column ("did you mean"), or a number is none.
[[nodiscard]] RunFilter parse_where(const std::string& text);
/// Models and strategies match under any of their names, numbers by value; an empty value matches what is not stated.
[[nodiscard]] bool matches(const MeasuredRun& run, const RunFilter& filter);
/// The runs that match every filter, in order.
[[nodiscard]] std::vector<MeasuredRun> select_runs(std::span<const MeasuredRun> runs, std::span<const RunFilter> filters);

}  // namespace ddl
