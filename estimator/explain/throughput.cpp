#include "estimator/explain/throughput.hpp"

#include <algorithm>

namespace ddl {
namespace {

double tokens_per_sample(const Job& job) { return static_cast<double>(job.facts.model->sequence_length); }

/// Returns a rate as a share of the peak of one device; empty without a peak.
std::optional<double> share_of(FlopRate rate, const std::optional<FlopRate>& peak) {
  if (!peak || peak->value() <= 0) return std::nullopt;
  return rate / *peak;
}

}  // namespace

double SampleFlops::of(RecomputeModules modules) const {
  double sum = 0;
  for (const auto& [own, flops] : in_modules) sum += own.in_common(modules).is_empty() ? 0.0 : flops;
  return sum;
}

double SampleFlops::hardware(const Plan& plan, double recomputed_share) const {
  switch (plan.recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      return model() + of(plan.recompute_modules);
    case Recompute::full:
      return model() + blocks * recomputed_share;
  }
  return model();
}

SampleFlops sample_flops(const ModelFacts& facts, bool stops_early) {
  SampleFlops flops;
  const auto& layers = facts.model->layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const double products = 2 * layer.operation->unmasked_macs(layer.input_shapes, layer.output_shape);
    flops.forward += products;
    // A matrix product has two factors. Backward has one product for the gradient of each factor, except for a factor that
    // is an input of the sample. This also holds for a product of two activations. No gradient is computed for frozen
    // weights. An adapter has as many multiply-adds as weights.
    const bool is_weighted = layer.weights > 0 || layer.tied_to >= 0;
    const double trained = facts.frozen[i] ? 0.0 : trained_share(layer);
    double backward_products = is_weighted ? trained : 0;
    if (facts.needs_input_gradient[i]) backward_products = is_weighted ? 1 + trained : 2;
    flops.backward += products * backward_products;
    const double masked = products - 2 * layer.operation->macs(layer.input_shapes, layer.output_shape);
    flops.masked += masked * (1 + backward_products);
    if (products > 0 && layer.operation->work(Pass::forward, layer.input_shapes, layer.output_shape).square3_rows > 0)
      flops.square3 += products * (1 + backward_products);
    if (layer.block >= 0) flops.blocks += products;
    const RecomputeModules modules = facts.modules[i];
    if (modules.is_empty() || (stops_early && facts.spared[i])) continue;
    const auto is_of_same = [&](const auto& known) { return known.first == modules; };
    auto own = std::find_if(flops.in_modules.begin(), flops.in_modules.end(), is_of_same);
    if (own == flops.in_modules.end()) own = flops.in_modules.insert(own, {modules, 0.0});
    own->second += products;
  }
  return flops;
}

SampleFlops sample_flops(const Job& job) { return sample_flops(job.facts, job.assumptions.recompute_stops_early); }

std::optional<Throughput> throughput_of(const Job& job, const SampleFlops& flops, const Estimate& estimate) {
  const Seconds step_time = estimate.time.step_time();
  if (step_time.value() <= 0) return std::nullopt;
  const Plan& plan = estimate.plan;
  Throughput throughput;
  throughput.samples = static_cast<double>(plan.global_batch) / step_time.value();
  if (tokens_per_sample(job) > 0) throughput.tokens = throughput.samples * tokens_per_sample(job);
  const double samples_per_device = throughput.samples / static_cast<double>(plan.mesh.devices());
  throughput.model = FlopRate(flops.model() * samples_per_device);
  throughput.hardware = FlopRate(flops.hardware(plan, estimate.recomputed_share) * samples_per_device);
  const std::optional<FlopRate> peak = job.machine.device.peak_at(plan.precision);
  throughput.model_share = share_of(throughput.model, peak);
  throughput.hardware_share = share_of(throughput.hardware, peak);
  return throughput;
}

std::optional<Seconds> training_time(const Job& job, const Estimate& estimate, double tokens) {
  const Seconds step_time = estimate.time.step_time();
  const double tokens_per_step = static_cast<double>(estimate.plan.global_batch) * tokens_per_sample(job);
  if (step_time.value() <= 0 || tokens_per_step <= 0) return std::nullopt;
  return step_time * std::max(1.0, tokens / tokens_per_step);
}

}  // namespace ddl
