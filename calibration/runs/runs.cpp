#include "calibration/runs/runs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/files/file_names.hpp"
#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/inputs/setting_values.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

constexpr bool has_column(const SettingRow& row) { return row.has_column; }

/// The columns that a table of runs may have.
const std::vector<std::string_view>& known_columns() {
  static const std::vector<std::string_view> columns = [] {
    // A hint lists the first ones: those that every table needs.
    std::vector<std::string_view> all{"model",
                                      "strategy",
                                      "gpus",
                                      "quantity",
                                      "value",
                                      "machine",
                                      "degrees",
                                      "global_batch",
                                      "micro_batch",
                                      "precision",
                                      "optimizer",
                                      "software",
                                      "settings",
                                      "dataset",
                                      "set",
                                      "notes",
                                      "gpus_per_node",
                                      "batch_per_gpu_or_node",
                                      "source_file",
                                      "quality",
                                      "includes_io",
                                      "n_samples_averaged",
                                      "first_predicted",
                                      "stage"};
    for (const std::string_view key : setting_keys(has_column)) all.push_back(key);
    for (const PlanChoiceRow& row : plan_choices()) all.push_back(row.key);
    return all;
  }();
  return columns;
}
/// The quantities that may be measured in a run. Some of them are never predicted.
constexpr std::array<std::string_view, 28> known_quantities{"iter_total_s",
                                                            "iter_forward_s",
                                                            "iter_backward_s",
                                                            "iter_forward_backward_s",
                                                            "iter_without_update_s",
                                                            "iter_comp_s",
                                                            "iter_comm_s",
                                                            "iter_total_best_epoch_s",
                                                            "iter_comm_gradient_allreduce_s",
                                                            "iter_comm_fb_allgather_s",
                                                            "iter_comm_fb_allreduce_s",
                                                            "iter_comm_halo_s",
                                                            "iter_comp_conv_s",
                                                            "iter_comp_other_s",
                                                            "iter_comp_impl_overhead_s",
                                                            "iter_staging_s",
                                                            "epoch_s",
                                                            "epoch_comp_s",
                                                            "epoch_comm_s",
                                                            "epoch_forward_s",
                                                            "epoch_backward_s",
                                                            "epoch_weight_update_s",
                                                            "samples_per_s_per_gpu",
                                                            "memory_allocated_gib",
                                                            "memory_reserved_gib",
                                                            "memory_used_gib",
                                                            "ran",
                                                            "out_of_memory"};
constexpr std::array<std::string_view, 5> required_columns{"model", "strategy", "gpus", "quantity", "value"};

/// Larger figures are probably typing errors, and their ratios would not be finite.
constexpr double largest_figure = 1'000'000'000'000'000;
constexpr double smallest_figure = 1 / largest_figure;

std::optional<double> to_number(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Cells of one row by the name of their column. If a column is missing, all its cells are empty.
class RowReader {
 public:
  RowReader(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  [[nodiscard]] std::string text(std::string_view name) const {
    const auto column = table_.find_column(name);
    return column ? table_.cell(row_, *column) : std::string();
  }
  [[nodiscard]] std::string required_text(std::string_view name) const {
    const std::size_t column = table_.column(name);
    if (table_.cell(row_, column).empty()) table_.fail(row_, column, fmt::format("a run needs its {}", name));
    return table_.cell(row_, column);
  }
  [[nodiscard]] std::optional<int> count(std::string_view name) const {
    const auto column = table_.find_column(name);
    const auto value = column ? table_.positive_integer(row_, *column) : std::nullopt;
    if (!value) return std::nullopt;
    if (*value > std::numeric_limits<int>::max()) {
      table_.fail(row_, *column, fmt::format("{} is too large", quote(text(name))),
                  fmt::format("column '{}' counts devices", name));
    }
    return static_cast<int>(*value);
  }
  [[nodiscard]] std::optional<double> positive(std::string_view name) const {
    const auto column = table_.find_column(name);
    const auto value = column ? table_.number(row_, *column) : std::nullopt;
    if (value && *value <= 0) table_.fail(row_, *column, fmt::format("{} must be greater than zero", quote(text(name))));
    if (value) check_size(*value, *column);
    return value;
  }
  /// Throws Error for a model that is neither bundled nor a path, and for an unknown quantity.
  void check_names(const MeasuredRun& run) const {
    const std::string name = run.model.substr(0, run.model.find('@'));
    static const std::vector<std::string> known = model_names();
    if (!is_path(name) && std::find(known.begin(), known.end(), name) == known.end()) {
      try {
        static_cast<void>(load_model(run.model));  // a model family, with all of its parameters given
      } catch (const Error& error) {
        fail("model", error.what(), error.hint());
      }
    }
    if (std::find(known_quantities.begin(), known_quantities.end(), run.quantity) == known_quantities.end())
      fail("quantity", fmt::format("unknown quantity {}", quote(run.quantity)), suggest(run.quantity, known_quantities));
    if (!run.stage.empty() && run.stage != "first" && run.stage != "last")
      fail("stage", fmt::format("unknown stage {}", quote(run.stage)), "write first or last, or leave the cell empty");
  }
  [[nodiscard]] double required_value() const {
    const std::size_t column = table_.column("value");
    const auto value = table_.number(row_, column);
    if (!value) table_.fail(row_, column, "a run needs its value");
    if (*value < 0)
      table_.fail(row_, column, fmt::format("{} is negative", quote(text("value"))),
                  "quantities of a run cannot be negative");
    if (*value > 0) check_size(*value, column);
    return *value;
  }

  /// Parses the name in a cell. Empty if the cell is empty. Throws Error if the cell has any text
  /// other than the known names.
  template <class Parse>
  [[nodiscard]] auto choice(std::string_view name, std::string_view noun, const Parse& parse, const std::string& known) const
      -> decltype(parse(name)) {
    const std::string cell = text(name);
    if (cell.empty()) return std::nullopt;
    const auto value = parse(cell);
    if (!value) fail(name, fmt::format("{} is not a valid {}", quote(cell), noun), known);
    return value;
  }
  /// Reads the settings in columns of their own, and in the column `settings`.
  [[nodiscard]] Settings settings() const {
    Settings read;
    const auto placed = [&](std::string_view column, const auto& action) {
      try {
        action(text(column));
      } catch (const Error& error) {
        fail(column, error.what(), error.hint());
      }
    };
    if (!text("settings").empty())
      placed("settings", [&](const std::string& cell) {
        read = parse_settings(cell, SettingOrigin::run);
        if (const SettingRow* const lacking = lacking_setting(read)) {
          throw Error(fmt::format("{} needs {}={}", lacking->key, lacking->only_with_key, lacking->only_with),
                      "set allreduce to the required value, or leave out the setting that requires it");
        }
      });
    for (const SettingRow& row : setting_rows()) {
      if (!row.has_column || text(row.key).empty()) continue;
      placed(row.key, [&](const std::string& cell) {
        read.set(row, {parse_setting(row, cell, std::string(row.key)), SettingOrigin::run, {}});
      });
    }
    return read;
  }
  /// Reads the degrees. They must match the number of devices and the strategy in the row. If the
  /// row has no number of devices, the degrees determine it.
  void read_degrees(MeasuredRun& run) const {
    run.degrees = text("degrees");
    if (run.degrees.empty()) return;
    Plan plan;
    try {
      parse_layouts(run.degrees, plan, "in the cell");
    } catch (const Error& error) {
      fail("degrees", error.what(), error.hint());
    }
    const std::optional<Family> family = parse_family(run.strategy);
    if (family && (plan.mesh.family() & ~*family) != 0) {
      fail("degrees",
           fmt::format("{} are degrees of '{}', but the strategy is '{}'", quote(run.degrees),
                       family_name(plan.mesh.family()), run.strategy),
           "make both match; a degree may be 1");
    }
    if (!run.gpus) run.gpus = static_cast<int>(plan.mesh.devices());
    if (*run.gpus != plan.mesh.devices()) {
      fail("degrees",
           fmt::format("{} are {} devices, but the run had {}", quote(run.degrees), plan.mesh.devices(), *run.gpus),
           "the product of the degrees must be the number of devices");
    }
  }
  [[nodiscard]] std::optional<std::int64_t> micro_batch() const {
    const auto column = table_.find_column("micro_batch");
    return column ? table_.positive_integer(row_, *column) : std::nullopt;
  }

 private:
  [[noreturn]] void fail(std::string_view name, const std::string& message, const std::string& hint) const {
    table_.fail(row_, table_.column(name), message, hint);
  }

  void check_size(double value, std::size_t column) const {
    if (value >= smallest_figure && value <= largest_figure) return;
    table_.fail(row_, column,
                fmt::format("{} is too {}", quote(table_.cell(row_, column)), value < smallest_figure ? "small" : "large"),
                fmt::format("from {} to {}", smallest_figure, largest_figure));
  }

  const CsvTable& table_;
  std::size_t row_;
};

MeasuredRun read_run(const CsvTable& table, std::size_t row, const std::string& origin) {
  const RowReader cells(table, row);
  MeasuredRun run;
  run.model = canonical_model_name(cells.required_text("model"));
  run.dataset = cells.text("dataset");
  run.strategy = canonical_strategy_name(cells.required_text("strategy"));
  run.gpus = cells.count("gpus");
  run.gpus_per_node = cells.count("gpus_per_node");
  run.batch_per_gpu_or_node = cells.positive("batch_per_gpu_or_node");
  run.global_batch = cells.positive("global_batch");
  cells.read_degrees(run);
  run.micro_batch = cells.micro_batch();
  run.precision = cells.choice("precision", "precision", parse_enum<Precision>,
                               "fp32, tf32, fp16, bf16, fp8, nvfp4, mxfp8, mxfp6, mxfp4 or int8");
  run.optimizer = cells.choice("optimizer", "optimizer", parse_enum<Optimizer>, std::string(optimizer_words));
  run.machine = cells.text("machine");
  run.software = cells.text("software");
  run.settings = cells.settings();
  run.set = cells.text("set");
  for (const PlanChoiceRow& each : plan_choices()) {
    const auto parse = [&](std::string_view text) { return each.parse(text); };
    run.chosen[each.choice] = cells.choice(each.key, each.noun, parse, each.values_text());
  }
  choose_what_follows(run.chosen);
  // The strategy is stored as axes, so the ZeRO stage in the name of the strategy is stored separately.
  const int said = zero_stage_in(cells.required_text("strategy")).value_or(0);
  std::optional<int>& zero = run.chosen[PlanChoice::zero];
  if (!zero && said > 0) zero = said;
  run.quantity = cells.required_text("quantity");
  run.value = cells.required_value();
  run.first_predicted = cells.positive("first_predicted");
  run.samples_averaged = cells.positive("n_samples_averaged");
  run.source_file = cells.text("source_file");
  run.notes = cells.text("notes");
  run.includes_io = cells.text("includes_io");
  run.quality = cells.text("quality");
  run.stage = cells.text("stage");
  run.origin = fmt::format("{}:{}", origin, table.line(row));
  cells.check_names(run);
  return run;
}

std::vector<MeasuredRun> read_runs(const CsvTable& table, const std::string& origin) {
  table.only_columns(known_columns());
  for (const std::string_view name : required_columns) static_cast<void>(table.column(name));
  std::vector<MeasuredRun> runs;
  runs.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) runs.push_back(read_run(table, row, origin));
  return runs;
}

/// The value of a cell: `number` for a numeric column, `text` for a text column. `number` is unset for a text column.
struct CellView {
  std::optional<double> number;
  std::string text;
  bool is_number = false;
};

CellView cell_of(const MeasuredRun& run, std::string_view column) {
  const auto number = [](auto value) {
    CellView view{.number = {}, .text = {}, .is_number = true};
    if (value) view.number = static_cast<double>(*value);
    return view;
  };
  const auto text = [](const std::string& value) { return CellView{.number = {}, .text = value}; };
  if (column == "model") return text(run.model);
  if (column == "dataset") return text(run.dataset);
  if (column == "strategy") return text(run.strategy);
  if (column == "gpus") return number(run.gpus);
  if (column == "gpus_per_node") return number(run.gpus_per_node);
  if (column == "batch_per_gpu_or_node") return number(run.batch_per_gpu_or_node);
  if (column == "global_batch") return number(run.global_batch);
  if (column == "degrees") return text(run.degrees);
  if (column == "micro_batch") return number(run.micro_batch);
  if (column == "precision") return text(run.precision ? std::string(to_string(*run.precision)) : "");
  if (column == "optimizer") return text(run.optimizer ? std::string(to_string(*run.optimizer)) : "");
  if (column == "machine") return text(run.machine);
  if (column == "software") return text(run.software);
  if (column == "set") return text(run.set);
  if (column == "settings") {
    Settings others;
    run.settings.for_each([&](const SettingRow& row, const SettingValue& value) {
      if (!row.has_column) others.set(row, value);
    });
    return text(print_settings(others));
  }
  if (const SettingRow* const row = find_setting(column); row != nullptr && row->has_column) {
    const auto value = run.settings.number(column);
    return text(value ? print_setting(*row, *value) : "");
  }
  for (const PlanChoiceRow& each : plan_choices()) {
    if (column != each.key) continue;
    const std::optional<int>& value = run.chosen[each.choice];
    if (each.first_number) return number(value ? std::optional(*each.first_number + *value) : value);
    return text(value ? std::string(each.name(*value)) : "");
  }
  if (column == "quantity") return text(run.quantity);
  if (column == "value") return number(std::optional(run.value));
  if (column == "n_samples_averaged") return number(run.samples_averaged);
  if (column == "source_file") return text(run.source_file);
  if (column == "notes") return text(run.notes);
  if (column == "includes_io") return text(run.includes_io);
  if (column == "stage") return text(run.stage);
  return text(run.quality);
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> observation_names() { return names_of(observation_files()); }

std::vector<MeasuredRun> load_runs(const std::string& name_or_path) {
  if (is_path(name_or_path) || name_or_path.ends_with(".csv")) return read_runs(CsvTable::load(name_or_path), name_or_path);
  const EmbeddedFile& file = find_bundled(observation_files(), name_or_path, "table of runs", "csv");
  return parse_runs(std::string(file.content), std::string(file.path));
}

std::vector<MeasuredRun> parse_runs(std::string text, const std::string& origin) {
  return read_runs(CsvTable::parse(std::move(text), origin), origin);
}

std::string canonical_strategy_name(std::string_view name) {
  const std::optional<Family> family = parse_family(name);
  return family ? family_name(*family) : std::string(name);
}

RunFilter parse_where(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw Error(fmt::format("{} is not of the form column=value,value", quote(text)), "use for example quality=A,B");
  }
  RunFilter filter{text.substr(0, equals), split_at_commas(std::string_view(text).substr(equals + 1))};
  check_column(filter.column);
  const bool is_number = cell_of(MeasuredRun(), filter.column).is_number;
  for (std::string& value : filter.values) {
    if (filter.column == "model") value = canonical_model_name(value);
    if (filter.column == "strategy") value = canonical_strategy_name(value);
    if (is_number && !value.empty() && !to_number(value)) {
      throw Error(fmt::format("column '{}' has numbers, but {} is not a number", filter.column, quote(value)));
    }
  }
  return filter;
}

bool matches(const MeasuredRun& run, const RunFilter& filter) {
  const CellView cell = cell_of(run, filter.column);
  return std::any_of(filter.values.begin(), filter.values.end(), [&](const std::string& value) {
    return cell.is_number ? cell.number == to_number(value) : cell.text == value;
  });
}

void check_column(const std::string& column) {
  if (std::find(known_columns().begin(), known_columns().end(), column) != known_columns().end()) return;
  throw Error(fmt::format("unknown column {}", quote(column)), suggest(column, known_columns()));
}

std::string hint_without_runs(std::span<const MeasuredRun> runs, std::span<const RunFilter> filters) {
  constexpr std::size_t most_values = 12;
  for (const RunFilter& filter : filters) {
    if (std::any_of(runs.begin(), runs.end(), [&](const MeasuredRun& run) { return matches(run, filter); })) continue;
    const bool are_excluding = std::none_of(runs.begin(), runs.end(), [&](const MeasuredRun& run) {
      return std::all_of(filters.begin(), filters.end(),
                         [&](const RunFilter& other) { return &other == &filter || matches(run, other); });
    });
    std::vector<std::string> values;
    for (const MeasuredRun& run : runs) {
      // Only values of runs that the other filters select are listed, or all values if these filters select no run.
      const bool is_selected = std::all_of(filters.begin(), filters.end(), [&](const RunFilter& other) {
        return &other == &filter || are_excluding || matches(run, other);
      });
      if (!is_selected) continue;
      const std::string text = cell_text(run, filter.column);
      if (!text.empty() && std::find(values.begin(), values.end(), text) == values.end()) values.push_back(text);
    }
    if (values.empty()) return fmt::format("the column '{}' of these runs is empty", filter.column);
    std::sort(values.begin(), values.end(), [](const std::string& a, const std::string& b) {
      const double x = std::strtod(a.c_str(), nullptr), y = std::strtod(b.c_str(), nullptr);
      return x != y ? x < y : a < b;
    });
    const bool are_many = values.size() > most_values;
    values.resize(std::min(values.size(), most_values));
    return fmt::format("the column '{}' of these runs has: {}{}", filter.column, fmt::join(values, ", "),
                       are_many ? ", ..." : "");
  }
  return "relax --where";
}

std::string cell_text(const MeasuredRun& run, const std::string& column) {
  const CellView cell = cell_of(run, column);
  if (!cell.is_number) return cell.text;
  return cell.number ? fmt::format("{}", *cell.number) : "";
}

std::vector<MeasuredRun> select_runs(std::span<const MeasuredRun> runs, std::span<const RunFilter> filters) {
  std::vector<MeasuredRun> selected;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(selected), [&](const MeasuredRun& run) {
    return std::all_of(filters.begin(), filters.end(), [&](const RunFilter& filter) { return matches(run, filter); });
  });
  return selected;
}

}  // namespace ddl
