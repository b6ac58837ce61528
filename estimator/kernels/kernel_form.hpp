#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "core/enum_array.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// The work of a kernel, for all samples together.
struct KernelShape {
  KernelKind kind = KernelKind::elementwise;
  double flops = 0, bytes = 0;
  double items = 0;            ///< number of items that the bytes consist of
  double m = 0, n = 0, k = 0;  ///< one matrix product: m × n results, each a sum of k products
  double count = 1;            ///< number of matrix products of that size
  double group_channels = 0;   ///< output channels of a group of a convolution; 0: there are no groups
  // The same members as in Work.
  bool sums_positions = false;
  double square3_rows = 0, square3_columns = 0;
};
[[nodiscard]] KernelShape shape_of(const Work& work, double samples, double item_bytes);

/// The peak rates of a device, from its datasheet.
struct DevicePeaks {
  double flop_rate = 1;           ///< peak of matrix operations in the kernel's precision, FLOP/s
  double vector_flop_rate = 1;    ///< peak of all other operations, FLOP/s
  double bandwidth = 1;           ///< bandwidth of the memory, byte/s
  double multiprocessors = 0;     ///< 0: unknown
  double cycle_rate = 1e30;       ///< clock cycles of all multiprocessors together, 1/s
  bool has_matrix_units = false;  ///< the device has matrix units for the kernel's precision
};

/// A constant of a formula: its name in files, its default, and its allowed range.
struct KernelConstant {
  std::string_view name;
  double usual, least, most;
  bool is_fitted = true;     ///< if false, the default is always used
  bool is_optional = false;  ///< files may omit it; the default is then used
};

/// A formula for a kernel's time. Its constants are dimensionless, except for `start`, in microseconds.
struct KernelForm {
  std::string_view name;
  std::span<const KernelConstant> constants;
  /// Time in seconds.
  double (*time)(const KernelShape&, const DevicePeaks&, std::span<const double> constants);
  /// Lower bound, in seconds, of the total time of kernels that share this work, however it is divided.
  double (*least)(const KernelShape&, const DevicePeaks&, std::span<const double> constants);
};
[[nodiscard]] const KernelForm& form_of(KernelKind kind);

/// Names in files, tables and messages, such as `matrix_product`.
inline constexpr std::array<std::pair<KernelKind, std::string_view>, 15> kernel_kind_names{{
    {KernelKind::matrix_product, "matrix_product"},
    {KernelKind::convolution, "convolution"},
    {KernelKind::grouped_convolution, "grouped_convolution"},
    {KernelKind::fused_attention, "fused_attention"},
    {KernelKind::chunk_scan, "chunk_scan"},
    {KernelKind::elementwise, "elementwise"},
    {KernelKind::layer_norm, "layer_norm"},
    {KernelKind::batch_norm, "batch_norm"},
    {KernelKind::softmax, "softmax"},
    {KernelKind::dropout, "dropout"},
    {KernelKind::lookup, "lookup"},
    {KernelKind::packed_convolution, "packed_convolution"},
    {KernelKind::direct_convolution, "direct_convolution"},
    {KernelKind::depthwise_convolution, "depthwise_convolution"},
    {KernelKind::max_pool, "max_pool"},
}};
static_assert(kernel_kind_names.size() == enum_count<KernelKind>());
[[nodiscard]] constexpr std::string_view to_string(KernelKind kind) {
  return kernel_kind_names[static_cast<std::size_t>(kind)].second;
}

}  // namespace ddl
