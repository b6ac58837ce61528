#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/inputs/settings.hpp"
#include "model_zoo/network/optimizer.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// A measured figure of a training run: a row of a table of runs (docs/runs.md).
struct MeasuredRun {
  std::string model;        ///< the canonical name, if it is a bundled model
  std::string dataset;      ///< as written in the file; empty if not given
  std::string strategy;     ///< `data`, `data+filter`, `data+tensor`, …
  std::optional<int> gpus;  ///< 0 if the publication does not give the number; the run can then not be predicted
  std::optional<int> gpus_per_node;
  std::optional<double> batch_per_gpu_or_node;
  std::optional<double> global_batch;
  std::string degrees;                      ///< `data=2,pipeline=4,tensor=2`; empty if not given
  std::optional<std::int64_t> micro_batch;  ///< samples that a replica processes at once
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::string machine;   ///< name or path, as for `--machine`; empty if not given
  std::string software;  ///< name or path, as for `--software`; empty if not given
  Settings settings;     ///< from columns of their own, and from the column `settings`
  std::string set;       ///< the publication or benchmark that the run belongs to
  ChosenOfPlan chosen;
  std::string quantity;  ///< name that includes the unit: `iter_total_s`
  double value = 0;
  /// The prediction before this run was known, if the program or its constants changed afterwards.
  std::optional<double> first_predicted;
  std::optional<double> samples_averaged;
  std::string source_file, notes, includes_io, quality;
  std::string stage;   ///< whose memory was measured: `first` or `last`; empty: the fullest
  std::string origin;  ///< `runs.csv:17`
  friend auto operator<=>(const MeasuredRun&, const MeasuredRun&) = default;
};

/// Names of the bundled tables of runs, sorted.
[[nodiscard]] std::vector<std::string> observation_names();
/// Loads a bundled table by name, or the user's own file if the text has a '/' or ends in `.csv`.
[[nodiscard]] std::vector<MeasuredRun> load_runs(const std::string& name_or_path);
/// Reads a table of runs. Throws Error for an unknown or missing column, for a row without its model, strategy, quantity or
/// value, and for degrees that do not match the strategy or the number of devices. Empty cells of other columns mean "not
/// given".
[[nodiscard]] std::vector<MeasuredRun> parse_runs(std::string text, const std::string& origin);

/// Converts a name of a strategy in publications to its name here: `data+hmodel` becomes
/// `data+tensor`. Other names are unchanged.
[[nodiscard]] std::string canonical_strategy_name(std::string_view name);

/// Throws Error, with "did you mean", if no column of a table of runs has this name.
void check_column(const std::string& column);
/// The run's cell in a column, as text.
[[nodiscard]] std::string cell_text(const MeasuredRun& run, const std::string& column);

/// Keeps the runs that have one of `values` in `column`.
struct RunFilter {
  std::string column;
  std::vector<std::string> values;
};
/// Parses `quality=A,B`. Throws Error for another form, for an unknown column (with "did you mean"), and for an invalid
/// number.
[[nodiscard]] RunFilter parse_where(const std::string& text);
/// Whether a run matches a filter. Models and strategies match by any of their names, and numbers by value. An empty value
/// matches an empty cell.
[[nodiscard]] bool matches(const MeasuredRun& run, const RunFilter& filter);
/// The runs that match every filter, in order.
[[nodiscard]] std::vector<MeasuredRun> select_runs(std::span<const MeasuredRun> runs, std::span<const RunFilter> filters);
/// Returns the hint of an error if no run matches every filter: the values of the first column that alone matches no run.
[[nodiscard]] std::string hint_without_runs(std::span<const MeasuredRun> runs, std::span<const RunFilter> filters);

}  // namespace ddl
