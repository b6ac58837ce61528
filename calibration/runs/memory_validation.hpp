#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/runs/run_prediction.hpp"
#include "calibration/runs/runs.hpp"

namespace ddl {

/// A run whose outcome is known, with its predicted memory.
struct MemoryCase {
  MeasuredRun run;
  std::optional<MemoryPrediction> predicted;
  std::optional<Unpredictable> refusal;  ///< why the memory could not be predicted

  /// Whether the run ran out of memory. A run with a measured time or a measured figure of memory did not.
  [[nodiscard]] bool is_out_of_memory() const { return run.quantity == "out_of_memory"; }
  /// Whether the verdict contradicts the outcome: FITS of a run that ran out of memory, or DOES-NOT-FIT of a run
  /// that ran. AT-RISK contradicts no outcome.
  [[nodiscard]] bool is_wrong() const;
  /// Returns the predicted figure of the run's quantity; empty if the run has no measured figure of memory.
  [[nodiscard]] std::optional<Bytes> figure() const;
  /// Returns predicted / measured − 1; empty if the run has no measured figure of memory.
  [[nodiscard]] std::optional<double> error() const;
};

/// The kind of a run's model: `language model`, `LoRA`, `vision transformer` or `CNN`. Empty without a prediction.
[[nodiscard]] std::string kind_of(const MemoryCase& one);

/// Verdicts and errors of a group of runs.
struct MemoryGroup {
  int runs = 0, unpredicted = 0;
  int fits_and_failed = 0, refused_and_ran = 0, at_risk = 0;
  int figures = 0;        ///< runs with a measured figure of memory
  double mean_error = 0;  ///< mean of |predicted / measured − 1| over `figures`
  [[nodiscard]] int wrong() const { return fits_and_failed + refused_and_ran; }
};

/// Groups of runs by their kind, by their set, and by the quantity of their figures.
struct MemorySummary {
  MemoryGroup all;
  std::map<std::string, MemoryGroup> by_kind, by_set, by_figure;
};

/// Predicts the memory of runs. A run that names no machine is predicted on `machine`.
[[nodiscard]] std::vector<MemoryCase> memory_cases(std::span<const MeasuredRun> runs, const std::string& machine,
                                                   const std::string& software = {});
[[nodiscard]] MemorySummary summarize_memory(std::span<const MemoryCase> cases);

}  // namespace ddl
