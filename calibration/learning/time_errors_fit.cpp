#include "calibration/learning/time_errors_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "calibration/learning/trait_fit.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

using Side = double ErrorWidth::*;
constexpr Side sides[] = {&ErrorWidth::faster, &ErrorWidth::slower};

/// The parameters of one side of intervals, as logarithms: widths of sources and classes, and the scatter of factors between
/// sets.
constexpr std::size_t source_count = error_source_names.size();
constexpr std::size_t class_count = model_class_names.size();
enum Extra : std::size_t { interpolated, transferred, kernel_sheet, exchange_measured, exchange_sheet, extra_count };
constexpr std::size_t parameter_count = source_count + extra_count + class_count;
using Parameters = std::array<double, parameter_count>;

/// Prior values: kernel times are known to within some tens of percent, and exchange times to within a factor of two.
constexpr std::array<double, parameter_count> usual{0.15, 0.3, 0.4, 0.2, 0.3, 0.5, 0.5, 0.7,  0.3,  0.5,
                                                    0.5,  0.3, 0.5, 0.1, 0.5, 1.0, 0.3, 0.15, 0.15, 0.15};
constexpr double prior_width = 0.7;    ///< width of the prior of each logarithm
constexpr double prior_weight = 0.02;  ///< weight of the prior; limits the influence of one set (mean score: about one)
/// Width of measured kernels relative to interpolated kernels. A measured kernel was run on this device; an interpolated
/// kernel was not. The value is assumed.
constexpr double measured_over_interpolated = 0.5;

Parameters usual_parameters() {
  Parameters parameters{};
  for (std::size_t i = 0; i < parameter_count; ++i) parameters[i] = std::log(usual[i]);
  return parameters;
}

void set_errors(TimeErrors& errors, const Parameters& parameters, Side side) {
  const auto at = [&](std::size_t i) { return std::exp(parameters[i]); };
  const auto extra = [&](Extra which) { return at(source_count + which); };
  for (std::size_t i = 0; i < source_count; ++i) errors.sources[i].*side = at(i);
  for (std::size_t i = 0; i < class_count; ++i) errors.classes[i].*side = at(source_count + extra_count + i);
  const double between = 1 / (1 + extra(interpolated)), other = 1 + extra(transferred);
  const std::array<double, time_basis_names.size()> kernels{measured_over_interpolated * between, between, 1, other,
                                                            other * (1 + extra(kernel_sheet))};
  const double own = 1 / (1 + extra(exchange_measured)), sheet = 1 + extra(exchange_sheet);
  const std::array<double, time_basis_names.size()> exchanges{own, own, 1, 1, sheet};
  for (std::size_t i = 0; i < time_basis_names.size(); ++i) {
    errors.kernel_bases[i].*side = kernels[i];
    errors.exchange_bases[i].*side = exchanges[i];
  }
}

/// A row of a fit, with its weight.
struct Weighted {
  const ErrorRow* row = nullptr;
  double weight = 0;
  TraitDoubt doubt{};
};

std::vector<Weighted> weighted(std::span<const ErrorRow> rows, const LeftOut& left_out, const TimeErrors& known) {
  std::map<std::pair<std::string, KnownKernels>, int> counts;
  for (const ErrorRow& row : rows) ++counts[{row.set, row.known}];
  std::vector<Weighted> used;
  double sum = 0;
  for (const ErrorRow& row : rows) {
    if (is_left_out(left_out, row)) continue;
    // Rows with all kernel data count twice, because the program usually has all kernel data.
    const double weight =
        (row.known == KnownKernels::all ? 1 : 0.5) / std::sqrt(static_cast<double>(counts[{row.set, row.known}]));
    used.push_back({&row, weight, trait_doubt(known, row.time)});
    sum += weight;
  }
  for (Weighted& each : used) each.weight /= sum;
  return used;
}

/// The pinball loss of one end of an interval [Gneiting and Raftery 2007, section 6.2].
double pinball(const TimeErrors& errors, const Weighted& each, Side side) {
  constexpr double outside = (1 - interval_level) / 2;
  const double width = width_of(errors, each.row->time, each.doubt, side);
  const double error = each.row->first_log_ratio;
  const double beyond = (side == &ErrorWidth::slower ? error : -error) - width;
  return beyond > 0 ? (1 - outside) * beyond : -outside * beyond;
}

class SideFit {
 public:
  /// `known`: the software with measured runs, and the mean errors by trait.
  SideFit(const std::vector<Weighted>& rows, Side side, const TimeErrors& known)
      : rows_(rows), side_(side), errors_(known) {}

  /// Fits one parameter after the other, with decreasing steps.
  [[nodiscard]] Parameters fit(Parameters parameters, double step) {
    double best = score(parameters);
    for (; step > 0.02; step /= 2) {
      for (bool better = true; better;) {
        better = false;
        for (std::size_t i = 0; i < parameter_count; ++i) {
          for (const double by : {step, -step}) {
            Parameters other = parameters;
            other[i] += by;
            const double found = score(other);
            if (found >= best - 1e-7) continue;
            best = found;
            parameters = other;
            better = true;
            break;
          }
        }
      }
    }
    return parameters;
  }

 private:
  [[nodiscard]] double score(const Parameters& parameters) {
    TimeErrors& errors = errors_;
    set_errors(errors, parameters, side_);
    constexpr double outside = (1 - interval_level) / 2;
    double sum = 0;
    for (const Weighted& each : rows_) sum += each.weight * pinball(errors, each, side_);
    double prior = 0;
    for (std::size_t i = 0; i < parameter_count; ++i) {
      const double away = (parameters[i] - std::log(usual[i])) / prior_width;
      prior += away * away;
    }
    return sum / outside + prior_weight * prior;
  }

  const std::vector<Weighted>& rows_;
  Side side_;
  TimeErrors errors_;
};

void widen(TimeErrors& errors, double by) {
  for (const Side side : sides) {
    for (ErrorWidth& each : errors.sources) each.*side *= by;
    for (ErrorWidth& each : errors.classes) each.*side *= by;
  }
}

/// The smallest factor on a grid with which the share of covered runs, `held`, reaches interval_level; `most` if no factor
/// on the grid reaches it.
template <class Held>
double least_that_holds(double least, double most, const Held& held) {
  constexpr double rung = 1.02;
  double value = least;
  while (value < most && held(value) < interval_level) value *= rung;
  return std::min(value, most);
}

/// A run, and another run of the same question (model, machine, GPUs) with a different plan.
using Pair = std::pair<const ErrorRow*, const ErrorRow*>;

/// A sample of the pairs of runs of one set, grouped by question.
std::vector<std::vector<Pair>> pairs_of(std::span<const ErrorRow> rows) {
  std::map<std::pair<std::string, std::string>, std::vector<const ErrorRow*>> questions;
  for (const ErrorRow& row : rows) {
    if (row.known == KnownKernels::all) questions[{row.set, row.question}].push_back(&row);
  }
  constexpr std::size_t most_partners = 8;
  std::vector<std::vector<Pair>> pairs;
  for (const auto& [question, own] : questions) {
    std::vector<Pair> found;
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (std::size_t j = 1; j <= most_partners && i + j < own.size(); ++j) {
        if (own[i]->plan != own[i + j]->plan) found.emplace_back(own[i], own[i + j]);
      }
    }
    if (!found.empty()) pairs.push_back(std::move(found));
  }
  return pairs;
}

double half_width(const TimeInterval& interval) { return std::log(interval.high / interval.low) / 2; }

RatioCoverage ratio_coverage(const TimeErrors& errors, const std::vector<std::vector<Pair>>& questions) {
  RatioCoverage coverage;
  double weights = 0;
  int right = 0;
  for (const std::vector<Pair>& pairs : questions) {
    const double weight = std::sqrt(static_cast<double>(pairs.size()));
    weights += weight;
    for (const auto& [a, b] : pairs) {
      const TimeInterval ratio = ratio_interval_of(errors, a->time, b->time);
      const double each = weight / static_cast<double>(pairs.size());
      coverage.held += holds(ratio, b->log_ratio - a->log_ratio) ? each : 0;
      const double predicted = std::log(b->seconds / a->seconds), measured = predicted + b->log_ratio - a->log_ratio;
      const bool one_batch = a->batch > 0 && a->batch == b->batch;
      if (one_batch && (predicted + std::log(ratio.low) > 0 || predicted + std::log(ratio.high) < 0)) {
        ++coverage.told_apart;
        right += (predicted > 0) == (measured > 0) ? 1 : 0;
      }
      coverage.mean_width += half_width(ratio) * each;
      coverage.mean_single +=
          (half_width(interval_of(errors, a->time)) + half_width(interval_of(errors, b->time))) / 2 * each;
      ++coverage.pairs;
    }
  }
  if (weights <= 0) return {};
  coverage.held /= weights;
  coverage.mean_width /= weights;
  coverage.mean_single /= weights;
  if (coverage.told_apart > 0) coverage.right = static_cast<double>(right) / coverage.told_apart;
  return coverage;
}

/// Sets the names of the software with measured runs.
void set_measured_software(TimeErrors& errors, std::span<const ErrorRow> rows, const LeftOut& left_out) {
  EnumArray<ModelClass, std::set<std::string>> names;
  for (const ErrorRow& row : rows) {
    // The settings of a software come from its documentation, and stay known without a set.
    if (left_out.by == HeldOut::software && is_left_out(left_out, row)) continue;
    if (!row.time.software.empty()) names[row.time.model_class].insert(row.time.software);
  }
  for (std::size_t i = 0; i < class_count; ++i) errors.measured_software[i].assign(names[i].begin(), names[i].end());
}

/// The share of stand-ins whose interval covers the run, on average over the software that ran, because an unknown software
/// may be any of these.
double stand_in_coverage(const TimeErrors& errors, std::span<const ErrorRow> stand_ins) {
  return mean_of_groups(stand_ins, &ErrorRow::ran,
                        [&](const ErrorRow& row) { return holds(interval_of(errors, row.time), row.log_ratio); });
}

/// Sets TimeErrors::new_software to the quantiles of the shifts between the predictions with two software's settings. Each
/// software that ran has the same weight. `without`: a software whose rows are left out.
void fit_new_software(TimeErrors& errors, std::span<const ErrorRow> stand_ins, const std::string& without = "") {
  std::map<std::string, double> counts;
  for (const ErrorRow& row : stand_ins) {
    if (row.ran != without) counts[row.ran] += 1;
  }
  for (const Side side : sides) {
    std::vector<std::pair<double, double>> shifts;  // shift to this side, and its weight
    for (const ErrorRow& row : stand_ins) {
      if (row.ran != without) shifts.emplace_back(side == &ErrorWidth::slower ? row.shift : -row.shift, 1 / counts[row.ran]);
    }
    std::sort(shifts.begin(), shifts.end());
    double below = static_cast<double>(counts.size()) * (1 + interval_level) / 2;
    for (const auto& [shift, weight] : shifts) {
      below -= weight;
      errors.new_software.*side = std::max(0.0, shift);
      if (below <= 0) break;
    }
  }
}

/// Groups the rows with all kernel data by class, precision, software and device.
std::vector<Evidence> evidence_of(std::span<const ErrorRow> rows) {
  std::map<std::tuple<ModelClass, PrecisionClass, std::string, std::string>, Evidence> groups;
  for (const ErrorRow& row : rows) {
    if (row.known != KnownKernels::all || row.device.empty()) continue;
    Evidence& group = groups[{row.time.model_class, precision_class(row.precision), row.time.software, row.device}];
    group.runs += 1;
    group.error += std::abs(std::exp(-row.log_ratio) - 1);
  }
  std::vector<Evidence> evidence;
  for (const auto& [key, group] : groups) {
    const auto& [model_class, precision, software, device] = key;
    evidence.push_back({model_class, precision, software, device, group.runs, group.error / group.runs});
  }
  return evidence;
}

double learned_coverage(const TimeErrors& errors, std::span<const ErrorRow> learned) {
  return mean_of_groups(learned, &ErrorRow::set,
                        [&](const ErrorRow& row) { return holds(interval_of(errors, row.time), row.log_ratio); });
}

/// Fits TimeErrors::learned_scatter to runs within the range of the fits, and learned_growth to runs beyond this range.
void fit_learned(TimeErrorsFile& file, std::span<const ErrorRow> learned) {
  std::vector<ErrorRow> within, beyond;
  for (const ErrorRow& row : learned) (row.time.learned && row.time.learned->beyond > 0 ? beyond : within).push_back(row);
  const auto fit = [&](double TimeErrors::*value, double least, double most, std::span<const ErrorRow> rows) {
    if (rows.empty()) return 0.0;
    file.errors.*value = least_that_holds(least, most, [&](double tried) {
      TimeErrors other = file.errors;
      other.*value = tried;
      return learned_coverage(other, rows);
    });
    return learned_coverage(file.errors, rows);
  };
  file.learned_held = fit(&TimeErrors::learned_scatter, 0.2, 10, within);
  file.learned_runs = static_cast<int>(within.size());
  file.beyond_held = fit(&TimeErrors::learned_growth, 0.001, 2, beyond);
  file.beyond_runs = static_cast<int>(beyond.size());
}

/// The share of the rows whose interval contains their measured time.
double held_of(const TimeErrors& errors, std::span<const ErrorRow* const> rows, double ErrorRow::*error) {
  const auto count = std::count_if(rows.begin(), rows.end(),
                                   [&](const ErrorRow* row) { return holds(interval_of(errors, row->time), row->*error); });
  return static_cast<double>(count) / static_cast<double>(rows.size());
}

/// Geometric means of the ends of the rows' intervals.
TimeInterval mean_interval(const TimeErrors& errors, std::span<const ErrorRow* const> rows) {
  double low = 0, high = 0;
  for (const ErrorRow* row : rows) {
    const TimeInterval interval = interval_of(errors, row->time);
    low += std::log(interval.low);
    high += std::log(interval.high);
  }
  const auto count = static_cast<double>(rows.size());
  return {std::exp(low / count), std::exp(high / count)};
}

/// `without`: fitted to all other sets.
SetCoverage set_coverage(const std::string& set, std::span<const ErrorRow* const> rows, const TimeErrors& all,
                         const TimeErrors& without) {
  return {set, static_cast<int>(rows.size()), held_of(all, rows, &ErrorRow::log_ratio),
          held_of(without, rows, &ErrorRow::first_log_ratio), mean_interval(without, rows)};
}

/// The rows of each software, device, family or kind. If a device is left out, its rows are predicted with kernels of other
/// devices.
std::map<std::string, std::vector<const ErrorRow*>> rows_of_groups(std::span<const ErrorRow> rows, HeldOut by) {
  std::map<std::string, std::vector<const ErrorRow*>> groups;
  for (const ErrorRow& row : rows) {
    const std::string name = group_of(by, row);
    const KnownKernels known = by == HeldOut::device ? KnownKernels::of_other_devices : KnownKernels::all;
    if (row.known == known && !name.empty()) groups[name].push_back(&row);
  }
  if (groups.size() < 2) groups.clear();
  return groups;
}

/// Runs that a fit leaves out, and the errors that are fitted to all other runs.
struct LeftOutGroup {
  LeftOut left_out;
  std::vector<const ErrorRow*> rows;
  TimeErrors errors;
};

/// Fits TimeErrors::new_foreign_device to `groups`, and also sets it in the errors of each group. Intervals then cover nine
/// of ten runs on devices of TimeErrors::makers if all runs of the kind on the device are left out. Each group has the same
/// weight.
void fit_foreign_devices(TimeErrorsFile& file, std::vector<LeftOutGroup>& groups) {
  std::vector<std::pair<LeftOutGroup*, std::vector<const ErrorRow*>>> foreign;
  for (LeftOutGroup& group : groups) {
    std::vector<const ErrorRow*> rows;
    for (const ErrorRow* row : group.rows) {
      if (is_new_foreign_device(group.errors, row->time)) rows.push_back(row);
    }
    if (!rows.empty() && group.left_out.by != HeldOut::software) foreign.emplace_back(&group, std::move(rows));
  }
  if (foreign.empty()) return;
  ErrorWidth& width = file.errors.new_foreign_device;
  const auto mean_of = [&](const auto& share) {
    double sum = 0;
    for (auto& [group, own] : foreign) {
      group->errors.new_foreign_device = width;
      sum += share(group->errors, own);
    }
    return sum / static_cast<double>(foreign.size());
  };
  const auto not_shorter = [](const TimeErrors& errors, const std::vector<const ErrorRow*>& rows) {
    const auto count = std::ranges::count_if(
        rows, [&](const ErrorRow* row) { return std::log(interval_of(errors, row->time).low) <= row->first_log_ratio; });
    return static_cast<double>(count) / static_cast<double>(rows.size());
  };
  const auto covered = [](const TimeErrors& errors, const auto& rows) {
    return held_of(errors, rows, &ErrorRow::first_log_ratio);
  };
  // One of twenty runs may be shorter than the interval, and one of ten may be outside.
  constexpr double rung = 1.05, least = 0.05, most = 1.5;
  while (width.faster < most && mean_of(not_shorter) < (1 + interval_level) / 2)
    width.faster = std::max(least, width.faster * rung);
  while (width.slower < most && mean_of(covered) < interval_level) width.slower = std::max(least, width.slower * rung);
  file.foreign_held = mean_of(covered);
  for (LeftOutGroup& group : groups) group.errors.new_foreign_device = width;
}

/// Adds the share of the groups' runs that intervals cover.
void add_coverage(TimeErrorsFile& file, const std::vector<LeftOutGroup>& groups) {
  for (const LeftOutGroup& group : groups) {
    file.groups[group.left_out.by].push_back({group.left_out.name, static_cast<int>(group.rows.size()),
                                              held_of(group.errors, group.rows, &ErrorRow::first_log_ratio),
                                              mean_interval(group.errors, group.rows)});
  }
}

}  // namespace

TimeErrorsFile fit_time_errors(std::span<const ErrorRow> rows, std::span<const ErrorRow> stand_ins,
                               std::span<const ErrorRow> learned) {
  if (rows.empty())
    throw Error("no run could be predicted",
                "widths are fitted to times of whole steps that do not "
                "include reading samples");
  constexpr double first_step = 0.4, next_step = 0.1;
  struct Fitted {
    TimeErrors errors;
    std::array<Parameters, 2> parameters{usual_parameters(), usual_parameters()};
  };
  const TraitFit traits(rows);
  const auto fit = [&](const LeftOut& left_out, const Fitted& begin, double step) {
    Fitted fitted = begin;
    set_measured_software(fitted.errors, rows, left_out);
    traits.set_traits(fitted.errors, left_out);
    const std::vector<Weighted> used = weighted(rows, left_out, fitted.errors);
    for (std::size_t i = 0; i < 2; ++i)
      fitted.parameters[i] = SideFit(used, sides[i], fitted.errors).fit(begin.parameters[i], step);
    for (std::size_t i = 0; i < 2; ++i) set_errors(fitted.errors, fitted.parameters[i], sides[i]);
    return fitted;
  };
  const Fitted all = fit({}, {.errors = {.makers = foreign_makers(rows)}}, first_step);
  TimeErrorsFile result;
  result.errors = all.errors;

  std::map<std::string, std::vector<const ErrorRow*>> sets;
  for (const ErrorRow& row : rows) {
    if (row.known == KnownKernels::all) sets[row.set].push_back(&row);
  }
  std::map<std::string, TimeErrors> without;
  for (const auto& [set, own] : sets)
    without[set] = sets.size() > 1 ? fit({HeldOut::set, set}, all, next_step).errors : result.errors;
  const auto mean_held = [&](double by) {
    double sum = 0;
    for (const auto& [set, own] : sets) {
      TimeErrors wider = without[set];
      widen(wider, by);
      sum += held_of(wider, own, &ErrorRow::first_log_ratio);
    }
    return sum / static_cast<double>(sets.size());
  };
  result.widened = least_that_holds(0.5, 5, mean_held);
  widen(result.errors, result.widened);
  fit_new_software(result.errors, stand_ins);
  result.stand_ins = static_cast<int>(stand_ins.size());
  result.stand_ins_held = stand_in_coverage(result.errors, stand_ins);

  // Pairs of runs determine which share of the unexplained error differs between plans.
  const std::vector<std::vector<Pair>> pairs = pairs_of(rows);
  if (!pairs.empty()) {
    result.errors.own_of_plan = least_that_holds(0.001, 10, [&](double own) {
      TimeErrors other = result.errors;
      other.own_of_plan = own;
      return ratio_coverage(other, pairs).held;
    });
    result.ratios = ratio_coverage(result.errors, pairs);
  }
  fit_learned(result, learned);

  result.evidence = evidence_of(rows);
  for (const auto& [set, own] : sets) {
    TimeErrors wider = without[set];
    widen(wider, result.widened);
    result.coverage.push_back(set_coverage(set, own, result.errors, wider));
  }
  std::vector<LeftOutGroup> groups;
  for (const HeldOut by : enum_values<HeldOut>) {
    if (by == HeldOut::set) continue;
    for (auto& [name, own] : rows_of_groups(rows, by)) {
      TimeErrors without_group = fit({by, name}, all, next_step).errors;
      widen(without_group, result.widened);
      if (by == HeldOut::software) fit_new_software(without_group, stand_ins, name);
      groups.push_back({{by, name}, std::move(own), std::move(without_group)});
    }
  }
  fit_foreign_devices(result, groups);
  add_coverage(result, groups);
  return result;
}

}  // namespace ddl
