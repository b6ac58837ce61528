#include "calibration/learning/bundled_error_rows.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "calibration/learning/run_fit.hpp"

namespace ddl {
namespace {

/// A bundled table of runs that do not name their machine, with the machine and a filter for the rows.
struct KnownTable {
  std::string_view name, machine;
  std::string_view keep;  ///< filters, in the form of --where
  bool teaches;           ///< whether all runs have one machine and software, so that a fit to some runs predicts the others
};
constexpr KnownTable known_tables[] = {{"paradl-abci", "abci", "quality=A,B", true},
                                       {"vtrain-a100-cluster", "dgx-a100", "", true},
                                       {"vtrain-a100-node", "dgx-a100", "", true}};
constexpr std::string_view usual_machine = "dgx-a100";

ErrorTable table_of(const std::string& name, const KnownTable* known) {
  ErrorTable table{name, load_runs(name), std::string(known != nullptr ? known->machine : usual_machine), ""};
  if (known != nullptr && !known->keep.empty()) {
    const RunFilter filter = parse_where(std::string(known->keep));
    table.runs = select_runs(table.runs, std::span(&filter, 1));
  }
  const RunFilter whole{"quantity", {"iter_total_s", "iter_without_update_s", "samples_per_s_per_gpu"}};
  table.runs = select_runs(table.runs, std::span(&whole, 1));
  return table;
}

void append_learned(std::vector<ErrorRow>& rows, const std::string& table, const Validation& validation) {
  for (const ValidationCase& each : validation.cases) {
    if (!each.sensitivity || !each.sensitivity->learned || !each.predicted || each.run.value <= 0) continue;
    ErrorRow row;
    row.set = table;
    row.question = each.run.model;
    row.plan = each.run.degrees;
    row.batch = each.run.global_batch.value_or(0);
    row.seconds = each.predicted->value();
    row.log_ratio = row.first_log_ratio = std::log(each.run.value / each.predicted->value());
    row.time = *each.sensitivity;
    rows.push_back(std::move(row));
  }
}

/// Predicts the runs of each configuration by a fit to the runs of all other configurations, and runs on more devices by a
/// fit to runs on fewer devices.
std::vector<ErrorRow> learned_rows(const ErrorTable& table) {
  std::vector<MeasuredRun> runs = table.runs;
  std::erase_if(runs, [](const MeasuredRun& run) { return run.includes_io == "yes" || run.includes_io == "probably"; });
  std::vector<ErrorRow> rows;
  RunFitter fitter(runs, table.machine, table.coefficients);
  append_learned(rows, table.name, fitter.leave_one_out());
  std::set<int> counts;
  for (const MeasuredRun& run : runs) counts.insert(run.gpus.value_or(1));
  counts.erase(1);  // runs on one device show no exchange
  if (!counts.empty()) counts.erase(std::prev(counts.end()));
  for (const int most : counts) append_learned(rows, table.name, fitter.fit_up_to(most));
  return rows;
}

}  // namespace

BundledErrorRows bundled_error_rows() {
  BundledErrorRows all;
  const auto append = [](std::vector<ErrorRow>& to, std::vector<ErrorRow> more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  std::vector<std::pair<ErrorTable, std::vector<ErrorRow>>> tables;  // rows with all kernel data
  for (const std::string& name : observation_names()) {
    const auto* known = std::find_if(std::begin(known_tables), std::end(known_tables),
                                     [&](const KnownTable& each) { return each.name == name; });
    if (known == std::end(known_tables)) known = nullptr;
    ErrorTable table = table_of(name, known);
    std::vector<ErrorRow> own = error_rows(table, KnownKernels::all);
    append(all.rows, own);
    for (const KnownKernels kernels : {KnownKernels::of_other_devices, KnownKernels::none})
      append(all.rows, error_rows(table, kernels));
    append(all.reading, reading_rows(table));
    if (known != nullptr && known->teaches) append(all.learned, learned_rows(table));
    tables.emplace_back(std::move(table), std::move(own));
  }
  const SoftwareOfClasses measured = software_of_classes(all.rows);
  for (const auto& [table, own] : tables) append(all.stand_ins, stand_in_rows(table, own, measured));
  return all;
}

}  // namespace ddl
