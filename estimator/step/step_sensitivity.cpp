#include "estimator/step/step_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "estimator/inputs/expert_load.hpp"
#include "estimator/inputs/sensitivity.hpp"
#include "estimator/layers/exchange_time.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/step/step_of.hpp"
#include "estimator/step/updates.hpp"
#include "estimator/strategies/expert.hpp"

namespace ddl {
namespace {

/// The factor by which the times of a source are varied. It is about the error of predicted times.
constexpr double factor = 1.5;

ErrorSource source_of(const TimedKernel& kernel, const Operation& operation) {
  if (!kernel.work) {
    if (operation.is_attention()) return ErrorSource::attention;
    return operation.type() == "convolution" ? ErrorSource::convolutions : ErrorSource::matrix_products;
  }
  switch (kernel.work->kernel_kind()) {
    case KernelKind::matrix_product:
      return ErrorSource::matrix_products;
    case KernelKind::convolution:
      return ErrorSource::convolutions;
    case KernelKind::grouped_convolution:
      return ErrorSource::grouped_convolutions;
    case KernelKind::fused_attention:
    case KernelKind::chunk_scan:
      return ErrorSource::attention;
    default:
      return ErrorSource::memory_kernels;
  }
}

/// Sums of times in seconds, by source and basis.
class Times {
 public:
  void add(ErrorSource source, TimeBasis basis, double seconds) {
    if (seconds > 0) seconds_[static_cast<std::size_t>(source)][static_cast<std::size_t>(basis)] += seconds;
  }
  [[nodiscard]] double of(ErrorSource source) const {
    double sum = 0;
    for (const double each : seconds_[static_cast<std::size_t>(source)]) sum += each;
    return sum;
  }
  [[nodiscard]] double all() const {
    double sum = 0;
    for (std::size_t i = 0; i < error_source_names.size(); ++i) sum += of(static_cast<ErrorSource>(i));
    return sum;
  }
  [[nodiscard]] double of(ErrorSource source, TimeBasis basis) const {
    return seconds_[static_cast<std::size_t>(source)][static_cast<std::size_t>(basis)];
  }

 private:
  std::array<std::array<double, time_basis_names.size()>, error_source_names.size()> seconds_{};
};

/// A step with a timing that can be computed for changed times.
struct Varied {
  Step step;
  Updates updates;
  Learned x;

  [[nodiscard]] double seconds() const {
    Timing<double> timing = run(step, x);
    finish(step, updates, x, timing);
    return timing.step_time();
  }
};

/// Returns ln(T(f)/T) / ln f for a source of error. `scale` multiplies the times of the source by a factor.
template <class Scale>
Sensitivity sensitivity_to(const Varied& usual, double seconds, const Scale& scale) {
  const auto changed = [&](double by) {
    Varied other = usual;
    scale(other, by);
    const double then = other.seconds();
    return then > 0 && seconds > 0 ? std::clamp(std::log(then / seconds) / std::log(by), 0.0, 1.0) : 0.0;
  };
  return {{}, {}, changed(factor), changed(1 / factor)};
}

void scale_path(Varied& step, const PathCoefficients& path, double by) {
  step.x[path.alpha] *= by;
  step.x[path.beta] *= by;
}

/// Multiplies the times of a source of error. Kernels of all kinds are scaled together, and updates are not scaled.
void scale_source(Varied& step, ErrorSource source, double by) {
  switch (source) {
    case ErrorSource::gradient_exchange:
      return scale_path(step, path_coefficients(Purpose::gradient), by);
    case ErrorSource::layer_exchange:
      return scale_path(step, path_coefficients(Purpose::layer), by);
    case ErrorSource::halo:
      return scale_path(step, path_coefficients(Purpose::halo), by);
    case ErrorSource::launches:
      step.x[Coefficient::launch_overhead] *= by;
      return;
    case ErrorSource::waiting:
      for (const Coefficient each : {Coefficient::straggler_factor, Coefficient::per_iteration, Coefficient::per_micro_batch,
                                     Coefficient::unsharded_weight_sync}) {
        step.x[each] *= by;
      }
      step.step.rank_waiting *= by;
      return;
    case ErrorSource::input:
      step.step.reading = Term(step.step.reading.time() * by);
      return;
    case ErrorSource::rare_splits:
      return;  // these splits have no times of their own
    default:
      step.x[Coefficient::kernels] *= by;
  }
}

void scale_updates(Varied& step, double by) {
  for (Updates::Stage& stage : step.updates.stages) stage.update = Term(stage.update.time() * by);
}

Varied varied_step(const Estimator& estimator, const Plan& plan, const LayerCostTable& costs) {
  const std::vector<int>& firsts = estimator.stages(plan);
  Varied usual{step_of(estimator.memories(), plan, costs, firsts), updates_of(estimator.job(), plan, costs, firsts), {}};
  usual.step.rank_waiting = estimator.steps().staged(plan).step.rank_waiting;
  usual.x = usual.step.origin;
  return usual;
}

}  // namespace

TimeSensitivity sensitivity(const Estimator& estimator, const Plan& plan) {
  const Job& job = estimator.job();
  TimeSensitivity result;
  const ModelFacts& facts = job.facts;
  result.model_class = facts.experts > 1 ? ModelClass::mixture_of_experts
                       : facts.attends   ? ModelClass::transformer
                                         : ModelClass::convolutional;
  result.software = job.coefficients.software.name;
  const std::string network = facts.kind + " " + std::string(model_class_names[result.model_class]) + ", ";
  result.traits = {facts.family, network + result.software, network + job.machine.device.name};
  const bool is_read = job.assumptions.include_input && (job.was_read || job.assumptions.decodes_images);
  result.reads_samples = is_read && !facts.model->input.sequence && job.sample_bytes > Bytes{};
  const std::vector<int>& firsts = estimator.stages(plan);
  if (firsts.empty()) return result;
  const SplitTables::SlopeTable& slope_table = estimator.tables().slope_table(plan);
  const LayerCostTable& costs = slope_table.costs;
  const Varied usual = varied_step(estimator, plan, costs);
  const double seconds = usual.seconds();

  const auto basis_of = [&](Provenance source) {
    switch (source) {
      case Provenance::measured:
        return TimeBasis::measured;
      case Provenance::interpolated:
        return TimeBasis::interpolated;
      case Provenance::curve:
        return TimeBasis::fitted;
      case Provenance::roofline:
        break;
    }
    return job.kernels.has_formulas() ? TimeBasis::transferred : TimeBasis::sheet;
  };
  const TimeBasis of_links = job.coefficients.exchanges.empty() ? TimeBasis::sheet : TimeBasis::fitted;
  const auto basis_of_exchange = [&](bool measured) { return measured ? TimeBasis::measured : of_links; };

  // All stages are assumed to have the same mix of kernels and exchanges.
  Times kernels, exchanges;
  struct {
    double kernels = 0, exchanges = 0;
  } of_experts;  // seconds
  const LayerKinds& kinds = costs.kinds();
  std::vector<double> forwards = kinds.count;  // for each kind of layer, number of forwards
  const std::vector<bool> again = runs_again(plan, facts, job.assumptions, kinds, firsts);
  for (std::size_t layer = 0; layer < again.size(); ++layer)
    forwards[static_cast<std::size_t>(kinds.kind[layer])] += again[layer] ? 1.0 : 0.0;
  for (std::size_t kind = 0; kind < kinds.count.size(); ++kind) {
    const int layer = kinds.representative[kind];
    const LayerDetail& detail = slope_table.details[kind];
    const Operation& operation = *facts.model->layers[static_cast<std::size_t>(layer)].operation;
    for (const TimedKernel& each : detail.kernels) {
      const double count = each.phase == Phase::forward ? forwards[kind] : kinds.count[kind];
      kernels.add(source_of(each, operation), basis_of(each.source), each.time.value() * count);
      if (operation.experts() > 1) of_experts.kernels += each.time.value() * count;
    }
    for (const TimedExchange& each : detail.exchanges) {
      const ErrorSource source = each.exchange.purpose == Purpose::halo ? ErrorSource::halo : ErrorSource::layer_exchange;
      exchanges.add(source, basis_of_exchange(each.algorithm == measured_exchange), each.time.value() * kinds.count[kind]);
      if (is_of_experts(each.exchange)) of_experts.exchanges += each.time.value() * kinds.count[kind];
    }
    if (costs.at(layer)[LayerTime::update] > Seconds{})
      exchanges.add(ErrorSource::memory_kernels, basis_of(detail.update_source),
                    costs.at(layer)[LayerTime::update].value() * kinds.count[kind]);
  }
  bool measured_gradients = !usual.updates.stages.empty();
  for (const Updates::Stage& stage : usual.updates.stages)
    measured_gradients = measured_gradients && stage.exchange.measured;

  const auto add = [&](ErrorSource source, TimeBasis basis, const Sensitivity& of, double share) {
    const double slower = of.slower * share, faster = of.faster * share;
    if (!(slower > 1e-6 || faster > 1e-6)) return;
    const auto known = std::find_if(result.sources.begin(), result.sources.end(),
                                    [&](const Sensitivity& each) { return each.source == source && each.basis == basis; });
    if (known == result.sources.end()) {
      result.sources.push_back({source, basis, slower, faster});
    } else {
      known->slower += slower;
      known->faster += faster;
    }
  };
  /// Distributes the sensitivity to a source over the bases of its times.
  const auto add_by_basis = [&](ErrorSource source, const Times& times, double all, const Sensitivity& of) {
    if (all <= 0) return add(source, of_links, of, 1);
    for (std::size_t i = 0; i < time_basis_names.size(); ++i) {
      const auto basis = static_cast<TimeBasis>(i);
      add(source, basis, of, times.of(source, basis) / all);
    }
  };

  const auto sensitivity_of = [&](ErrorSource source) {
    return sensitivity_to(usual, seconds, [source](Varied& other, double by) { scale_source(other, source, by); });
  };
  const Sensitivity to_kernels = sensitivity_of(ErrorSource::matrix_products);
  for (std::size_t i = 0; i < kernel_sources; ++i) {
    if (kernels.all() > 0) add_by_basis(static_cast<ErrorSource>(i), kernels, kernels.all(), to_kernels);
  }
  result.scale_slower = to_kernels.slower * job.kernels.scale_spread();
  result.scale_faster = to_kernels.faster * job.kernels.scale_spread();
  add_by_basis(ErrorSource::memory_kernels, exchanges, exchanges.of(ErrorSource::memory_kernels),
               sensitivity_to(usual, seconds, scale_updates));
  add(ErrorSource::gradient_exchange, basis_of_exchange(measured_gradients), sensitivity_of(ErrorSource::gradient_exchange),
      1);
  const Sensitivity to_layers = sensitivity_of(ErrorSource::layer_exchange);
  add_by_basis(ErrorSource::layer_exchange, exchanges, exchanges.of(ErrorSource::layer_exchange), to_layers);
  if (is_load_unknown(job.assumptions) && expert_parts(plan) > 1 && kernels.all() > 0) {
    const double load =
        natural_load(job.assumptions, static_cast<double>(facts.experts), static_cast<double>(expert_parts(plan)));
    const double all = std::max(exchanges.of(ErrorSource::layer_exchange), of_experts.exchanges);
    const double share = to_kernels.slower * of_experts.kernels / kernels.all() +
                         (all > 0 ? to_layers.slower * of_experts.exchanges / all : 0.0);
    result.routing = std::min(share, 1.0) * std::log(load);
  }
  add_by_basis(ErrorSource::halo, exchanges, exchanges.of(ErrorSource::halo), sensitivity_of(ErrorSource::halo));
  for (const ErrorSource each : {ErrorSource::launches, ErrorSource::waiting})
    add(each, TimeBasis::fitted, sensitivity_of(each), 1);
  add(ErrorSource::input, TimeBasis::sheet, sensitivity_of(ErrorSource::input), 1);
  const std::vector<Mesh> meshes = meshes_of(plan);
  const auto is_rare = [](const Mesh& mesh) {
    return mesh[Axis::filter] > 1 || mesh[Axis::channel] > 1 || mesh[Axis::spatial] > 1;
  };
  if (std::any_of(meshes.begin(), meshes.end(), is_rare)) add(ErrorSource::rare_splits, TimeBasis::sheet, {{}, {}, 1, 1}, 1);
  std::stable_sort(result.sources.begin(), result.sources.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return a.source != b.source ? a.source < b.source : a.basis < b.basis;
  });
  if (job.assumptions.learned) {
    for (const auto& [family, runs] : job.coefficients.learned_runs) {
      if (family != plan.mesh.family() || !plan.segments.empty()) continue;
      result.learned = runs;
      if (runs.most_devices > 0)
        result.learned->beyond = std::max(0.0, std::log2(static_cast<double>(plan.mesh.devices()) / runs.most_devices));
    }
  }
  return result;
}

std::vector<SourceFactor> factors_for(const Estimator& estimator, const Plan& plan, double ratio) {
  if (estimator.stages(plan).empty()) return {};
  const Varied usual = varied_step(estimator, plan, estimator.tables().slope_table(plan).costs);
  const double wanted = ratio * usual.seconds();
  std::vector<SourceFactor> factors;
  // memory_kernels is the last kind of kernels, and stands for all of them.
  for (auto i = static_cast<std::size_t>(ErrorSource::memory_kernels); i < error_source_names.size(); ++i) {
    const auto source = static_cast<ErrorSource>(i);
    const auto is_beyond = [&](double log_of_factor) {
      Varied other = usual;
      scale_source(other, source, std::exp(log_of_factor));
      if (source == ErrorSource::memory_kernels) scale_updates(other, std::exp(log_of_factor));
      return ratio > 1 ? other.seconds() >= wanted : other.seconds() <= wanted;
    };
    // Bisection finds the factor even if other work hides the source up to some factor.
    constexpr int halvings = 20;
    double near = 0, far = std::log(ratio > 1 ? most_source_factor : 1 / most_source_factor);
    if (!is_beyond(far)) continue;
    for (int each = 0; each < halvings; ++each) {
      const double middle = (near + far) / 2;
      (is_beyond(middle) ? far : near) = middle;
    }
    factors.push_back({source, std::exp(far)});
  }
  return factors;
}

void add_intervals(const Estimator& estimator, Estimate& estimate, const TimeErrors& errors) {
  if (estimate.time.step_time() <= Seconds{}) return;
  const TimeSensitivity own = sensitivity(estimator, estimate.plan);
  estimate.interval = interval_of(errors, own);
  estimate.sensitivity = std::make_shared<const TimeSensitivity>(own);
}

void add_intervals(const Estimator& estimator, std::vector<Estimate>& estimates, const TimeErrors& errors) {
  for (Estimate* each : by_split(estimates)) add_intervals(estimator, *each, errors);
}

}  // namespace ddl
