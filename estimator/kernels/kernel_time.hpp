#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/framework_kernels.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/problem_times.hpp"
#include "estimator/kernels/provenance.hpp"
#include "estimator/kernels/recurrent_steps.hpp"
#include "estimator/kernels/roofline.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

class ShardTimes;

/// Times of one unsplit layer on one device in the notation of [ParaDL]: FW_l and BW_l per sample, WU_l per step.
struct LayerTimes {
  Seconds forward{};
  Seconds backward{};
  Seconds update{};
};

/// The source of the times of a model's kernels.
enum class KernelBasis {
  profile,         ///< kernels that were measured one by one on this device
  measured_total,  ///< a measured total of this model, divided among its layers by their roofline times
  device_scale,    ///< predicted kernels, scaled by a factor from other models measured on this device
  fitted,          ///< formulas fitted to published measurements of kernels on this device
  transferred,     ///< formulas fitted to kernels of other devices, with the peaks of this device's datasheet
  roofline,        ///< the datasheet alone
  given,           ///< times given by the caller
};
template <>
inline constexpr EnumNames<KernelBasis> enum_names<KernelBasis>{
    "kernels measured on this device",
    "measured total, distributed to the layers by work",
    "predicted kernels, scaled by other models measured on this device",
    "fitted to published kernels of this device",
    "fitted to kernels of other devices, on this datasheet",
    "roofline of the datasheet",
    "given"};

/// Measured time divided by predicted time of networks other than the model.
struct KernelScale {
  double factor = 1;
  /// Standard deviation of the logarithm of a network's factor around the mean of the other networks; 0 if not known.
  double spread = 0;
};

/// Returns the precision of a kernel of a layer that runs in `precision`.
[[nodiscard]] inline Precision precision_of(const Work& work, Precision precision) {
  return work.is_wide ? Precision::fp32 : precision;
}

/// Kernel times of one model on one device.
///
/// The times are based on measured kernels if there are any (ProblemTimes). Otherwise they are rooflines. If the total time
/// of the model was measured, the rooflines are scaled so that their sum equals the total time.
class KernelTimes {
 public:
  /// `scale`: measured time divided by roofline time of other models on this device, used if no
  /// total of this model was measured. `measured`: kernels of this device; kernels in another
  /// precision are ignored. Only the job's assumptions about the framework's kernels are used.
  KernelTimes(const ModelFacts& facts, const Device& device, const Coefficients& coefficients, Precision precision,
              Optimizer optimizer, std::optional<KernelScale> scale, const MeasuredKernels* measured = nullptr,
              const Assumptions& assumptions = {});
  /// Uses the caller's times per layer. Split layers scale linearly.
  explicit KernelTimes(std::vector<LayerTimes> times);

  /// Returns the times of unsplit layers at the reference batch: FW_l, BW_l and WU_l of [ParaDL].
  [[nodiscard]] const std::vector<LayerTimes>& serial() const { return serial_; }
  /// Returns the kernels of a layer's operation on these shapes. Traffic that the framework's compiler avoids by fusion is
  /// left out. Kernels without any remaining traffic are left out, too.
  [[nodiscard]] std::vector<Work> works(std::size_t layer, const Operation& operation, Pass pass,
                                        std::span<const TensorShape> inputs, const TensorShape& output) const;
  /// Returns the time of a kernel on `samples` samples, in the plan's precision or, under autocast,
  /// in fp32. `work` is per sample.
  [[nodiscard]] Seconds kernel_time(const Work& work, Pass pass, double samples, Precision precision) const;
  /// Returns the time of an operation's kernels on these shapes, one after the other, in a precision of the plan's kernels.
  [[nodiscard]] Seconds pass_time(std::size_t layer, const Operation& operation, Pass pass,
                                  std::span<const TensorShape> inputs, const TensorShape& output, double samples,
                                  Precision precision) const;
  /// Returns a lower bound of the total time of the pass's kernels, for any division of their work.
  [[nodiscard]] Seconds least_pass_time(std::size_t layer, const Operation& operation, Pass pass,
                                        std::span<const TensorShape> inputs, const TensorShape& output, double samples,
                                        Precision precision) const;
  [[nodiscard]] KernelCost update_cost(double parameters) const;
  /// Returns times based on measured kernels; null if no kernel was measured.
  [[nodiscard]] const ShardTimes* measured() const { return measured_.get(); }
  [[nodiscard]] KernelBasis origin() const { return origin_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] Optimizer optimizer() const { return optimizer_; }
  /// Returns the provenance of the time of a single kernel of an unsplit layer.
  [[nodiscard]] Provenance source(const Work& work, Pass pass, Precision precision) const;
  /// Returns the provenance of times of unsplit layers.
  [[nodiscard]] Provenance source() const;
  /// Returns whether times are based on formulas. If so, the parts of a kernel may take less time
  /// together than the whole kernel.
  [[nodiscard]] bool has_formulas() const { return model_.has_formulas(); }
  [[nodiscard]] double scale() const { return scale_; }
  /// Returns the spread of the factor of other networks (KernelScale::spread); 0 if times are based on something else.
  [[nodiscard]] double scale_spread() const { return origin_ == KernelBasis::device_scale ? scale_spread_ : 0; }
  [[nodiscard]] double reference_batch() const { return reference_batch_; }
  /// Returns the measured undivided fraction of layers with split filters or channels.
  [[nodiscard]] const std::optional<UndividedFraction>& filter_undivided() const { return filter_undivided_; }
  [[nodiscard]] const std::optional<UndividedFraction>& channel_undivided() const { return channel_undivided_; }

 private:
  /// Sets the kernel times of layers at the reference batch from the times of unsplit layers.
  void measure_layers(const ModelFacts& facts, const MeasuredKernels& measured, const Assumptions& assumptions);

  Roofline roofline_;
  KernelModel model_;
  std::optional<Roofline> wide_roofline_;    ///< roofline of fp32, if autocast runs some kernels in fp32
  std::optional<KernelModel> wide_model_;    ///< kernel model of fp32, if autocast or adapters run some kernels in fp32
  std::optional<KernelModel> narrow_model_;  ///< kernel model of fp8 or nvfp4, if linear layers run in that format
  /// kernel model of fused attention in fp32, which runs on units of tf32 (splits_full_precision)
  std::optional<KernelModel> attention_model_;
  std::vector<bool> wide_;  ///< for each layer, whether autocast runs it in fp32; empty: no layer
  /// Returns whether a layer's tensors are in half precision.
  [[nodiscard]] bool is_half(std::size_t layer) const { return is_mixed(precision_) && (wide_.empty() || !wide_[layer]); }
  /// Returns the kernel model of a kernel of a layer in the precision `of_layer`.
  [[nodiscard]] const KernelModel& model_of(const Work& work, Precision of_layer) const;
  std::vector<Fusion> fusion_;   ///< fusion of each layer; empty if no kernels are fused
  std::vector<bool> quantized_;  ///< for each layer, whether separate kernels quantize inputs of products; empty: no layer
  /// for each layer, whether unfused operators multiply its bias by the router's weights and add
  /// the product; empty: no layer
  std::vector<bool> weighted_;
  bool weighs_in_fp32_ = false;  ///< whether unfused operators multiply biases by the router's weights in fp32
  PersistentKernels persistent_ = PersistentKernels::never;
  bool wide_adapters_ = false, autocast_adapters_ = false;  ///< whether the weights of adapters are in fp32, under autocast
  BiasKernels convolution_biases_ = BiasKernels::fused, linear_biases_ = BiasKernels::fused;
  bool wide_softmax_ = false;  ///< whether the softmax of attention that writes its scores is in fp32
  bool has_separate_operators_ = false, composes_layers_ = false, fuses_residuals_ = false, separates_sums_ = false;
  Precision precision_ = Precision::fp32, update_precision_ = Precision::fp32;
  Optimizer optimizer_ = Optimizer::sgd;
  double update_bytes_per_parameter_ = 0;
  std::optional<UpdateProblem> list_;  ///< the update of the whole model, if it is a single problem
  double scale_ = 1, scale_spread_ = 0;
  double reference_batch_ = 1;
  std::optional<UndividedFraction> filter_undivided_, channel_undivided_;
  std::vector<LayerTimes> serial_;
  KernelBasis origin_ = KernelBasis::roofline;
  std::shared_ptr<const ShardTimes> measured_;
};

/// Returns the measured total time divided by the total roofline time, for the model that the
/// coefficients refer to; empty if the model was not measured.
[[nodiscard]] std::optional<double> measured_scale(const ModelFacts& facts, const Device& device,
                                                   const Coefficients& coefficients, Precision precision);

/// Returns the bytes that an optimizer moves per parameter in one update: it reads weight, gradient and state, and writes
/// weight and state.
[[nodiscard]] double update_bytes_per_parameter(Optimizer optimizer, Precision precision,
                                                UpdateImplementation implementation = UpdateImplementation::layer);

}  // namespace ddl
