#pragma once

#include <span>
#include <string_view>

#include "core/enum_array.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// The work of a kernel, for all samples together.
struct KernelShape {
  KernelKind kind = KernelKind::elementwise;
  double flops = 0, bytes = 0;
  double items = 0;            ///< number of elements that the bytes consist of
  double m = 0, n = 0, k = 0;  ///< one matrix product: m × n results, each a sum of k products
  double count = 1;            ///< number of matrix products of m × n × k
  double experts = 0;          ///< products of that size that are launched one by one, as for experts; 0: one launch
  double group_channels = 0;   ///< output channels of a group of a convolution; 0: no groups
  // The remaining members have the same meaning as in Work.
  bool sums_positions = false;
  double square3_rows = 0, square3_columns = 0;
};
[[nodiscard]] KernelShape shape_of(const Work& work, double samples, double item_bytes);

/// The peak rates of a device, from its datasheet.
struct DevicePeaks {
  double flop_rate = 1;           ///< peak of matrix operations in the kernel's precision, FLOP/s
  double vector_flop_rate = 1;    ///< peak of operations that are not matrix operations, FLOP/s
  double bandwidth = 1;           ///< bandwidth of the memory, byte/s
  double multiprocessors = 0;     ///< 0: unknown
  double cycle_rate = 1e30;       ///< clock cycles of all multiprocessors together, 1/s
  bool has_matrix_units = false;  ///< the device has matrix units for the kernel's precision
  /// Whether libraries of the device have convolutions with fewer multiplications (Winograd's) in this precision.
  bool has_fast_convolutions = true;
};

/// A constant of a formula: its name in files, its default, and its allowed range.
struct KernelConstant {
  std::string_view name;
  double usual, least, most;
  bool is_fitted = true;        ///< if false, the default is always used
  bool is_optional = false;     ///< files may omit it; the default is then used
  bool is_of_repeated = false;  ///< fitted only to repeated kernels (Conditions::repeated)
};

/// A formula for a kernel's time. The formula's constants are dimensionless, except for `start`, which is in microseconds.
struct KernelForm {
  std::string_view name;
  std::span<const KernelConstant> constants;
  /// Returns the time in seconds.
  double (*time)(const KernelShape&, const DevicePeaks&, std::span<const double> constants);
  /// Returns a lower bound, in seconds, of the total time of kernels that together do this work,
  /// for any division of the work.
  double (*least)(const KernelShape&, const DevicePeaks&, std::span<const double> constants);
};
[[nodiscard]] const KernelForm& form_of(KernelKind kind);

/// The names of kernel types in files, tables and messages, such as `matrix_product`.
template <>
inline constexpr EnumNames<KernelKind> enum_names<KernelKind>{"matrix_product",
                                                              "convolution",
                                                              "grouped_convolution",
                                                              "fused_attention",
                                                              "chunk_scan",
                                                              "elementwise",
                                                              "layer_norm",
                                                              "batch_norm",
                                                              "softmax",
                                                              "dropout",
                                                              "lookup",
                                                              "packed_convolution",
                                                              "direct_convolution",
                                                              "depthwise_convolution",
                                                              "max_pool",
                                                              "grouped_product"};

}  // namespace ddl
