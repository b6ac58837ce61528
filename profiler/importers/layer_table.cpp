#include "profiler/importers/layer_table.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "profiler/importers/layer_times.hpp"

namespace ddl {
namespace {

struct PassColumn {
  std::string_view name;
  PassTimes ImportedLayer::*times;
};
constexpr std::array pass_columns{
    PassColumn{"forward", &ImportedLayer::forward},
    PassColumn{"backward", &ImportedLayer::backward},
    PassColumn{"backward_data", &ImportedLayer::backward_data},
    PassColumn{"backward_weight", &ImportedLayer::backward_weight},
    PassColumn{"update", &ImportedLayer::update},
};

/// A column of times, with the unit if its heading has one.
struct TimeColumn {
  std::size_t index = 0;
  const PassColumn* pass = nullptr;
  std::string unit;
};

constexpr std::string_view layout =
    "columns are layer, forward, backward, backward_data, backward_weight and update, "
    "with units, such as 'forward ms'";

/// Parses `forward (ms)`.
std::optional<TimeColumn> time_column(std::string_view head) {
  // Longer names are tried first: `backward_data` starts with `backward`.
  const PassColumn* found = nullptr;
  for (const PassColumn& each : pass_columns) {
    if (head.starts_with(each.name) && (found == nullptr || each.name.size() > found->name.size())) found = &each;
  }
  if (found == nullptr) return std::nullopt;
  std::string_view unit = head.substr(found->name.size());
  if (!unit.empty() && std::string_view(" _([,").find(unit.front()) == std::string_view::npos) return std::nullopt;
  const std::size_t first = unit.find_first_not_of(" _([,");
  unit.remove_prefix(std::min(first, unit.size()));
  const std::size_t last = unit.find_last_not_of(" )]");
  return TimeColumn{0, found, std::string(unit.substr(0, last == std::string_view::npos ? 0 : last + 1))};
}

class LayerTable {
 public:
  LayerTable(std::string text, const std::string& origin, const Model& model)
      : table_(CsvTable::parse(std::move(text), origin)), model_(model), layer_(table_.column("layer")) {
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      names_.emplace(model.layers[i].name, i);
      if (model.layers[i].parameters() > 0 || model.layers[i].tied_to >= 0) weighted_.push_back(i);
    }
    find_columns();
  }

  [[nodiscard]] std::vector<ImportedLayer> read() const {
    if (table_.rows() == 0) throw table_.column_error(layer_, "the table has no rows", std::string(layout));
    std::vector<ImportedLayer> times(model_.layers.size());
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      ImportedLayer& layer = times[layer_of(row)];
      for (const TimeColumn& column : columns_) {
        std::vector<double>& seconds = (layer.*column.pass->times).seconds;
        if (const auto each = time(row, column)) seconds.push_back(*each);
        if (seconds.size() > static_cast<std::size_t>(SamplingRule{}.most)) {
          table_.fail(row, layer_, fmt::format("more than {} rows of one layer", SamplingRule{}.most));
        }
      }
      if (!layer.backward.seconds.empty() &&
          !(layer.backward_data.seconds.empty() && layer.backward_weight.seconds.empty())) {
        table_.fail(row, layer_, "this layer has a time for backward and also for a part of it",
                    "leave the column 'backward' empty, or the columns of its parts");
      }
    }
    return times;
  }

 private:
  void find_columns() {
    for (std::size_t i = 0; i < table_.columns().size(); ++i) {
      if (i == layer_) continue;
      const std::string& head = table_.columns()[i];
      std::optional<TimeColumn> column = time_column(head);
      UnitProblem problem;
      const bool has_unit = column && !column->unit.empty();
      if (has_unit && !parse_quantity<Seconds>("1 " + column->unit, problem)) {
        throw table_.column_error(i, fmt::format("{}, in the column {}", problem.message, quote(head)), problem.hint);
      }
      if (!column) {
        throw table_.column_error(i, fmt::format("unknown column {}", quote(head)), std::string(layout));
      }
      for (const TimeColumn& other : columns_) {
        if (other.pass == column->pass) {
          throw table_.column_error(i, fmt::format("two columns of {}", column->pass->name));
        }
      }
      column->index = i;
      columns_.push_back(std::move(*column));
    }
    if (columns_.empty()) throw table_.column_error(layer_, "no column has times", std::string(layout));
  }

  [[nodiscard]] std::size_t layer_of(std::size_t row) const {
    const std::string& cell = table_.cell(row, layer_);
    if (const auto found = names_.find(cell); found != names_.end()) return found->second;
    const bool is_number = !cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) {
      const std::int64_t number = table_.positive_integer(row, layer_).value_or(0);
      if (number <= static_cast<std::int64_t>(weighted_.size())) return weighted_[static_cast<std::size_t>(number) - 1];
      table_.fail(row, layer_, fmt::format("{} has {} layers with weights", model_.name, weighted_.size()),
                  "layers with weights are numbered from 1");
    }
    std::vector<std::string_view> known;
    for (const Layer& layer : model_.layers) known.push_back(layer.name);
    table_.fail(row, layer_, fmt::format("{} has no layer {}", model_.name, quote(cell)), suggest(cell, known));
  }

  /// Returns the time in seconds.
  [[nodiscard]] std::optional<double> time(std::size_t row, const TimeColumn& column) const {
    const std::string& cell = table_.cell(row, column.index);
    if (cell.empty()) return std::nullopt;
    const bool has_unit = cell.find_first_not_of("0123456789.eE+- ") != std::string::npos;
    if (!has_unit && column.unit.empty()) {
      table_.fail(row, column.index, fmt::format("{} has no unit", quote(cell)),
                  "write 1.2 ms, or in the header: forward ms");
    }
    UnitProblem problem;
    const auto time = parse_quantity<Seconds>(has_unit ? cell : cell + " " + column.unit, problem);
    if (!time) table_.fail(row, column.index, problem.message, problem.hint);
    constexpr double year = 3.2e7;
    if (time->value() > year) table_.fail(row, column.index, fmt::format("{} is more than a year", quote(cell)));
    // A time of zero is not a measurement: the clock was too coarse.
    return time->value() > 0 ? std::optional(time->value()) : std::nullopt;
  }

  CsvTable table_;
  const Model& model_;
  std::size_t layer_;
  std::unordered_map<std::string_view, std::size_t> names_;
  std::vector<std::size_t> weighted_;
  std::vector<TimeColumn> columns_;
};

}  // namespace

ProfileImport import_layer_table(std::string text, const std::string& origin, const Model& model,
                                 const ProfileImportOptions& options) {
  if (text.starts_with("operator,shapes,")) {
    throw Error(fmt::format("{}: a table of operators, without layers", origin),
                "import a trace: step_time.py MODEL.json --layers trace.json");
  }
  const LayerTable table(std::move(text), origin, model);
  const std::vector<ImportedLayer> times = table.read();
  if (!options.samples) throw Error("a table of layer times does not state the number of samples", "add --batch N");
  if (options.device.empty()) throw Error("a table of layer times does not state the device", "add --device NAME");
  check_samples(model, *options.samples);
  ProfileImport result;
  result.samples = *options.samples;
  result.precision = options.precision.value_or(Precision::fp32);
  result.profile.head = {.model = model.name, .backend = "table", .device = options.device};
  add_rows(result, model, times, options.optimizer.value_or(Optimizer::sgd));
  return result;
}

}  // namespace ddl
