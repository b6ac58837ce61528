#include "calibration/learning/error_rows.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "calibration/runs/run_prediction.hpp"
#include "core/error.hpp"

namespace ddl {

std::vector<ErrorRow> error_rows(const ErrorTable& table, KnownKernels known) {
  std::map<std::string, std::unique_ptr<RunPredictor>> predictors;
  std::vector<ErrorRow> rows;
  for (const MeasuredRun& each : table.runs) {
    const MeasuredRun run = in_seconds(each);
    const bool has_input = run.includes_io == "yes" || run.includes_io == "probably";
    const bool of_steps = run.quantity == "iter_total_s" || run.quantity == "iter_without_update_s";
    if (!of_steps || has_input || run.value <= 0) continue;
    const std::string& machine = run.machine.empty() ? table.machine : run.machine;
    try {
      std::unique_ptr<RunPredictor>& predictor = predictors[machine];
      if (!predictor) predictor = std::make_unique<RunPredictor>(machine, table.coefficients, ProfileChoice{}, "", known);
      PredictionDetails details;
      // A run does not test factors that were fitted to it, so fitted factors are removed.
      Coefficients untaught = predictor->coefficients();
      untaught.learned.clear();
      untaught.learned_runs.clear();
      const auto predicted = predictor->predict(run, untaught, false, &details);
      const std::optional<TimeSensitivity>& sensitivity = details.sensitivity;
      const auto* time = std::get_if<Seconds>(&predicted);
      if (time == nullptr || !sensitivity || time->value() <= 0) continue;
      const std::string precision = run.precision ? std::string(to_string(*run.precision)) : std::string();
      rows.push_back(
          {run.set.empty() ? table.name : run.set,
           fmt::format("{} {} {} {} {}", run.model, machine, run.software, precision, run.gpus.value_or(0)),
           fmt::format("{} {} {} {}", run.strategy, run.degrees, run.global_batch.value_or(0), run.micro_batch.value_or(0)),
           std::log(run.value / time->value()), known, *sensitivity});
    } catch (const Error&) {
      continue;  // the machine or software cannot be loaded
    }
  }
  return rows;
}

}  // namespace ddl
