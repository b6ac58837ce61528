#include "calibration/learning/error_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/software_file.hpp"
#include "calibration/runs/run_prediction.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

/// Predicts runs of one table, and compares the predicted with the measured times.
class RowMaker {
 public:
  RowMaker(const ErrorTable& table, KnownKernels known, bool of_reading = false)
      : table_(table), known_(known), of_reading_(of_reading) {}

  /// Returns no row for a run of another quantity than the time of a step, for a run that includes reading samples (or does
  /// not, `of_reading`), and for a run without a prediction. `software`: predicts the run in place of its own software,
  /// unless empty.
  std::optional<ErrorRow> row(std::size_t index, const std::string& software) {
    MeasuredRun run = in_seconds(table_.runs[index]);
    const bool has_input = run.includes_io == "yes" || run.includes_io == "probably";
    const bool of_steps = run.quantity == "iter_total_s" || run.quantity == "iter_without_update_s";
    if (!of_steps || has_input != of_reading_ || run.value <= 0) return std::nullopt;
    if (run.model != model_) {  // what the runs of one model share is large
      for (auto& [name, predictor] : predictors_) predictor->forget_studies();
      model_ = run.model;
    }
    const std::string& machine = run.machine.empty() ? table_.machine : run.machine;
    const std::string question = fmt::format("{} {} {} {} {}", run.model, machine, run.software,
                                             run.precision ? to_string(*run.precision) : "", run.gpus.value_or(0));
    if (!software.empty()) run.software = software;
    PredictionDetails details;
    const std::optional<double> predicted = seconds_of(run, machine, details);
    if (!predicted || !details.sensitivity) return std::nullopt;
    const std::string plan =
        fmt::format("{} {} {} {}", run.strategy, run.degrees, run.global_batch.value_or(0), run.micro_batch.value_or(0));
    const std::string& set = run.set.empty() ? table_.name : run.set;
    const std::string& device = predictors_.at(machine)->device();
    ErrorRow row;
    row.run = index;
    row.set = set;
    row.device = device;
    row.question = question;
    row.plan = plan;
    row.batch = run.global_batch.value_or(0);
    row.seconds = *predicted;
    row.log_ratio = std::log(run.value / *predicted);
    row.known = known_;
    row.time = *details.sensitivity;
    row.precision = run.precision.value_or(Precision::fp32);
    const bool is_first = run.first_predicted && known_ == KnownKernels::all && software.empty();
    row.first_log_ratio = is_first ? std::log(run.value / *run.first_predicted) : row.log_ratio;
    return row;
  }

 private:
  std::optional<double> seconds_of(const MeasuredRun& run, const std::string& machine, PredictionDetails& details) {
    try {
      std::unique_ptr<RunPredictor>& predictor = predictors_[machine];
      if (!predictor) predictor = std::make_unique<RunPredictor>(machine, table_.coefficients, ProfileChoice{}, "", known_);
      // A run does not test factors that were fitted to it, so fitted factors are removed.
      Coefficients untaught = predictor->coefficients();
      untaught.learned.clear();
      untaught.learned_runs.clear();
      const auto predicted = predictor->predict(run, untaught, false, &details);
      const auto* time = std::get_if<Seconds>(&predicted);
      if (time == nullptr || time->value() <= 0) return std::nullopt;
      return time->value();
    } catch (const Error&) {
      return std::nullopt;  // the machine or software cannot be loaded
    }
  }

  const ErrorTable& table_;
  KnownKernels known_;
  bool of_reading_;
  std::string model_;
  std::map<std::string, std::unique_ptr<RunPredictor>> predictors_;
};

}  // namespace

std::string group_of(HeldOut by, const ErrorRow& row) {
  switch (by) {
    case HeldOut::set:
      return row.set;
    case HeldOut::software:
      return row.time.software;
    case HeldOut::device:
      return row.device;
    case HeldOut::network:
      return row.time.traits[RunTrait::family];
    case HeldOut::kind:
      break;
  }
  const std::string& trait = row.time.traits[RunTrait::device];  // `kind and class, device`
  return trait.substr(0, trait.find(','));
}

std::vector<ErrorRow> error_rows(const ErrorTable& table, KnownKernels known) {
  RowMaker maker(table, known);
  std::vector<ErrorRow> rows;
  for (std::size_t i = 0; i < table.runs.size(); ++i) {
    if (std::optional<ErrorRow> row = maker.row(i, "")) rows.push_back(std::move(*row));
  }
  return rows;
}

std::vector<ErrorRow> reading_rows(const ErrorTable& table) {
  RowMaker maker(table, KnownKernels::all, true);
  std::vector<ErrorRow> rows;
  for (std::size_t i = 0; i < table.runs.size(); ++i) {
    std::optional<ErrorRow> row = maker.row(i, "");
    if (row && row->time.reads_samples) rows.push_back(std::move(*row));
  }
  return rows;
}

std::vector<std::string> foreign_makers(std::span<const ErrorRow> rows) {
  std::set<std::string> makers;
  const auto add = [&](const std::string& device) { makers.insert(device.substr(0, device.find(' '))); };
  for (const ErrorRow& row : rows) add(row.device);
  for (const std::string& name : machine_names())
    add(load_sourced_machine(name, KernelTables::left_out).machine.device.name);
  makers.erase("NVIDIA");
  makers.erase("");
  return {makers.begin(), makers.end()};
}

SoftwareOfClasses software_of_classes(std::span<const ErrorRow> rows) {
  const std::vector<std::string> bundled = software_names();
  SoftwareOfClasses measured;
  for (const ErrorRow& row : rows) {
    if (std::find(bundled.begin(), bundled.end(), row.time.software) != bundled.end())
      measured[row.time.model_class].insert(row.time.software);
  }
  return measured;
}

std::vector<ErrorRow> stand_in_rows(const ErrorTable& table, std::span<const ErrorRow> rows,
                                    const SoftwareOfClasses& measured) {
  constexpr std::size_t most_stand_ins = 2;
  constexpr double same = 1e-6;  // difference of two logarithms of times below which the settings do not differ for a run
  RowMaker maker(table, KnownKernels::all);
  std::vector<ErrorRow> found;
  for (const ErrorRow& own : rows) {
    const std::set<std::string>& names = measured[own.time.model_class];
    const std::vector<std::string> others(names.begin(), names.end());
    std::size_t count = 0;
    for (std::size_t i = 0; i < others.size() && count < most_stand_ins; ++i) {
      const std::string& other = others[(own.run + i) % others.size()];
      if (other == own.time.software) continue;
      std::optional<ErrorRow> row = maker.row(own.run, other);
      if (!row || std::abs(row->log_ratio - own.log_ratio) < same) continue;
      row->shift = row->log_ratio - own.log_ratio;
      row->ran = own.time.software;
      row->time.software.clear();
      row->time.traits[RunTrait::software].clear();
      found.push_back(std::move(*row));
      ++count;
    }
  }
  return found;
}

}  // namespace ddl
