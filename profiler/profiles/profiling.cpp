#include "profiler/profiles/profiling.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "core/device_lost.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "profiler/measurement/problems.hpp"

namespace ddl {
namespace {

/// Minimum number of whole steps. Fewer steps have no 95 % interval (median_interval).
constexpr std::size_t least_steps = 6;
/// Short steps are repeated for this time, because their mean is compared with the means of many more samples of each
/// problem.
constexpr Seconds time_for_steps(3);
constexpr std::size_t ample_steps = 24;

std::size_t steps_of_a_model(const SequenceSampling* sampling) {
  const Seconds one =
      sampling == nullptr || sampling->failed() || sampling->steps() == 0 ? time_for_steps : sampling->mean();
  const double fitting = time_for_steps / std::max(one, time_for_steps / static_cast<double>(ample_steps));
  return std::max(least_steps, static_cast<std::size_t>(fitting));
}

/// Returns the mean, because means of parts add up, and medians do not. Other load on the machine
/// slows a step and its parts equally.
Seconds mean_of(const Samples& samples) { return samples.seconds.empty() ? samples.median : Seconds(mean(samples.seconds)); }

/// Runs `work`, and adds the problem to the message if the device is lost.
template <class Work>
auto at_problem(const std::string& line, const Work& work) {
  try {
    return work();
  } catch (const DeviceLost& lost) {
    throw DeviceLost(fmt::format("{}, at: {}", lost.what(), line),
                     fmt::format("earlier rows are kept: continue with --resume, or skip it with --leave-out '{}'; {}", line,
                                 lost.hint()));
  }
}

}  // namespace

std::size_t ProfilePlan::items() const { return problems.size() + sequences.size() * enum_values<StepPart>.size(); }

std::string ProfilePlan::line(std::size_t item) const {
  if (item < problems.size()) return problems[item].line;
  const std::size_t sequence = item - problems.size();
  return print_problem(SequenceProblem{model->name,
                                       sequences[sequence / enum_values<StepPart>.size()],
                                       precision,
                                       optimizer,
                                       enum_values<StepPart>[sequence % enum_values<StepPart>.size()],
                                       {},
                                       false,
                                       step_start == StepStart::graph});
}

std::string refusal_of_all(const KernelBackend& backend, const ProfilePlan& plan) {
  std::string first;
  for (const CountedProblem& each : plan.problems) {
    std::string reason = is_update_problem(each.line) ? backend.refusal(parse_update_problem(each.line, "the problem"))
                                                      : backend.refusal(parse_problem(each.line, "the problem"));
    if (reason.empty()) return {};
    if (first.empty()) first = std::move(reason);
  }
  return first;
}

Profiling::Profiling(KernelBackend& backend, const ProfilePlan& plan) : backend_(backend), plan_(plan) {
  try {
    watch_.emplace(backend);
    last_look_ = watch_->look();
  } catch (const Error&) {
    watch_.reset();
  }
  if (!plan.model) return;
  std::unordered_set<std::string> asked;
  for (const CountedProblem& problem : plan.problems) asked.insert(problem.line);
  for (const std::int64_t samples : plan.sequences) {
    for (const CountedProblem& problem : problems_of(*plan.model, samples, plan.precision, plan.optimizer)) {
      // An update does not depend on the number of samples.
      if (is_update_problem(problem.line) || !asked.contains(problem.line)) continue;
      samples_of_.emplace(problem.line, samples);
      ++steps_[samples].problems;
    }
  }
}

SpeedLook Profiling::look() {
  if (!watch_) return {};
  const SpeedLook before = std::exchange(last_look_, watch_->look());
  return {(before.time + last_look_.time) / 2.0, last_look_.state};
}

std::string Profiling::line_of_step(std::int64_t samples) const {
  const auto place = std::find(plan_.sequences.begin(), plan_.sequences.end(), samples) - plan_.sequences.begin();
  return plan_.line(plan_.problems.size() + static_cast<std::size_t>(place) * enum_values<StepPart>.size());
}

void Profiling::take_step(std::int64_t samples, WholeSteps& steps) {
  at_problem(line_of_step(samples), [&] { run_step(samples, steps); });
}

void Profiling::run_step(std::int64_t samples, WholeSteps& steps) {
  if (!steps.sampling) {
    steps.sampling = std::make_unique<SequenceSampling>(backend_, *plan_.model, samples, plan_.precision, plan_.optimizer,
                                                        plan_.step_start);
  }
  if (steps.sampling->failed()) return;
  static_cast<void>(look());
  steps.sampling->step();
  SpeedLook after = look();
  steps.looks.push_back(after.time.value());
  steps.state = std::move(after.state);
}

void Profiling::step_between(const std::string& line) {
  const auto of_model = samples_of_.find(line);
  if (of_model == samples_of_.end()) return;
  WholeSteps& steps = steps_.at(of_model->second);
  // Steps are distributed evenly over the problems.
  const std::size_t all = steps_of_a_model(steps.sampling.get());
  const std::size_t due = (++steps.passed * all + steps.problems - 1) / steps.problems;
  const auto taken = [&] { return steps.sampling ? static_cast<std::size_t>(steps.sampling->steps()) : 0; };
  while (taken() < due && (!steps.sampling || !steps.sampling->failed())) take_step(of_model->second, steps);
  if (steps.passed < steps.problems) return;
  for (ProfileRow& row : rows_of(steps)) {
    std::string name = row.measurement.problem;
    parts_.insert_or_assign(std::move(name), std::move(row));
  }
  steps.sampling.reset();  // frees the tensors of the whole model
}

std::vector<ProfileRow> Profiling::rows_of(const WholeSteps& steps) const {
  std::vector<ProfileRow> rows;
  for (Measurement& part : steps.sampling->measurements(plan_.rule)) {
    rows.push_back({std::move(part), 1, Seconds(median(steps.looks)), steps.state});
  }
  return rows;
}

std::optional<ProfileRow> Profiling::measure_item(std::size_t item, const std::function<bool()>& stop) {
  ProfileRow row;
  if (item < plan_.problems.size()) {
    const CountedProblem& problem = plan_.problems[item];
    step_between(problem.line);
    if (stop && stop()) return std::nullopt;
    static_cast<void>(look());
    row = {at_problem(problem.line, [&] { return measure(backend_, problem.line, plan_.rule, plan_.caches, stop); }),
           problem.layers,
           {},
           {}};
    SpeedLook after = look();
    row.reference_kernel = after.time;
    row.state = std::move(after.state);
  } else {
    const std::string line = plan_.line(item);
    if (!parts_.contains(line)) {
      // Whole steps run here if none ran between the problems, because the problems were measured
      // earlier, or by another process.
      const std::int64_t samples = plan_.sequences[(item - plan_.problems.size()) / enum_values<StepPart>.size()];
      WholeSteps steps;
      for (std::size_t step = 0; step < steps_of_a_model(steps.sampling.get()) && !(stop && stop()); ++step) {
        take_step(samples, steps);
        if (!steps.sampling || steps.sampling->failed()) break;
      }
      if (!steps.sampling) return std::nullopt;
      for (ProfileRow& part : rows_of(steps)) {
        std::string name = part.measurement.problem;
        parts_.insert_or_assign(std::move(name), std::move(part));
      }
    }
    row = parts_.at(line);
  }
  // A kernel without work has no samples, and needs none.
  const bool nothing_to_do = row.measurement.reason.empty() && row.measurement.algorithm.empty();
  const bool sampled = row.measurement.samples.count > 0 || nothing_to_do || !row.measurement.reason.empty();
  if (!sampled) parts_.erase(row.measurement.problem);
  return sampled ? std::optional(std::move(row)) : std::nullopt;
}

Steadiness steadiness_of(const Profile& profile) {
  Steadiness steadiness;
  std::vector<double> looks;
  std::map<std::string, int> reasons;
  for (const ProfileRow& row : profile.rows) {
    if (row.reference_kernel.value() > 0) looks.push_back(row.reference_kernel.value());
    if (row.state.clock_hz > 0) {
      const double lowest = steadiness.lowest_clock_hz > 0 ? steadiness.lowest_clock_hz : row.state.clock_hz;
      steadiness.lowest_clock_hz = std::min(lowest, row.state.clock_hz);
      steadiness.highest_clock_hz = std::max(steadiness.highest_clock_hz, row.state.clock_hz);
    }
    if (!row.state.slowed_by.empty()) ++reasons[row.state.slowed_by];
  }
  for (const auto& [reason, rows] : reasons) {
    steadiness.slowed_by.emplace_back(reason, static_cast<double>(rows) / static_cast<double>(profile.rows.size()));
  }
  if (looks.empty()) return steadiness;
  std::sort(looks.begin(), looks.end());
  const double full = looks[looks.size() / 10];
  constexpr double tenth = 1.1;
  const auto slow = looks.end() - std::upper_bound(looks.begin(), looks.end(), full * tenth);
  steadiness.slowest = looks.back() / full;
  steadiness.slow_share = static_cast<double>(slow) / static_cast<double>(looks.size());
  return steadiness;
}

std::vector<SumCheck> sum_checks(const Profile& profile, const Model& model) {
  std::unordered_map<std::string, const Measurement*> measured;
  std::vector<SumCheck> found;
  std::vector<int> parts_seen;
  for (const ProfileRow& row : profile.rows) {
    const Measurement& measurement = row.measurement;
    if (!measurement.reason.empty()) continue;
    measured.emplace(measurement.problem, &measurement);
    if (!is_sequence_problem(measurement.problem)) continue;
    const SequenceProblem problem = parse_sequence_problem(measurement.problem, "the profile");
    if (!problem.by.empty()) continue;
    const auto same = [&problem](const SumCheck& sum_check) {
      return sum_check.samples == problem.samples && sum_check.precision == problem.precision &&
             sum_check.optimizer == problem.optimizer && sum_check.graph == problem.graph;
    };
    auto sum_check = std::find_if(found.begin(), found.end(), same);
    if (sum_check == found.end()) {
      sum_check =
          found.insert(found.end(), {problem.samples, problem.precision, problem.optimizer, problem.graph, {}, {}, 0});
      parts_seen.push_back(0);
    }
    sum_check->whole += mean_of(measurement.samples);
    ++parts_seen[static_cast<std::size_t>(sum_check - found.begin())];
  }
  std::vector<SumCheck> complete;
  for (std::size_t i = 0; i < found.size(); ++i) {
    SumCheck sum_check = found[i];
    bool known = parts_seen[i] == static_cast<int>(enum_values<StepPart>.size()) && sum_check.whole.value() > 0;
    for (const CountedProblem& problem : problems_of(model, sum_check.samples, sum_check.precision, sum_check.optimizer)) {
      const auto place = measured.find(problem.line);
      known = known && place != measured.end();
      if (!known) break;
      sum_check.parts += mean_of(place->second->samples) * static_cast<double>(problem.layers);
      if (place->second->samples.count > 0) sum_check.kernels += problem.layers;
    }
    if (known) complete.push_back(sum_check);
  }
  return complete;
}

}  // namespace ddl
