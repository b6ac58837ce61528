#include "estimator/kernel_time.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

constexpr double default_reference_batch = 32;

const MeasuredModel* find_measured(const Coefficients& coefficients, std::string_view model, Precision precision) {
  for (const MeasuredModel& measured : coefficients.models) {
    if (measured.model == model && measured.precision == precision) return &measured;
  }
  return nullptr;
}

double rounded_up(double value, double tile) { return tile > 1 ? std::ceil(value / tile - 1e-9) * tile : value; }

}  // namespace

std::string_view to_string(PriceOrigin origin) {
  switch (origin) {
    case PriceOrigin::measured_total:
      return "measured total, spread over the layers by work";
    case PriceOrigin::device_scale:
      return "roofline, scaled by other models measured on this device";
    case PriceOrigin::roofline:
      return "roofline of the datasheet";
    case PriceOrigin::given:
      return "given";
  }
  return "";
}

double update_bytes_per_parameter(Optimizer optimizer, Precision precision) {
  // fp32 words: weight and gradient read, weight written; one more read and write for each slot. Mixed precision reads a
  // 2-byte gradient and also writes the 2-byte weight.
  const double words = 3.0 + 2.0 * optimizer_slots(optimizer);
  return is_mixed(precision) ? 4.0 * (words - 1.0) + 2.0 + 2.0 : 4.0 * words;
}

Seconds KernelPrices::roofline(const Work& work, double samples, double tile) const {
  const double bytes = (work.activation_items * samples + work.weight_items) * item_bytes_;
  double arithmetic = 0;
  if (work.m > 0) {
    // Rounding concerns the output's sides; the summed side is walked through in small steps.
    const double m = work.batched == Work::Batched::m ? work.m * samples : work.m;
    const double n = work.batched == Work::Batched::n ? work.n * samples : work.n;
    const double padding = (rounded_up(m, tile) / m) * (rounded_up(n, tile) / n);
    arithmetic = work.flops * samples * padding / flop_rate_;
  } else {
    arithmetic = work.flops * samples / vector_flop_rate_;
  }
  return Seconds(std::max(arithmetic, bytes / bandwidth_));
}

KernelPrices::KernelPrices(std::vector<LayerTimes> times) : serial_(std::move(times)) { origin_ = PriceOrigin::given; }

KernelPrices::KernelPrices(const ModelFacts& facts, const Device& device, const Coefficients& coefficients,
                           Precision precision, Optimizer optimizer, std::optional<double> scale)
    : bandwidth_(device.memory_bandwidth.value() * device.attainable_bandwidth),
      item_bytes_(ddl::item_bytes(precision)),
      tile_(device.tile),
      update_bytes_per_parameter_(ddl::update_bytes_per_parameter(optimizer, precision)),
      filter_undivided_(coefficients.filter_undivided),
      channel_undivided_(coefficients.channel_undivided) {
  FlopRate any(1.0);
  for (const std::optional<FlopRate>& peak : device.peak) any = max(any, peak.value_or(FlopRate{}));
  const FlopRate vector = device.peak_at(Precision::fp32).value_or(any);
  flop_rate_ = device.peak_at(precision).value_or(vector).value() * device.attainable_peak;
  vector_flop_rate_ = vector.value() * device.attainable_peak;

  const Model& model = *facts.model;
  const MeasuredModel* measured = find_measured(coefficients, model.name, precision);
  reference_batch_ = measured != nullptr ? measured->batch : default_reference_batch;

  const auto spread = [&](double tile, double batch, double update_bytes, std::vector<LayerTimes>& times) {
    times.resize(model.layers.size());
    Seconds total{};
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& layer = model.layers[i];
      const auto time = [&](Pass pass) {
        return roofline(layer.operation->work(pass, layer.input_shapes, layer.output_shape), batch, tile);
      };
      LayerTimes& at = times[i];
      at.forward = time(Pass::forward) / batch;
      at.backward = time(Pass::backward_weight) / batch;
      if (facts.needs_input_gradient[i]) at.backward += time(Pass::backward_data) / batch;
      at.update = Seconds(static_cast<double>(layer.parameters()) * update_bytes / bandwidth_);
      total += (at.forward + at.backward) * batch + at.update;
    }
    return total;
  };
  // A measured total holds the update of the run it comes from: stochastic gradient descent with momentum.
  const Seconds total =
      spread(tile_, reference_batch_, ddl::update_bytes_per_parameter(Optimizer::momentum, precision), serial_);
  if (measured != nullptr && total.value() > 0) {
    scale_ = measured->per_sample.value() * measured->batch / total.value();
    origin_ = PriceOrigin::measured_total;
  } else if (scale) {
    scale_ = *scale;
    origin_ = PriceOrigin::device_scale;
  }
  spread(tile_, reference_batch_, update_bytes_per_parameter_, serial_);
  for (LayerTimes& layer : serial_) {
    layer.forward *= scale_;
    layer.backward *= scale_;
    layer.update *= scale_;
  }
}

PriceSource KernelPrices::source() const {
  switch (origin_) {
    case PriceOrigin::given:
      return PriceSource::measured;
    case PriceOrigin::measured_total:
      return PriceSource::interpolated;
    case PriceOrigin::device_scale:
      return PriceSource::curve;
    case PriceOrigin::roofline:
      return PriceSource::roofline;
  }
  return PriceSource::roofline;
}

Seconds KernelPrices::kernel_time(const Work& work, double samples) const { return roofline(work, samples, tile_) * scale_; }

Seconds KernelPrices::update_time(double parameters) const {
  return Seconds(parameters * update_bytes_per_parameter_ / bandwidth_ * scale_);
}

std::optional<double> measured_scale(const ModelFacts& facts, const Device& device, const Coefficients& coefficients,
                                     Precision precision) {
  if (find_measured(coefficients, facts.model->name, precision) == nullptr) return std::nullopt;
  return KernelPrices(facts, device, coefficients, precision, Optimizer::sgd, std::nullopt).scale();
}

}  // namespace ddl
