#pragma once

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"
#include "estimator/kernels/provenance.hpp"
#include "estimator/kernels/roofline.hpp"

namespace ddl {

/// Returns the datasheet's peaks for kernels in one precision.
[[nodiscard]] DevicePeaks device_peaks(const Device& device, Precision precision);

/// The predicted time of a kernel on a device, with the time's 95 % interval if the interval is known.
struct KernelTime {
  Seconds time{};
  std::optional<Seconds> low{}, high{};
  Provenance source = Provenance::roofline;
};

/// Kernel times of a device in one precision. If this device has kernel data, the constants of formulas are fitted to this
/// data. A predicted time is then corrected by the residuals of the nearest measured kernels (their mean, weighted by the
/// inverse square of their distance in logarithms [Shepard, "A two-dimensional interpolation function for irregularly-spaced
/// data", 1968]). Without data of this device, the formula has the constants of other devices and the peaks of this device's
/// datasheet. Without any kernel data, times are rooflines. Not thread-safe.
class KernelModel {
 public:
  KernelModel() = default;
  /// Of the assumptions, only those about the framework's kernels are used. `widens_logits`: as in ModelFacts.
  /// `vocabulary`: words of the model, to whose products PaddedProducts::vocabulary applies; 0: none.
  KernelModel(const Device& device, Precision precision, const Assumptions& assumptions = {},
              Conditions conditions = Conditions::alone, bool widens_logits = true, double vocabulary = 0);

  /// Returns the time of a kernel on `samples` samples. `work` is per sample.
  [[nodiscard]] KernelTime time(const Work& work, Pass pass, double samples) const;
  [[nodiscard]] Seconds seconds(const Work& work, Pass pass, double samples) const;
  /// Returns a lower bound of the total time of kernels that together do this work, for any division of the work.
  [[nodiscard]] Seconds least(const Work& work, Pass pass, double samples) const;
  /// Returns the time of an operation that only reads and writes this many bytes, without launch overhead.
  [[nodiscard]] Seconds traffic_time(double bytes) const;  ///< elements have 4 bytes
  [[nodiscard]] Seconds traffic_time(double bytes, double items) const;
  /// Returns the provenance of the times of kernels of this type.
  [[nodiscard]] Provenance source(KernelKind kind, Pass pass) const;
  /// Returns how many times as long kernels of this type take under the user's power limit.
  [[nodiscard]] double under_limit(KernelKind kind, Pass pass) const { return family_of(kind, pass).under_limit; }
  /// Returns whether any type of kernel has a formula. If none has, all times are rooflines.
  [[nodiscard]] bool has_formulas() const { return own_ || transferred_; }

 private:
  struct Family {
    const KernelFamily* family = nullptr;
    bool is_own = false;
    bool is_fitted = false;  ///< whether the family is of this device; nvfp4, MX and int8 products need a family of their
                             ///< format
    std::vector<double> constants{};
    double least_ratio = 1;  ///< lower limit of the residuals
    /// Whether kernels were measured alone, and now run in training. Alone, the power limit slows down only long kernels.
    bool is_from_alone = false;
    double under_limit = 1;  ///< factor of the time under a reduced power limit
  };
  /// A shape whose time is cached.
  struct Key {
    std::size_t family;  ///< index in families_
    double flops, bytes, m, n, k, count, items, experts, group_channels, square3_rows, square3_columns;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Known {
    double seconds = 0;
    bool is_inside = false;  ///< whether the kernel lies between measured kernels
    bool is_near = false;    ///< the same, and its unaligned lengths were measured
    /// the result of seconds_at_one_clock by the dimension that grows with the samples; 0 if it is not known yet
    mutable EnumArray<Work::Batched, double> at_one_clock{};
  };
  /// The shape of a kernel, including the traffic of adding weight gradients to fp32 sums if the kernel does so.
  [[nodiscard]] KernelShape shape_of_run(const Work& work, Pass pass, double samples) const;
  /// Returns the time of a convolution's copies of its inputs and outputs; zero if the convolution needs no copies.
  [[nodiscard]] Seconds copies(const Work& work, double samples) const;
  /// Returns the work as the framework runs it: with the traffic of the framework's cross entropy, and with the framework's
  /// kind of kernel for grouped convolutions.
  [[nodiscard]] Work as_run(Work work, Pass pass) const;
  [[nodiscard]] const Family& family_of(KernelKind kind, Pass pass) const;
  [[nodiscard]] const Known& known(const Family& family, const KernelShape& shape) const;
  /// Returns the seconds of a kernel at one clock for all sizes: at most the time of its parts, one after the other.
  /// `whole`: the cached time of the kernel.
  [[nodiscard]] double seconds_at_one_clock(const Family& family, const Known& whole, const Work& work, Pass pass,
                                            double samples) const;
  /// A kernel of a family, as the framework runs it.
  struct Run {
    const Family* family = nullptr;  ///< null if the time is a roofline
    bool is_inside = false;          ///< whether the kernel lies between measured kernels
    Seconds bound{};                 ///< lower bound of the time, without copies
    Seconds time{};
  };
  [[nodiscard]] Run run(const Work& asked, Pass pass, double samples) const;
  /// Returns the first of two matrix products that each have half of the terms of a product's sums.
  [[nodiscard]] KernelShape half_sum(KernelShape shape) const;

  std::shared_ptr<const DeviceKernels> own_, transferred_;
  Roofline roofline_;
  DevicePeaks peaks_;
  double item_bytes_ = 4;
  NormSums norm_sums_ = NormSums::device;
  double least_per_flop_ = 0;            ///< seconds per FLOP of kernels on matrix units at the attainable rate; 0: no limit
  double least_per_unaligned_flop_ = 0;  ///< the same, for products whose rows are not whole loads
  double padded_length_ = 0;             ///< the length of products that the software pads; 0: none
  bool accumulates_ = false;             ///< whether matrix products add weight gradients to fp32 sums
  bool copies_ = false;                  ///< whether convolutions work on copies in another memory format
  bool copies_volumes_ = false;          ///< whether 3D convolutions make copies in another format, in addition to `copies_`
  /// The time of attention in each pass, divided by the time of the attention kernels that formulas were fitted to.
  EnumArray<Pass, double> attention_factor_{1, 1, 1, 1};
  EnumArray<Pass, double> entropy_bytes_{};                    ///< bytes per element of cross entropy, by pass
  EnumArray<KernelKind, EnumArray<Pass, Family>> families_{};  ///< families by type of kernel and pass
  mutable std::unordered_map<Key, Known, Hash> known_;
};

}  // namespace ddl
