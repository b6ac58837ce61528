#include "estimator/kernels/kernel_time.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "estimator/inputs/fusing.hpp"
#include "estimator/kernels/framework_kernels.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "estimator/kernels/shard_times.hpp"
#include "model_zoo/network/update_list.hpp"

namespace ddl {
namespace {

constexpr double default_reference_batch = 32;

const MeasuredModel* find_measured(const Coefficients& coefficients, std::string_view model, Precision precision) {
  for (const MeasuredModel& measured : coefficients.models) {
    if (measured.model == model && measured.precision == precision) return &measured;
  }
  return nullptr;
}

/// Returns the rows of the largest embedding table, which are the words of a language model.
double vocabulary_of(const ModelFacts& facts) {
  std::int64_t words = 0;
  for (std::size_t i = 0; i < facts.tensor_role.size(); ++i)
    if (facts.tensor_role[i] == TensorSplitRole::lookup) words = std::max(words, facts.tensor_units[i]);
  return static_cast<double>(words);
}

}  // namespace

double update_bytes_per_parameter(Optimizer optimizer, Precision precision, UpdateImplementation implementation) {
  // The number of fp32 words that the update moves per parameter. In mixed precision, the update
  // reads a 2-byte gradient and also writes the 2-byte weight.
  const double words = update_words(optimizer, implementation);
  return is_mixed(precision) ? 4.0 * (words - 1.0) + 2.0 + 2.0 : 4.0 * words;
}

KernelTimes::KernelTimes(std::vector<LayerTimes> times) : serial_(std::move(times)) { origin_ = KernelBasis::given; }

KernelTimes::KernelTimes(const ModelFacts& facts, const Device& device, const Coefficients& coefficients,
                         Precision precision, Optimizer optimizer, std::optional<KernelScale> scale,
                         const MeasuredKernels* measured_kernels, const Assumptions& assumptions)
    : roofline_(device, update_precision(precision)),
      model_(device, update_precision(precision), assumptions, Conditions::training, facts.widens_logits,
             vocabulary_of(facts)),
      persistent_(persistent_kernels(device, precision)),
      precision_(precision),
      update_precision_(update_precision(precision)),
      optimizer_(optimizer),
      update_bytes_per_parameter_(ddl::update_bytes_per_parameter(optimizer, precision, assumptions.update) +
                                  (is_mixed(precision) ? assumptions.extra_update_bytes : 0)),
      filter_undivided_(coefficients.filter_undivided),
      channel_undivided_(coefficients.channel_undivided) {
  const Model& model = *facts.model;
  const bool fuses = fuses_elementwise(assumptions.fusing, is_mixed(precision));
  if (fuses) fusion_ = facts.fusion;
  separates_sums_ = fuses && separates_sums(assumptions.compiled_sums, device);
  if (separates_sums_) {
    for (std::size_t i = 0; i < fusion_.size(); ++i)
      if (model.layers[i].operation->type() == "norm") fusion_[i] = Fusion{};
  }
  if (assumptions.fusing == Fusing::residuals) {
    fuses_residuals_ = true;
    fusion_ = facts.fusion;
    for (std::size_t i = 0; i < fusion_.size(); ++i) {
      const Layer& layer = model.layers[i];
      const int before = fusion_[i].input < 0 ? -1 : layer.inputs[static_cast<std::size_t>(fusion_[i].input)];
      const bool joined = before >= 0 && layer.operation->type() == "add" && fusion_[i].unwritten &&
                          model.layers[static_cast<std::size_t>(before)].operation->type() == "dropout";
      if (!joined) fusion_[i] = Fusion{};
    }
  }
  has_separate_operators_ = !fuses && assumptions.composites != CompositeKernels::fused;
  composes_layers_ = !fuses && assumptions.composites == CompositeKernels::all_operators;
  if (!fuses) {
    convolution_biases_ = assumptions.convolution_biases;
    linear_biases_ = assumptions.linear_biases;
  }
  if (assumptions.expert_biases != ExpertBiases::fused) weighted_ = facts.weighs_bias;
  weighs_in_fp32_ = assumptions.expert_biases == ExpertBiases::fp32_operators && is_mixed(precision);
  const bool casting = is_mixed(precision) && assumptions.mixed_precision == MixedPrecision::autocast;
  if (casting) {
    wide_roofline_ = Roofline(device, Precision::fp32);
    wide_model_ = KernelModel(device, Precision::fp32, assumptions, Conditions::training);
    update_precision_ = Precision::fp32;
    wide_ = facts.autocast.is_wide;
  }
  wide_softmax_ = has_separate_operators_ && is_mixed(precision) && (casting || assumptions.wide_softmax);
  wide_adapters_ = is_mixed(precision) && assumptions.adapters != AdapterPrecision::half;
  autocast_adapters_ = casting || assumptions.adapters == AdapterPrecision::autocast;
  if (wide_adapters_ && !autocast_adapters_)
    wide_model_ = KernelModel(device, Precision::fp32, assumptions, Conditions::training);
  if (precision == Precision::fp32 && model_.has_formulas() && splits_full_precision(assumptions.attention, device))
    attention_model_ = KernelModel(device, Precision::tf32, assumptions, Conditions::training);
  if (is_narrow(precision)) quantized_ = facts.is_linear;
  if (is_narrow(precision)) narrow_model_ = KernelModel(device, precision, assumptions, Conditions::training);
  if (is_of_list(assumptions.update) && model.trained_parameters() > 0) {
    list_ = update_of_all(model, optimizer, update_precision_, assumptions.update);
  }
  const MeasuredModel* measured = find_measured(coefficients, model.name, precision);
  reference_batch_ = measured != nullptr ? measured->batch : default_reference_batch;

  // A measured total includes the update of the measured run: stochastic gradient descent with momentum.
  const double measured_update_bytes = ddl::update_bytes_per_parameter(Optimizer::momentum, precision);
  Seconds total{}, fitted{};  // `fitted`: the part that is predicted by formulas fitted to this device's kernels
  serial_.resize(model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const bool wide = casting && facts.autocast.is_wide[i];
    const Precision of_layer = wide ? Precision::fp32 : kernel_precision(facts, i, precision);
    const auto time = [&](Pass pass) {
      Seconds sum{};
      for (const Work& work : works(i, *layer.operation, pass, layer.input_shapes, layer.output_shape)) {
        const KernelModel& kernels = model_of(work, of_layer);
        const Seconds one = kernels.seconds(work, pass, reference_batch_);
        sum += one;
        if (kernels.source(work.kernel_kind(), pass) == Provenance::curve) fitted += one;
      }
      if (model_.has_formulas())
        sum += time_between_steps(*layer.operation, pass, layer.input_shapes, layer.output_shape, reference_batch_,
                                  persistent_);
      return sum;
    };
    LayerTimes& at = serial_[i];
    at.forward = time(Pass::forward) / reference_batch_;
    at.backward = facts.frozen[i] ? Seconds{} : time(Pass::backward_weight) / reference_batch_;
    if (facts.needs_input_gradient[i]) at.backward += time(Pass::backward_data) / reference_batch_;
    const auto trained = static_cast<double>(layer.trained());
    at.update = model_.traffic_time(trained * update_bytes_per_parameter_);
    total += (at.forward + at.backward) * reference_batch_ + model_.traffic_time(trained * measured_update_bytes);
  }
  if (measured != nullptr && total.value() > 0 && assumptions.power_limit) {
    // The total was measured at the device's own power limit.
    Assumptions unlimited = assumptions;
    unlimited.power_limit.reset();
    scale_ = KernelTimes(facts, device, coefficients, precision, optimizer, scale, nullptr, unlimited).scale();
    origin_ = KernelBasis::measured_total;
  } else if (measured != nullptr && total.value() > 0) {
    scale_ = measured->per_sample.value() * measured->batch / total.value();
    origin_ = KernelBasis::measured_total;
  } else if (scale) {
    scale_ = scale->factor;
    scale_spread_ = scale->spread;
    origin_ = KernelBasis::device_scale;
  } else if (model_.has_formulas()) {
    origin_ = fitted >= total * 0.5 ? KernelBasis::fitted : KernelBasis::transferred;
  }
  for (LayerTimes& layer : serial_) {
    layer.forward *= scale_;
    layer.backward *= scale_;
    layer.update *= scale_;
  }
  if (measured_kernels != nullptr) measure_layers(facts, *measured_kernels, assumptions);
}

void KernelTimes::measure_layers(const ModelFacts& facts, const MeasuredKernels& measured, const Assumptions& assumptions) {
  auto times = std::make_shared<const ShardTimes>(measured, roofline_, precision_, wide_roofline_, model_);
  if (times->problems().empty()) return;
  origin_ = KernelBasis::profile;
  measured_ = std::move(times);

  const std::size_t layers = facts.model->layers.size();
  // Finds the largest batch for which each of the model's kernels was measured.
  std::set<std::int64_t> batches;
  for (const MeasuredKernel& each : measured.kernels) batches.insert(each.problem.samples);
  const auto is_measured = [](const std::vector<TimedKernel>& kernels) {
    return std::all_of(kernels.begin(), kernels.end(),
                       [](const TimedKernel& kernel) { return !kernel.work || kernel.source == Provenance::measured; });
  };
  for (const std::int64_t batch : batches) {
    const auto size = static_cast<double>(batch);
    WholeLayers whole(facts, size, precision_, optimizer_, assumptions);
    std::size_t known = 0;
    while (known < layers && is_measured(measured_->kernels(whole.at(known), whole.shard()))) ++known;
    if (known == layers) reference_batch_ = size;
  }
  WholeLayers whole(facts, reference_batch_, precision_, optimizer_, assumptions);
  for (std::size_t i = 0; i < layers; ++i) {
    LayerTimes& at = serial_[i];
    at = {};
    for (const TimedKernel& kernel : measured_->kernels(whole.at(i), whole.shard()))
      (kernel.phase == Phase::forward ? at.forward : at.backward) += kernel.time / reference_batch_;
    at.update = update_cost(static_cast<double>(facts.model->layers[i].trained())).time;
  }
}

Provenance KernelTimes::source(const Work& work, Pass pass, Precision precision) const {
  if (origin_ != KernelBasis::fitted && origin_ != KernelBasis::transferred) return source();
  return model_of(work, precision).source(work.kernel_kind(), pass);
}

const KernelModel& KernelTimes::model_of(const Work& work, Precision of_layer) const {
  const Precision precision = precision_of(work, of_layer);
  if (attention_model_ && precision == Precision::fp32 && work.kernel_kind() == KernelKind::fused_attention)
    return *attention_model_;
  if (wide_model_ && precision == Precision::fp32) return *wide_model_;
  return narrow_model_ && is_narrow(precision) ? *narrow_model_ : model_;
}

Provenance KernelTimes::source() const {
  switch (origin_) {
    case KernelBasis::profile:
    case KernelBasis::given:
      return Provenance::measured;
    case KernelBasis::measured_total:
      return Provenance::interpolated;
    case KernelBasis::device_scale:
    case KernelBasis::fitted:
      return Provenance::curve;
    case KernelBasis::transferred:
    case KernelBasis::roofline:
      return Provenance::roofline;
  }
  return Provenance::roofline;
}

Seconds KernelTimes::kernel_time(const Work& work, Pass pass, double samples, Precision precision) const {
  return model_of(work, precision).seconds(work, pass, samples) * scale_;
}

std::vector<Work> KernelTimes::works(std::size_t layer, const Operation& operation, Pass pass,
                                     std::span<const TensorShape> inputs, const TensorShape& output) const {
  std::vector<Work> works = operation.kernels(pass, inputs, output);
  std::erase_if(works, [&](const Work& work) {
    if (work.bias != Work::Bias::none) return !has_bias_kernel(work, pass, convolution_biases_, linear_biases_);
    return work.is_separate && !has_separate_operators_;
  });
  if (has_separate_operators_) works = with_operators(std::move(works), operation, pass, is_half(layer));
  if (!has_separate_operators_ && operation.type() == "interaction") {
    const auto vectors = static_cast<double>(inputs.size()) * static_cast<double>(inputs.front().items());
    for (Work& work : works) work = fused_interaction(work, pass, vectors, static_cast<double>(output.items()));
  }
  if (composes_layers_)
    works =
        with_composed_layers(std::move(works), operation, pass, static_cast<double>(output.items()), is_mixed(precision_));
  if (separates_sums_) works = with_separate_sums(std::move(works), operation, pass, static_cast<double>(output.items()));
  if (wide_softmax_) works = with_wide_softmax(std::move(works), pass, !wide_.empty());
  if (!fusion_.empty() && !fuses_residuals_) fuse_scaling_of_adapters(operation, works);
  if (wide_adapters_)
    works = with_wide_adapters(std::move(works), operation, pass, static_cast<double>(inputs.front().items()),
                               autocast_adapters_);
  const bool quantizes = !quantized_.empty() && quantized_[layer] && pass != Pass::backward_weight;
  const double quantized = quantizes ? static_cast<double>((pass == Pass::forward ? inputs.front() : output).items()) : 0;
  if (quantizes && precision_ != Precision::nvfp4) {
    // One kernel reads a tensor that products read, and writes two copies with at most 8 bits per element, along rows and
    // along columns [Transformer Engine, transformer_engine/common/transpose/cast_transpose.cu]. A copy with 8 bits counts
    // as an item.
    const double copy = narrow_bits(precision_) / 8.0;
    works.push_back({.activation_items = quantized * (1 + 2 * copy), .kind = KernelKind::elementwise});
  } else if (quantizes) {
    // With NVFP4, two kernels quantize each tensor that products read, both along rows and, with a Hadamard transform, along
    // columns. The first kernel reads the tensor to find its largest element. The second reads the tensor, and writes two
    // copies with 4 bits per element and 8 bits per 16 elements [NVIDIA, "Pretraining large language models with NVFP4",
    // arXiv 2509.25149, sections 4.2 and 4.3; Transformer Engine, transformer_engine/common/hadamard_transform]. Weights are
    // converted once for all micro-batches.
    constexpr double item = 2, narrow = (4.0 + 8.0 / 16) / 8;
    works.push_back({.activation_items = quantized, .kind = KernelKind::elementwise});
    works.push_back({.activation_items = quantized * (1 + 2 * narrow / item), .kind = KernelKind::elementwise});
  }
  if (!weighted_.empty() && weighted_[layer]) {
    // A frozen bias of a layer with adapters has no gradient.
    const bool has_gradient = operation.frozen(inputs, output) == 0;
    const double moved = pass == Pass::backward_weight && !has_gradient ? 0 : weighted_bias_items(pass, weighs_in_fp32_);
    if (moved > 0) {
      Work bias_kernel{.activation_items = moved * static_cast<double>(output.items()), .kind = KernelKind::elementwise};
      bias_kernel.is_separate = true;
      works.push_back(bias_kernel);
    }
  }
  if (fusion_.empty() || fusion_[layer].input < 0 || (fuses_residuals_ && pass != Pass::forward)) return works;
  const Fusion& fusion = fusion_[layer];
  // Forward reads the input, which the producer of the input has written. Backward writes the
  // gradient of the input, which the producer's backward reads.
  const double moves = pass == Pass::forward         ? (fusion.unwritten ? 2 : 1)
                       : pass == Pass::backward_data ? (fusion.unwritten ? 2 : 0)
                                                     : 0;
  double saved = moves * static_cast<double>(inputs[static_cast<std::size_t>(fusion.input)].items());
  for (Work& work : works) {
    const double less = std::min(saved, work.activation_items);
    work.activation_items -= less;
    saved -= less;
  }
  std::erase_if(works, [](const Work& work) { return work.activation_items <= 0 && work.weight_items <= 0; });
  return works;
}

Seconds KernelTimes::pass_time(std::size_t layer, const Operation& operation, Pass pass, std::span<const TensorShape> inputs,
                               const TensorShape& output, double samples, Precision precision) const {
  Seconds sum{};
  if (model_.has_formulas()) sum = time_between_steps(operation, pass, inputs, output, samples, persistent_);
  for (const Work& work : works(layer, operation, pass, inputs, output))
    sum += model_of(work, precision).seconds(work, pass, samples);
  return sum * scale_;
}

Seconds KernelTimes::least_pass_time(std::size_t layer, const Operation& operation, Pass pass,
                                     std::span<const TensorShape> inputs, const TensorShape& output, double samples,
                                     Precision precision) const {
  Seconds sum{};
  if (model_.has_formulas()) sum = time_between_steps(operation, pass, inputs, output, samples, persistent_);
  for (const Work& work : works(layer, operation, pass, inputs, output))
    sum += model_of(work, precision).least(work, pass, samples);
  return sum * scale_;
}

KernelCost KernelTimes::update_cost(double parameters) const {
  // The measured update ran the optimizer timed_as(optimizer).
  const auto more = [this](UpdateImplementation implementation) {
    return update_words(optimizer_, implementation) / update_words(timed_as(optimizer_), implementation);
  };
  if (measured_ && list_) {
    KernelCost cost = measured_->update(*list_);
    cost.time *= parameters / static_cast<double>(list_->parameters) * more(list_->implementation);
    return cost;
  }
  if (measured_) {
    KernelCost cost = measured_->update(parameters, optimizer_, update_precision_);
    cost.time *= more(UpdateImplementation::layer);
    return cost;
  }
  return {model_.traffic_time(parameters * update_bytes_per_parameter_) * scale_, source()};
}

std::optional<double> measured_scale(const ModelFacts& facts, const Device& device, const Coefficients& coefficients,
                                     Precision precision) {
  if (find_measured(coefficients, facts.model->name, precision) == nullptr) return std::nullopt;
  return KernelTimes(facts, device, coefficients, precision, Optimizer::sgd, std::nullopt).scale();
}

}  // namespace ddl
