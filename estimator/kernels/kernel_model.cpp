#include "estimator/kernels/kernel_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "estimator/kernels/alignment.hpp"
#include "estimator/kernels/clock.hpp"
#include "estimator/kernels/datasheet_bound.hpp"
#include "estimator/kernels/forms/forms.hpp"
#include "estimator/kernels/framework_kernels.hpp"

namespace ddl {
namespace {

/// The number of measured neighbors whose residuals correct a formula.
constexpr std::size_t similar_kernels = 8;
/// Distances in doublings of a coordinate. Neighbors nearer than `level` have equal weights. A
/// kernel is outside the measured range if its nearest neighbor is farther than `outside`. Beyond
/// `fading`, the correction by residuals fades out.
constexpr double level = 0.1, outside = 1.5, fading = 4;
/// A kernel that converts between memory formats moves one element in the time in which an elementwise kernel moves this
/// many. The conversion is slower because its threads exchange elements through shared memory.
constexpr double transposition_items = 1.5;
/// Bytes per element of weights, gradients and optimizer state in an update.
constexpr double update_item_bytes = 4;
/// The index of the bandwidth share among the constants of a memory-bound kernel.
constexpr std::size_t traffic_bandwidth = 1;

/// Zero-pads the input channels of a convolution to whole loads of matrix units. A strided window, as in the first layer of
/// an image network, needs less padding [NVIDIA, Convolutional Layers User's Guide]. Measurements on the device itself
/// already include the padding.
Work with_filled_loads(Work work, Pass pass, double item_bytes) {
  if (work.group_inputs <= 0) return work;
  constexpr double load_bytes = 16, load_of_strides = 4;
  const bool strides = work.is_strided && pass != Pass::backward_data;
  const double load = std::min(load_bytes / item_bytes, strides ? load_of_strides : load_bytes);
  const double filled = std::ceil(work.group_inputs / load - 1e-9) * load / work.group_inputs;
  work.flops *= filled;
  (pass == Pass::forward ? work.k : work.n) *= filled;
  return work;
}

/// Returns whether a kernel of this type is memory-bound.
bool is_traffic(KernelKind kind) { return form_of(kind).name == form_of(KernelKind::elementwise).name; }

/// Returns the bytes per element in a kernel. Without matrix units, libraries store elements of a
/// half-precision product or convolution in half precision but compute in single precision [NVIDIA,
/// cuDNN, cudnnConvolutionForward, PSEUDO_HALF_CONFIG]. This takes about as long as single
/// precision: 0.9 times as long on P100, the median of 201 convolutions [DeepBench].
double worked_bytes(const Work& work, const DevicePeaks& peaks, double item_bytes) {
  return peaks.has_matrix_units || is_traffic(work.kernel_kind()) ? item_bytes : ddl::item_bytes(Precision::fp32);
}

/// Returns whether batch norms have half-precision weights and run in the framework's own kernels,
/// which move as many elements per second as in fp32. Autocast keeps these weights in fp32.
bool has_own_norms(const Assumptions& assumptions, Precision precision) {
  return is_mixed(precision) && assumptions.mixed_precision != MixedPrecision::autocast && assumptions.own_half_norms;
}

/// Returns a kernel that moves the same bytes and computes nothing. If the device has data for elementwise kernels, their
/// time is a lower bound for kernels that are known only from other devices.
KernelShape as_elementwise(const KernelShape& shape) {
  return {.kind = KernelKind::elementwise, .bytes = shape.bytes, .items = shape.items};
}

/// Returns whether products and convolutions in this precision run on matrix units. NVIDIA's
/// devices have matrix units from compute capability 7.0 on [NVIDIA, CUDA C++ Programming Guide,
/// compute capabilities]. Devices without a stated capability are assumed to have matrix units.
bool runs_on_matrix_units(const Device& device, Precision precision) {
  constexpr double first_with_matrix_units = 7.0;
  return precision != Precision::fp32 &&
         device.compute_capability.value_or(first_with_matrix_units) >= first_with_matrix_units;
}

/// Returns how different a family of measured kernels is from the requested type, pass and precision; empty if the family
/// cannot be used. Families of other devices were measured on devices with matrix units.
std::optional<int> distance(const KernelFamily& family, KernelKind kind, Pass pass, Precision precision,
                            Conditions conditions, bool is_own, const Device& device) {
  if (family.kind != kind) return std::nullopt;
  const bool is_moved = is_traffic(kind);
  const bool is_product = form_of(kind).name != form_of(KernelKind::fused_attention).name && !is_moved;
  const bool is_long = conditions != Conditions::alone;
  int far = (family.conditions == Conditions::repeated) == is_long ? 0 : 1;
  // Matrix units differ from the rest of the device. For memory-bound kernels only the size of an element matters.
  const bool family_units = is_own ? runs_on_matrix_units(device, family.precision) : family.precision != Precision::fp32;
  const bool same_units = is_moved || family_units == runs_on_matrix_units(device, precision);
  if (family.precision != precision || !same_units) {
    const bool same_items = item_bytes(family.precision) == item_bytes(precision);
    if (!same_units && is_own) return std::nullopt;
    // The attainable peak in half precision predicts better than measured products in narrower formats.
    const bool is_reached = !is_narrow(precision) && device.attainable_peak < 1;
    if (is_own && is_product && is_narrow(family.precision) && is_reached) return std::nullopt;
    if (is_moved) {
      far += same_items ? 10 : 12;
    } else {
      // Matrix units of low-precision formats are more similar to each other than to units of other formats.
      const bool both_narrow = is_narrow(family.precision) && is_narrow(precision);
      far += both_narrow ? 5 : same_units ? 10 : 50;
    }
  }
  if (family.pass && *family.pass != pass) {
    if (!is_product && is_own) return std::nullopt;
    far += is_product ? 2 : 30;
  } else if (!family.pass) {
    far += 1;
  }
  return far;
}

/// Returns a lower limit for residuals. The few residuals below this limit are not reliable, so no kernel is predicted to be
/// faster than its formula by more than the limit. Lower bounds of plans also use the limit.
double least_log_ratio(const std::vector<KernelResidual>& residuals) {
  constexpr double unbelieved = 0.02;
  std::vector<float> ratios{0};
  for (const KernelResidual& each : residuals) ratios.push_back(each.log_ratio);
  const auto place = static_cast<std::ptrdiff_t>(unbelieved * static_cast<double>(ratios.size() - 1));
  std::nth_element(ratios.begin(), ratios.begin() + place, ratios.end());
  return std::min(0.0F, ratios[static_cast<std::size_t>(place)]);
}

struct Correction {
  double factor = 1;
  bool is_inside = false;
};

/// Returns the correction of the formula for a kernel at this position, from the nearest measured kernels.
Correction correction_at(const KernelPlace& place, const std::vector<KernelResidual>& residuals) {
  struct Neighbour {
    float square = std::numeric_limits<float>::max(), log_ratio = 0;
  };
  std::array<Neighbour, similar_kernels> nearest{};
  for (const KernelResidual& each : residuals) {
    float square = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const float apart = each.place[i] - place[i];
      square += apart * apart;
    }
    if (square >= nearest.back().square) continue;
    std::size_t at = nearest.size() - 1;
    for (; at > 0 && nearest[at - 1].square > square; --at) nearest[at] = nearest[at - 1];
    nearest[at] = {square, each.log_ratio};
  }
  double sum = 0, weights = 0;
  for (const Neighbour& each : nearest) {
    if (each.square == std::numeric_limits<float>::max()) continue;
    const double apart = std::sqrt(static_cast<double>(each.square)) + level;
    const double weight = 1 / (apart * apart);
    sum += weight * static_cast<double>(each.log_ratio);
    weights += weight;
  }
  const double apart = std::sqrt(static_cast<double>(nearest.front().square));
  const double fade = 1 / (1 + std::pow(apart / fading, 2));
  return {std::exp(fade * sum / weights), apart < outside};
}

}  // namespace

KernelPlace place_of(const KernelShape& shape) {
  const auto size = [](double value) { return static_cast<float>(std::log2(std::max(value, 1.0))); };
  return {size(shape.m), size(shape.n), size(shape.k), size(shape.count), size(shape.bytes)};
}

std::size_t KernelModel::Hash::operator()(const Key& key) const {
  std::uint64_t hash = 14695981039346656037ULL ^ key.family;
  for (const double number : {key.flops, key.bytes, key.m, key.n, key.k, key.count, key.items, key.experts,
                              key.group_channels, key.square3_rows, key.square3_columns}) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(number)) * 1099511628211ULL;
    hash ^= hash >> 32U;
  }
  return static_cast<std::size_t>(hash);
}

namespace {

/// Returns the number of fp32 multiply-adds that a multiprocessor starts per clock cycle [NVIDIA,
/// CUDA C++ Programming Guide, throughput of native arithmetic instructions].
double lanes(const Device& device) {
  const double capability = device.compute_capability.value_or(0);
  const bool is_half = capability == 6.0 || (capability >= 7.0 && capability < 8.6);
  const bool is_wide = capability >= 3.0 && capability < 4.0;
  return is_half ? 64 : is_wide ? 192 : 128;
}

}  // namespace

DevicePeaks device_peaks(const Device& device, Precision precision) {
  FlopRate any(1.0);
  for (const std::optional<FlopRate>& peak : device.peak) any = max(any, peak.value_or(FlopRate{}));
  const FlopRate vector = device.peak_at(Precision::fp32).value_or(any);
  const bool has_matrix_units = runs_on_matrix_units(device, precision);
  const FlopRate own = device.peak_at(precision).value_or(vector);
  // TPUs and accelerators multiply in matrix units in every precision, and feed these units from memories of their own
  // [Jouppi et al., "In-datacenter performance analysis of a tensor processing unit", ISCA 2017; Liao et al., "Ascend", HPCA
  // 2021]. No Winograd convolutions are known for these devices.
  const bool is_of_matrix_units = device.is_tpu || device.is_accelerator;
  // The vector rate of a device without known multiprocessors gives no clock.
  const bool has_lanes = device.compute_capability || device.multiprocessors;
  return {.flop_rate = (has_matrix_units ? own : min(own, vector)).value(),
          .vector_flop_rate = vector.value(),
          .bandwidth = device.memory_bandwidth.value(),
          .multiprocessors = static_cast<double>(device.multiprocessors.value_or(0)),
          .cycle_rate = has_lanes ? vector.value() / (2 * lanes(device)) : DevicePeaks{}.cycle_rate,
          .has_matrix_units = has_matrix_units,
          .has_fast_convolutions = !has_matrix_units && !is_of_matrix_units};
}

KernelModel::KernelModel(const Device& device, Precision precision, const Assumptions& assumptions, Conditions conditions,
                         bool widens_logits, double vocabulary)
    : own_(device.kernels),
      transferred_(device.other_kernels),
      roofline_(device, precision),
      peaks_(device_peaks(device, precision)),
      item_bytes_(ddl::item_bytes(precision)),
      norm_sums_(device.compute_capability ? assumptions.norm_sums : NormSums::device),
      accumulates_(sums_in_full(assumptions.mixed_precision) && is_mixed(precision)),
      copies_(assumptions.memory_format == MemoryFormat::channels_first && peaks_.has_matrix_units),
      copies_volumes_(assumptions.copies_volumes && !is_mixed(precision) && !device.is_processor) {
  if (assumptions.padded_products == PaddedProducts::vocabulary) padded_length_ = vocabulary;
  if (assumptions.padded_products != PaddedProducts::weights)
    least_per_unaligned_flop_ = seconds_per_unaligned_flop(device, peaks_);
  if (conditions == Conditions::training && peaks_.has_matrix_units && device.attainable_peak < 1)
    least_per_flop_ = 1 / (peaks_.flop_rate * device.attainable_peak);
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
    const auto kernels = assumptions.reads_mask ? kernels_with_mask(assumptions.attention, device) : assumptions.attention;
    attention_factor_[pass] = attention_factor(kernels, device, pass, precision);
    entropy_bytes_[pass] = entropy_bytes(assumptions.cross_entropy, pass, is_mixed(precision), widens_logits);
  }
  const bool is_limited = assumptions.power_limit && device.power > 0 && conditions == Conditions::training;
  const auto under_limit = [&](KernelKind kind, double clock) {
    const PowerShares shares;
    if (!is_limited) return 1.0;
    const KernelPower kernel{.drawn = is_traffic(kind) ? shares.memory : shares.products, .clock = clock};
    return slower_under(*assumptions.power_limit / device.power, kernel, clock_of_least_voltage(device, peaks_.cycle_rate));
  };
  for (const KernelKind kind : enum_values<KernelKind>) {
    for (const Pass pass : enum_values<Pass>) {
      Family& best = families_[kind][pass];
      int nearest = std::numeric_limits<int>::max();
      for (const bool is_own : {true, false}) {
        const auto& kernels = is_own ? own_ : transferred_;
        if (!kernels || best.family != nullptr) continue;
        for (const KernelFamily& family : kernels->families) {
          const auto far = distance(family, kind, pass, precision, conditions, is_own, device);
          if (!far || *far >= nearest) continue;
          nearest = *far;
          const bool is_same_format =
              is_traffic(kind) || !is_narrow(precision) || precision == Precision::fp8 || family.precision == precision;
          best = {&family, is_own, is_own && is_same_format, family.constants};
        }
      }
      best.under_limit = under_limit(kind, 1);
      if (best.family == nullptr) continue;
      const std::span<const KernelConstant> all = form_of(kind).constants;
      for (std::size_t i = best.constants.size(); i < all.size(); ++i) best.constants.push_back(all[i].usual);
      // For large kernels, the rate in the datasheet is a better estimate than the rate of other devices.
      const bool is_product = kind == KernelKind::matrix_product || kind == KernelKind::grouped_product ||
                              kind == KernelKind::convolution || kind == KernelKind::grouped_convolution;
      if (is_product && !best.is_own && device.attainable_peak < 1) best.constants[1] = device.attainable_peak;
      if (best.family->conditions == Conditions::repeated) {
        best.under_limit = under_limit(kind, limit_clock(best.constants, kind, device, precision, conditions));
      } else if (conditions == Conditions::training && (is_product || kind == KernelKind::packed_convolution) &&
                 peaks_.has_matrix_units) {
        const double clock = sustained_part(device, kind, precision, best.constants[1]);
        best.constants[1] *= clock;
        best.under_limit = under_limit(kind, clock);
        best.is_from_alone = best.is_own && is_product;
      }
      if (kind == KernelKind::batch_norm && has_own_norms(assumptions, precision))
        best.constants[traffic_bandwidth] *= item_bytes_ / ddl::item_bytes(Precision::fp32);
      best.least_ratio = best.is_own ? std::exp(least_log_ratio(best.family->residuals)) : 1;
    }
  }
}

const KernelModel::Family& KernelModel::family_of(KernelKind kind, Pass pass) const { return families_[kind][pass]; }

KernelShape KernelModel::half_sum(KernelShape shape) const {
  // Each half reads half of the inputs, and both write all results.
  const double results = std::min(shape.bytes, shape.m * shape.n * shape.count * item_bytes_);
  shape.k /= 2;
  shape.flops /= 2;
  const double bytes = results + (shape.bytes - results) / 2;
  shape.items *= shape.bytes > 0 ? bytes / shape.bytes : 1;
  shape.bytes = bytes;
  return shape;
}

const KernelModel::Known& KernelModel::known(const Family& family, const KernelShape& shape) const {
  const Key key{static_cast<std::size_t>(&family - families_.begin()->data()),
                shape.flops,
                shape.bytes,
                shape.m,
                shape.n,
                shape.k,
                shape.count,
                shape.items,
                shape.experts,
                shape.group_channels,
                shape.square3_rows,
                shape.square3_columns};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  Known known{.seconds = form_of(shape.kind).time(shape, peaks_, family.constants)};
  const std::vector<KernelResidual>& residuals = family.family->residuals;
  if (family.is_own && !residuals.empty()) {
    const Correction correction = correction_at(place_of(shape), residuals);
    known = {known.seconds * std::max(correction.factor, family.least_ratio), correction.is_inside};
    known.is_near =
        least_per_unaligned_flop_ > 0 && correction.is_inside && has_measured_lengths(shape, residuals, item_bytes_);
    // Kernels of another pass have other layouts. Without matrix units, slow kernels of one layout for long sums do not slow
    // down another layout: libraries divide long sums into parts.
    constexpr double least_sum = 2048;
    const auto pass = static_cast<Pass>(key.family % enum_count<Pass>());
    const bool is_of_pass = family.family->pass.value_or(pass) == pass;
    if (!is_of_pass && !peaks_.has_matrix_units && shape.kind == KernelKind::matrix_product && shape.k >= least_sum)
      known.seconds = std::min(known.seconds, 2 * this->known(family, half_sum(shape)).seconds);
  } else {
    known.is_inside = family.is_own;
    const Family& moving = family_of(KernelKind::elementwise, static_cast<Pass>(key.family % enum_count<Pass>()));
    if (!family.is_own && moving.is_own && is_traffic(shape.kind))
      known.seconds = std::max(known.seconds, this->known(moving, as_elementwise(shape)).seconds);
  }
  return known_.emplace(key, known).first->second;
}

double KernelModel::seconds_at_one_clock(const Family& family, const Known& whole, const Work& work, Pass pass,
                                         double samples) const {
  // Parts of fewer samples may leave multiprocessors idle, and their times are less certain.
  constexpr double least_length = 1024;
  if (!family.is_from_alone || work.batched == Work::Batched::count) return whole.seconds;
  double& seconds = whole.at_one_clock[work.batched];
  if (seconds > 0) return seconds;
  seconds = whole.seconds;
  const double length = work.batched == Work::Batched::m ? work.m : work.batched == Work::Batched::n ? work.n : work.k;
  for (double parts = 2; length * samples / parts >= least_length; parts *= 2)
    seconds = std::min(seconds, parts * known(family, shape_of_run(work, pass, samples / parts)).seconds);
  return seconds;
}

Provenance KernelModel::source(KernelKind kind, Pass pass) const {
  return family_of(kind, pass).is_fitted ? Provenance::curve : Provenance::roofline;
}

Seconds KernelModel::copies(const Work& work, double samples) const {
  const bool is_copied =
      work.kernel_kind() == KernelKind::convolution || work.kernel_kind() == KernelKind::grouped_convolution;
  const int times = (copies_ && is_copied ? 1 : 0) + (copies_volumes_ && work.is_volume ? 1 : 0);
  if (times == 0) return {};
  const double items = 2 * work.activation_items * samples;
  return traffic_time(items * item_bytes_, items * transposition_items) * times;
}

Work KernelModel::as_run(Work work, Pass pass) const {
  const bool has_experts =
      work.kernel_kind() == KernelKind::grouped_product ||
      (work.kernel_kind() == KernelKind::matrix_product && work.count > 1 && work.batched != Work::Batched::count);
  if (has_experts) {
    const bool is_known = family_of(KernelKind::grouped_product, pass).family != nullptr;
    work.kind = is_known ? KernelKind::grouped_product : KernelKind::matrix_product;
  }
  if (work.entropy_items > 0) work.activation_items = work.entropy_items * entropy_bytes_[pass] / item_bytes_;
  if (work.kernel_kind() == KernelKind::convolution && peaks_.has_matrix_units) {
    const Family& family = family_of(KernelKind::convolution, pass);
    return family.family == nullptr || family.is_own ? work : with_filled_loads(work, pass, item_bytes_);
  }
  if (work.kernel_kind() != KernelKind::grouped_convolution) return work;
  const KernelKind kind =
      group_kernels(work, peaks_.has_matrix_units, copies_ ? MemoryFormat::channels_first : MemoryFormat::channels_last);
  if (family_of(kind, pass).family == nullptr) return work;  // the roofline ignores groups
  work.kind = kind;
  if (kind == KernelKind::grouped_convolution) {
    (pass == Pass::backward_weight ? work.m : work.n) /= work.groups;
    work.count *= work.groups;
  }
  return work;
}

KernelModel::Run KernelModel::run(const Work& asked, Pass pass, double samples) const {
  const Work work = as_run(asked, pass);
  const Family& family = family_of(work.kernel_kind(), pass);
  const double under_limit = family.under_limit;
  if (family.family == nullptr) return {.time = roofline_.time(work, samples) * under_limit + copies(work, samples)};
  const KernelShape shape = shape_of_run(work, pass, samples);
  const Known& known = this->known(family, shape);
  const double seconds = seconds_at_one_clock(family, known, work, pass, samples);
  const double slower = work.kernel_kind() == KernelKind::fused_attention ? attention_factor_[pass] : 1;
  // Measurements of such rows on the device itself include their effect.
  const bool is_slow = !known.is_near && has_unaligned_rows(shape, pass, item_bytes_, padded_length_);
  const double unaligned = is_slow ? shape.flops * least_per_unaligned_flop_ : 0;
  const double attainable = is_traffic(work.kernel_kind()) ? 0 : asked.flops * samples * least_per_flop_;
  // Constants and residuals are fitted to measurements with errors, some of them at higher clocks than the datasheet's.
  const double bound = std::max({attainable, datasheet_bound(asked, pass, samples, shape, peaks_),
                                 block_sum_time(norm_sums_, asked, shape.bytes, peaks_)});
  return {&family, known.is_inside, Seconds(bound * under_limit),
          Seconds(std::max({seconds * slower, bound, unaligned}) * under_limit) + copies(asked, samples)};
}

KernelTime KernelModel::time(const Work& work, Pass pass, double samples) const {
  if (!work.is_any()) return {};
  const auto [family, is_inside, bound, time] = run(work, pass, samples);
  if (family == nullptr) return {.time = time};
  // Another pass than the measured one may run another kernel.
  const KernelFamily& measured = *family->family;
  const bool is_of_pass = measured.pass.value_or(pass) == pass;
  const double outer =
      is_of_pass ? measured.spread_outside : std::max(measured.spread_outside, KernelFamily{}.spread_outside);
  const double factor = std::exp(is_inside && is_of_pass ? measured.spread_inside : outer);
  return {.time = time,
          .low = max(time / factor, bound),
          .high = time * factor,
          .source = family->is_fitted ? Provenance::curve : Provenance::roofline};
}

KernelShape KernelModel::shape_of_run(const Work& work, Pass pass, double samples) const {
  KernelShape shape = shape_of(work, samples, worked_bytes(work, peaks_, item_bytes_));
  // Gradients are read and written as fp32 sums.
  const KernelKind kind = work.kernel_kind();
  const bool is_product = kind == KernelKind::matrix_product || kind == KernelKind::grouped_product;
  if (accumulates_ && pass == Pass::backward_weight && is_product)
    shape.bytes += work.weight_items * (2 * item_bytes(Precision::fp32) - item_bytes_);
  return shape;
}

Seconds KernelModel::seconds(const Work& work, Pass pass, double samples) const {
  return work.is_any() ? run(work, pass, samples).time : Seconds{};
}

Seconds KernelModel::least(const Work& asked, Pass pass, double samples) const {
  if (!asked.is_any()) return {};
  const Work work = as_run(asked, pass);
  const Family& family = family_of(work.kernel_kind(), pass);
  if (family.family == nullptr) return roofline_.time(work, samples) * family.under_limit + copies(work, samples);
  const KernelShape shape = shape_of(work, samples, worked_bytes(work, peaks_, item_bytes_));  // a bound for any split
                                                                                               // excludes fp32 sums
  const double slower = work.kernel_kind() == KernelKind::fused_attention ? attention_factor_[pass] : 1;
  double least = form_of(shape.kind).least(shape, peaks_, family.constants) * family.least_ratio;
  const Family& moving = family_of(KernelKind::elementwise, pass);
  if (!family.is_own && moving.is_own && is_traffic(shape.kind))
    least = std::max(
        least, form_of(KernelKind::elementwise).least(as_elementwise(shape), peaks_, moving.constants) * moving.least_ratio);
  return Seconds(least * slower * family.under_limit) + copies(asked, samples);
}

Seconds KernelModel::traffic_time(double bytes) const { return traffic_time(bytes, bytes / update_item_bytes); }

Seconds KernelModel::traffic_time(double bytes, double items) const {
  const Family& family = family_of(KernelKind::elementwise, Pass::forward);
  if (family.family == nullptr) return roofline_.traffic_time(bytes) * family.under_limit;
  const KernelShape shape{.bytes = bytes, .items = items};
  return Seconds(form_of(shape.kind).least(shape, peaks_, family.constants) * family.under_limit);
}

}  // namespace ddl
