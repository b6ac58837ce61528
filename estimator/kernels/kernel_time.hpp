#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/measured_prices.hpp"
#include "estimator/kernels/provenance.hpp"
#include "estimator/kernels/roofline.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

class ShardPrices;

/// Times of one whole layer on one device: FW_l and BW_l per sample, WU_l per iteration.
struct LayerTimes {
  Seconds forward{};
  Seconds backward{};
  Seconds update{};
};

/// Where kernel times come from.
enum class KernelBasis {
  profile,         ///< kernels of this device, measured one by one
  measured_total,  ///< one measured total of this model, spread over its layers by their roofline time
  device_scale,    ///< roofline, scaled as other models measured on this device ask for
  fitted,          ///< fitted to kernels that others measured on this device
  transferred,     ///< fitted to kernels of other devices, on this one's data sheet
  roofline,        ///< the data sheet alone
  given,           ///< times handed in
};
[[nodiscard]] std::string_view to_string(KernelBasis origin);

/// Time of kernels of one model on one device.
///
/// Where kernels were measured, by these (MeasuredPrices). Else by their rooflines, multiplied by one scale so that the
/// model's total agrees with what was measured, where something was.
class KernelPrices {
 public:
  /// `scale`: measured over roofline time of other models on this device, used where this one was never measured.
  /// `measured`: kernels of this device; those of another precision are left out. Of the assumptions, those of what a
  /// framework runs count: they are the job's.
  KernelPrices(const ModelFacts& facts, const Device& device, const Coefficients& coefficients, Precision precision,
               Optimizer optimizer, std::optional<double> scale, const MeasuredKernels* measured = nullptr,
               const Assumptions& assumptions = {});
  /// Times given layer by layer; split layers scale linearly.
  explicit KernelPrices(std::vector<LayerTimes> times);

  /// Whole layers at the batch of reference: what [ParaDL] calls FW_l, BW_l and WU_l.
  [[nodiscard]] const std::vector<LayerTimes>& serial() const { return serial_; }
  /// The kernels of a layer's operation on these shapes, without what the framework's compiler saves: those that are left
  /// with nothing to move are gone.
  [[nodiscard]] std::vector<Work> works(std::size_t layer, const Operation& operation, Pass pass,
                                        std::span<const TensorShape> inputs, const TensorShape& output) const;
  /// Time of a kernel that does `work` per sample on `samples` samples, in the plan's precision or, under autocast, in fp32.
  [[nodiscard]] Seconds kernel_time(const Work& work, Pass pass, double samples, Precision precision) const;
  /// Of an operation's kernels on these shapes, one after the other, in a precision of the plan's kernels.
  [[nodiscard]] Seconds pass_time(std::size_t layer, const Operation& operation, Pass pass,
                                  std::span<const TensorShape> inputs, const TensorShape& output, double samples,
                                  Precision precision) const;
  /// Kernels that share the work of these among them take no less together.
  [[nodiscard]] Seconds least_pass_time(std::size_t layer, const Operation& operation, Pass pass,
                                        std::span<const TensorShape> inputs, const TensorShape& output, double samples,
                                        Precision precision) const;
  /// Time to update `parameters` parameters.
  [[nodiscard]] KernelPrice update_price(double parameters) const;
  /// Prices by measured kernels; none where nothing was measured.
  [[nodiscard]] const ShardPrices* measured() const { return measured_.get(); }
  [[nodiscard]] KernelBasis origin() const { return origin_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] Optimizer optimizer() const { return optimizer_; }
  /// What a single kernel's time rests on, of a layer that is not split.
  [[nodiscard]] Provenance source(const Work& work, Pass pass, Precision precision) const;
  /// The same of whole layers.
  [[nodiscard]] Provenance source() const;
  /// Kernels are priced by formulas: parts of a kernel may take less together than the whole.
  [[nodiscard]] bool has_formulas() const { return model_.has_formulas(); }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] double reference_batch() const { return reference_batch_; }
  /// What was measured of layers whose filters, or channels, are split.
  [[nodiscard]] const std::optional<UndividedFraction>& filter_undivided() const { return filter_undivided_; }
  [[nodiscard]] const std::optional<UndividedFraction>& channel_undivided() const { return channel_undivided_; }

 private:
  /// What the layers' kernels take at the batch of reference, from the prices of whole layers.
  void measure_layers(const ModelFacts& facts, const MeasuredKernels& measured, const Assumptions& assumptions);

  Roofline roofline_;
  KernelModel model_;
  std::optional<Roofline> wide_roofline_;  ///< of fp32, where autocast runs a part of the kernels so
  std::optional<KernelModel> wide_model_;
  std::optional<KernelModel> narrow_model_;  ///< of fp8 or nvfp4, in which linear layers run
  /// Returns the model of kernels in a precision of the plan's kernels.
  [[nodiscard]] const KernelModel& model_of(Precision precision) const;
  std::vector<Fusion> fusion_;   ///< by layer; empty where nothing is fused
  std::vector<bool> quantized_;  ///< by layer: kernels of their own make what its products read; empty: nobody's
  std::vector<bool> weighted_;   ///< by layer: operators weigh and add its bias; empty: nobody's
  bool weighs_in_fp32_ = false;  ///< and do so in fp32
  BiasKernels convolution_biases_ = BiasKernels::fused, linear_biases_ = BiasKernels::fused;
  bool has_separate_operators_ = false, writes_sinks_ = false, fuses_residuals_ = false;
  Precision precision_ = Precision::fp32, update_precision_ = Precision::fp32;
  Optimizer optimizer_ = Optimizer::sgd;
  double update_bytes_per_parameter_ = 0;
  std::optional<UpdateProblem> list_;  ///< the whole model's update, where it is one problem
  double scale_ = 1;
  double reference_batch_ = 1;
  std::optional<UndividedFraction> filter_undivided_, channel_undivided_;
  std::vector<LayerTimes> serial_;
  KernelBasis origin_ = KernelBasis::roofline;
  std::shared_ptr<const ShardPrices> measured_;
};

/// Measured total over roofline total of the model the coefficients measured; nothing when they did not.
[[nodiscard]] std::optional<double> measured_scale(const ModelFacts& facts, const Device& device,
                                                   const Coefficients& coefficients, Precision precision);

/// Bytes an optimizer moves per parameter in one update: reads of weight, gradient and slots, writes of weight and slots.
[[nodiscard]] double update_bytes_per_parameter(Optimizer optimizer, Precision precision,
                                                UpdateImplementation implementation = UpdateImplementation::layer);

}  // namespace ddl
