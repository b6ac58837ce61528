#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"
#include "estimator/kernels/provenance.hpp"
#include "estimator/kernels/roofline.hpp"

namespace ddl {

/// What the data sheet says of kernels in one precision.
[[nodiscard]] DevicePeaks device_peaks(const Device& device, Precision precision);

/// A kernel's time on a device, with the interval that holds it in 95 of 100 cases where that is known.
struct KernelTime {
  Seconds time{};
  std::optional<Seconds> low{}, high{};
  Provenance source = Provenance::roofline;
};

/// Times of kernels of a device in one precision: by the formula of their kind with constants that were fitted to kernels
/// of this device, corrected by what those nearest to it differ by (the mean of their residuals, weighted by the inverse
/// square of their distance in logarithms [Shepard, "A two-dimensional interpolation function for irregularly-spaced data",
/// 1968]); else with the constants of other devices, on this one's data sheet. A device of which no kernels are known has
/// its roofline. Not for use by several threads at once.
class KernelModel {
 public:
  KernelModel() = default;
  /// Of the assumptions, those of what a framework runs count. `sustained` is the fraction of their rate alone at which
  /// matrix products and convolutions on matrix units run.
  KernelModel(const Device& device, Precision precision, const Assumptions& assumptions = {}, double sustained = 1);

  /// `work` is per sample.
  [[nodiscard]] KernelTime time(const Work& work, Pass pass, double samples) const;
  [[nodiscard]] Seconds seconds(const Work& work, Pass pass, double samples) const;
  /// Kernels that share this work among them take no less together.
  [[nodiscard]] Seconds least(const Work& work, Pass pass, double samples) const;
  /// Of an operation that reads and writes so many bytes and does nothing else, without its start.
  [[nodiscard]] Seconds traffic_time(double bytes) const;  ///< of items of 4 bytes
  [[nodiscard]] Seconds traffic_time(double bytes, double items) const;
  /// What times of this kind rest on.
  [[nodiscard]] Provenance source(KernelKind kind, Pass pass) const;
  /// Whether any kind has a formula: else all have their rooflines.
  [[nodiscard]] bool has_formulas() const { return own_ || transferred_; }

 private:
  struct Family {
    const KernelFamily* family = nullptr;
    bool is_own = false;
    std::vector<double> constants{};
    double least_ratio = 1;  ///< no residual is below this
  };
  /// A shape whose time is known.
  struct Key {
    std::size_t family;  ///< place in families_
    double flops, bytes, m, n, k, count, items, group_channels, square3_rows, square3_columns;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Known {
    double seconds = 0;
    bool is_inside = false;  ///< between kernels that were measured
  };
  /// Returns the time of a kernel with the sums in fp32 to which it adds gradients of weights, where it does.
  [[nodiscard]] Seconds with_sums(Seconds kernel, const Work& work, Pass pass) const;
  /// Of the copies that a convolution makes of what it reads and writes; nothing where it reads them as they lie.
  [[nodiscard]] Seconds copies(const Work& work, double samples) const;
  /// The same work with the traffic of the framework's cross entropy, and the kernel that convolves groups.
  [[nodiscard]] Work as_run(Work work, Pass pass) const;
  [[nodiscard]] const Family& family_of(KernelKind kind, Pass pass) const;
  [[nodiscard]] const Known& known(const Family& family, const KernelShape& shape) const;

  std::shared_ptr<const DeviceKernels> own_, transferred_;
  Roofline roofline_;
  DevicePeaks peaks_;
  double item_bytes_ = 4;
  bool accumulates_ = false;     ///< matrix products add gradients of weights to sums in fp32
  bool copies_ = false;          ///< convolutions work on copies in another memory format
  bool copies_volumes_ = false;  ///< those of volumes do so, or do so once more
  /// By pass: over the kernels that formulas were fitted to.
  std::array<double, 4> attention_factor_{1, 1, 1, 1};
  std::array<double, 4> entropy_bytes_{};                                   ///< by pass: of an item
  std::array<std::array<Family, 4>, kernel_kind_names.size()> families_{};  ///< by kind and pass
  mutable std::unordered_map<Key, Known, Hash> known_;
};

}  // namespace ddl
