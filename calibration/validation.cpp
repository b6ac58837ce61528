#include "calibration/validation.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <variant>

#include <fmt/format.h>

#include "calibration/machine_reader.hpp"
#include "calibration/study.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "estimator/estimate.hpp"

namespace ddl {
namespace {

/// Studies of one model are alike for all its runs: built once, with and without input, ideal and not.
class Studies {
 public:
  Studies(std::string machine, std::string coefficients, std::shared_ptr<const FoundProfiles> profiles)
      : machine_(std::move(machine)), coefficients_(std::move(coefficients)), profiles_(std::move(profiles)) {}

  struct Entry {
    std::unique_ptr<Study> study;
    std::unique_ptr<Estimator> estimator;
  };

  /// Why nobody can read a run's model; nothing where it can be read.
  const std::optional<std::string>& problem_of(const std::string& model) {
    const auto [entry, added] = problems_.try_emplace(model);
    if (added) {
      try {
        static_cast<void>(load_model(model));
      } catch (const Error& error) {
        entry->second = error.what();
      }
    }
    return entry->second;
  }

  const Entry& get(const std::string& model, bool ideal, bool input) {
    Entry& entry = entries_[{model, ideal, input}];
    if (!entry.study) {
      StudySpec spec;
      spec.model = model;
      spec.machine = machine_;
      spec.coefficients = coefficients_;
      spec.found_profiles = profiles_;
      spec.precision = Precision::fp32;
      if (ideal) spec.assumptions = ideal_assumptions();
      spec.assumptions.include_input = input;
      entry.study = std::make_unique<Study>(spec);
      entry.estimator = std::make_unique<Estimator>(entry.study->job());
    }
    return entry;
  }

 private:
  std::string machine_, coefficients_;
  std::shared_ptr<const FoundProfiles> profiles_;
  std::map<std::tuple<std::string, bool, bool>, Entry> entries_;
  std::map<std::string, std::optional<std::string>> problems_;
};

/// A refusal to predict, as a value.
struct Unpredictable {
  std::string reason;
};

/// Cuts `parts` tiles as close to squares or cubes as they come.
std::array<int, 3> spatial_split(int parts, int rank) {
  std::array<int, 3> split{1, 1, 1};
  for (int factor = 2, left = parts; left > 1; ++factor) {
    while (left % factor == 0) {
      int least = 0;
      for (int d = 1; d < rank; ++d) {
        if (split[static_cast<std::size_t>(d)] < split[static_cast<std::size_t>(least)]) least = d;
      }
      split[static_cast<std::size_t>(least)] *= factor;
      left /= factor;
    }
  }
  return split;
}

std::variant<Plan, Unpredictable> plan_of(const MeasuredRun& run, const Study& study) {
  const std::optional<Family> family = parse_family(run.strategy);
  if (!family) return Unpredictable{fmt::format("no strategy is called '{}'", run.strategy)};
  if (!run.gpus) return Unpredictable{"the number of GPUs is not stated"};
  const int gpus = *run.gpus;
  const int node = run.gpus_per_node.value_or(study.machine().devices_per_node());
  Plan plan;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();

  // Of two degrees the second lives inside the node, as in the measured implementations; the first takes the nodes.
  const bool hybrid = (*family & (*family - 1)) != 0;
  if (hybrid && (*family & family_bit(Axis::data)) == 0) return Unpredictable{"the split between the degrees is not stated"};
  if (hybrid && gpus % node != 0) return Unpredictable{fmt::format("{} GPUs do not fill nodes of {}", gpus, node)};
  const int inner = hybrid ? node : gpus;
  if (hybrid) plan.data = gpus / node;
  int splits = 0;
  for (const Axis axis : all_axes) {
    if ((*family & family_bit(axis)) == 0 || (hybrid && axis == Axis::data)) continue;
    ++splits;
    switch (axis) {
      case Axis::data:
        plan.data = inner;
        break;
      case Axis::filter:
        plan.filter = inner;
        break;
      case Axis::channel:
        plan.channel = inner;
        break;
      case Axis::tensor:
        plan.tensor = inner;
        break;
      case Axis::layer:
        plan.layer = inner;
        break;
      case Axis::spatial:
        plan.spatial = spatial_split(inner, study.model().input.rank);
        break;
    }
  }
  if (splits > 1) return Unpredictable{"the split between the degrees is not stated"};

  double batch = 0;
  if (run.global_batch) {
    batch = *run.global_batch;
  } else if (run.batch_per_gpu_or_node) {
    // Per GPU for data alone, per group of the second degree for hybrids, for all GPUs together otherwise.
    batch = *run.batch_per_gpu_or_node * plan.data;
  } else {
    return Unpredictable{"the batch is not stated"};
  }
  if (batch < 1 || batch > 1e12) return Unpredictable{"the batch is not a number of samples"};
  plan.global_batch = static_cast<std::int64_t>(std::llround(batch));
  // A pipeline's micro-batches are not among the columns: four to a stage, where the bubble is a fifth [Huang et al.,
  // GPipe], as far as a replica's samples go.
  if (plan.layer > 1) {
    const std::int64_t most = std::max<std::int64_t>(1, plan.global_batch / plan.data);
    plan.micro_batches = std::min(most, std::int64_t{4} * plan.layer);
  }
  return plan;
}

std::variant<Seconds, Unpredictable> quantity_of(const std::string& quantity, const Estimate& estimate) {
  const Breakdown& time = estimate.time;
  const Seconds exchanged = time.gradient_exchange + time.layer_collectives + time.halo + time.pipeline;
  const double iterations = time.iteration().value() > 0 ? estimate.epoch / time.iteration() : 0.0;
  const Seconds computed = time.compute() + time.bubble;
  if (quantity == "iter_total_s" || quantity == "iter_total_best_epoch_s") return time.iteration();
  if (quantity == "iter_comp_s") return computed;
  if (quantity == "iter_comm_s") return exchanged;
  if (quantity == "iter_comm_gradient_allreduce_s") return time.gradient_exchange;
  if (quantity == "iter_comm_halo_s") return time.halo;
  if (quantity == "epoch_s") return estimate.epoch;
  if (quantity == "epoch_comp_s") return computed * iterations;
  if (quantity == "epoch_comm_s") return exchanged * iterations;
  if (quantity == "epoch_forward_s") return time.forward * iterations;
  if (quantity == "epoch_backward_s") return time.backward * iterations;
  if (quantity == "epoch_weight_update_s") return time.weight_update * iterations;
  return Unpredictable{fmt::format("no prediction for the quantity '{}'", quantity)};
}

std::variant<Seconds, Unpredictable> predict(const MeasuredRun& run, const Studies::Entry& entry) {
  const auto plan = plan_of(run, *entry.study);
  if (const auto* why = std::get_if<Unpredictable>(&plan)) return *why;
  const Estimate estimate = entry.estimator->estimate(std::get<Plan>(plan));
  // A run that was measured did fit; a memory estimate above the device's does not take its time away.
  for (const Limit& limit : estimate.limits) {
    if (limit.kind != Limit::Kind::memory) return Unpredictable{describe(limit, entry.study->model())};
  }
  return quantity_of(run.quantity, estimate);
}

/// A throughput as the time of the iteration that it was measured in, so that every case compares times.
MeasuredRun in_seconds(MeasuredRun run) {
  if (run.quantity == "samples_per_s_per_gpu" && run.global_batch && run.gpus && run.value > 0) {
    run.value = *run.global_batch / (run.value * *run.gpus);
    run.quantity = "iter_total_s";
  }
  return run;
}

std::optional<double> relative_error(const std::optional<Seconds>& predicted, double measured) {
  if (!predicted || measured <= 0) return std::nullopt;
  return predicted->value() / measured - 1.0;
}

double accuracy(std::optional<double> error) { return error ? 1.0 - std::abs(*error) : 0.0; }

}  // namespace

std::optional<double> ValidationCase::error() const { return relative_error(predicted, run.value); }
std::optional<double> ValidationCase::ideal_error() const { return relative_error(ideal, run.value); }

ValidationSummary summarize(std::span<const ValidationCase> cases) {
  ValidationSummary summary;
  const auto add = [](ValidationSummary::Group& group, const ValidationCase& one) {
    ++group.cases;
    group.accuracy += accuracy(one.error());
    group.ideal_accuracy += accuracy(one.ideal_error());
    group.predicted += one.error().has_value() ? 1 : 0;
    group.mean_error += one.error().value_or(0.0);
  };
  struct Series {
    std::vector<double> measured, predicted, ideal;
  };
  std::map<std::tuple<std::string, int, std::string>, Series> comparable;
  for (const ValidationCase& one : cases) {
    add(summary.overall, one);
    add(summary.by_strategy[one.run.strategy], one);
    if (!one.predicted || !one.ideal || !one.run.gpus) continue;
    // Strategies run with different batches: what ranks them is the time of a sample.
    const bool per_iteration = one.run.quantity.starts_with("iter");
    const double batch = per_iteration ? one.run.global_batch.value_or(0.0) : 1.0;
    if (batch <= 0) continue;
    Series& series = comparable[{one.run.model, *one.run.gpus, one.run.quantity}];
    series.measured.push_back(one.run.value / batch);
    series.predicted.push_back(one.predicted->value() / batch);
    series.ideal.push_back(one.ideal->value() / batch);
  }
  const auto finish = [](ValidationSummary::Group& group) {
    if (group.cases == 0) return;
    group.accuracy /= group.cases;
    group.ideal_accuracy /= group.cases;
    if (group.predicted > 0) group.mean_error /= group.predicted;
  };
  finish(summary.overall);
  for (auto& [strategy, group] : summary.by_strategy) finish(group);
  KendallCounts predicted, ideal;
  for (const auto& [key, series] : comparable) {
    predicted += kendall_counts(series.predicted, series.measured);
    ideal += kendall_counts(series.ideal, series.measured);
  }
  summary.kendall_tau = kendall_tau_b(predicted);
  summary.ideal_kendall_tau = kendall_tau_b(ideal);
  return summary;
}

Validation validate(std::span<const MeasuredRun> runs, const std::string& machine, const std::string& coefficients,
                    const ProfileChoice& profiles) {
  Validation validation;
  // What all runs share ends the command when it is wrong; an unknown model ends only the runs that are about it.
  StudySpec shared;
  shared.machine = machine;
  shared.coefficients = coefficients;
  const Machine sheet = load_machine(machine);
  static_cast<void>(coefficients_of(shared, sheet));
  const auto found = std::make_shared<const FoundProfiles>(find_profiles(profiles, sheet));
  validation.warnings = found->warnings;
  Studies studies(machine, coefficients, found);
  for (const MeasuredRun& measured : runs) {
    const MeasuredRun run = in_seconds(measured);
    ValidationCase one;
    one.run = run;
    if (const std::optional<std::string>& problem = studies.problem_of(run.model)) {
      one.reason = *problem;
    } else {
      const bool input = run.includes_io == "yes" || run.includes_io == "probably";
      const auto predicted = predict(run, studies.get(run.model, false, input));
      const auto ideal = predict(run, studies.get(run.model, true, false));
      if (const auto* time = std::get_if<Seconds>(&predicted)) one.predicted = *time;
      if (const auto* time = std::get_if<Seconds>(&ideal)) one.ideal = *time;
      if (const auto* why = std::get_if<Unpredictable>(&predicted)) one.reason = why->reason;
    }
    validation.cases.push_back(std::move(one));
  }
  validation.summary = summarize(validation.cases);
  return validation;
}

}  // namespace ddl
