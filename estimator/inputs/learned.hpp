#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/plan/axis.hpp"

namespace ddl {

/// Effects on the time of a step that neither profiles of kernels nor sweeps of the network show.
/// The coefficients of these effects are fitted to measured training runs.
enum class Coefficient {
  kernels,  ///< factor on all kernels
  /// The fraction r of the work that a split should save, but that every rank still does: T =
  /// T(split) + r·(T(whole) − T(split)).
  repeated,
  /// Factors on the start-up and on the time per byte of exchanges of one purpose. They contain the framework's overhead
  /// relative to the link. Transfers between stages use the factors of layer exchanges.
  gradient_alpha,
  gradient_beta,
  layer_alpha,
  layer_beta,
  halo_alpha,
  halo_beta,
  /// Seconds per byte of an Allreduce among the q ranks of a filter, channel or spatial split. The Allreduce moves 2(q−1)/q
  /// of the weights of layers without positions, because software does not split these layers.
  unsharded_weight_sync,
  /// θ is the mean delay of a node, divided by the time of its kernels, layer-wise exchanges and halos. Delays by the
  /// operating system and by other jobs are rare and long, so they are modeled as exponential. All n nodes wait for the
  /// slowest node. The expected delay of the slowest node is θ·(1 + 1/2 + … + 1/n), which is about θ·ln n more than a single
  /// node's delay [David, Nagaraja, Order Statistics, 2003].
  straggler_factor,
  per_iteration,    ///< constant time per training step in seconds, if there are several devices
  per_micro_batch,  ///< constant time per stage and micro-batch in seconds, such as the overhead of the software's schedule
  /// host time per launch of a kernel or exchange, in seconds; depends on the software, not on the family of plans
  launch_overhead
};

/// The unit of a coefficient. Files and reports give `unsharded_weight_sync` in seconds per gigabyte.
enum class CoefficientUnit { factor, fraction, number, seconds, seconds_per_byte };

/// The prior distribution of a coefficient, before any measured run is considered. For a factor f, ln f is normal around 0
/// with this width. Any other coefficient is half-normal above 0 with this width.
struct Prior {
  double width = 1;
  double most = 0;  ///< larger values are refused as implausible; 0: no bound
};

/// The properties of a coefficient, except the formula that uses it.
struct CoefficientRow {
  Coefficient coefficient;
  std::string_view name;  ///< name of the coefficient as a key in files
  CoefficientUnit unit;
  bool by_family;              ///< whether each family of plans has its own value
  std::optional<Prior> prior;  ///< prior, if the coefficient is fitted to measured runs
  std::string_view former{};   ///< the key in files of older versions, if it was different

  [[nodiscard]] constexpr bool is_factor() const { return unit == CoefficientUnit::factor; }
  /// Returns the value with which the coefficient has no effect.
  [[nodiscard]] constexpr double neutral() const { return is_factor() ? 1 : 0; }
};
inline constexpr std::array<CoefficientRow, 13> coefficient_table{{
    {Coefficient::kernels, "kernels", CoefficientUnit::factor, true, Prior{0.3}},
    {Coefficient::repeated, "repeated", CoefficientUnit::fraction, true, Prior{0.5, 1}},
    {Coefficient::gradient_alpha, "gradient_alpha", CoefficientUnit::factor, true, Prior{1}},
    {Coefficient::gradient_beta, "gradient_beta", CoefficientUnit::factor, true, Prior{1}},
    {Coefficient::layer_alpha, "layer_alpha", CoefficientUnit::factor, true, Prior{1}},
    {Coefficient::layer_beta, "layer_beta", CoefficientUnit::factor, true, Prior{1}},
    {Coefficient::halo_alpha, "halo_alpha", CoefficientUnit::factor, true, Prior{1}},
    {Coefficient::halo_beta, "halo_beta", CoefficientUnit::factor, true, Prior{1}},
    {Coefficient::unsharded_weight_sync, "unsharded_weight_sync", CoefficientUnit::seconds_per_byte, true, Prior{1e-9},
     "whole_weights"},
    {Coefficient::straggler_factor, "straggler_factor", CoefficientUnit::number, true, Prior{0.1}, "straggling"},
    {Coefficient::per_iteration, "per_iteration", CoefficientUnit::seconds, true, Prior{0.05}},
    {Coefficient::per_micro_batch, "per_micro_batch", CoefficientUnit::seconds, true, std::nullopt},
    {Coefficient::launch_overhead, "launch_overhead", CoefficientUnit::seconds, false, std::nullopt, "kernel_start"},
}};
static_assert(coefficient_table.size() == enum_count<Coefficient>());
[[nodiscard]] constexpr const CoefficientRow& row_of(Coefficient coefficient) {
  return coefficient_table[static_cast<std::size_t>(coefficient)];
}
[[nodiscard]] constexpr std::size_t index_of(Coefficient coefficient) { return static_cast<std::size_t>(coefficient); }
[[nodiscard]] constexpr std::string_view to_string(Coefficient coefficient) { return row_of(coefficient).name; }

/// A value of each coefficient, in seconds if the coefficient has a unit. Values are neutral at construction. `T` is a
/// number type that may carry derivatives.
template <class T>
class CoefficientValues {
 public:
  CoefficientValues() {
    for (const CoefficientRow& row : coefficient_table) (*this)[row.coefficient] = T(row.neutral());
  }
  [[nodiscard]] T& operator[](Coefficient coefficient) { return values_[index_of(coefficient)]; }
  [[nodiscard]] const T& operator[](Coefficient coefficient) const { return values_[index_of(coefficient)]; }
  friend bool operator==(const CoefficientValues&, const CoefficientValues&) = default;

 private:
  std::array<T, coefficient_table.size()> values_;
};

/// The coefficients of one family of plans.
using Learned = CoefficientValues<double>;
/// The coefficients of each family of plans. A family without measured runs has no entry.
using LearnedFamilies = std::vector<std::pair<Family, Learned>>;

/// Returns whether this family has fitted factors, with or without data parallelism.
[[nodiscard]] inline bool is_known(const LearnedFamilies& families, Family family) {
  constexpr Family data = family_bit(Axis::data);
  return std::any_of(families.begin(), families.end(), [&](const auto& of) { return (of.first | data) == (family | data); });
}

/// Returns the coefficients of this family of plans. If the family has none, returns the coefficients of the family that
/// differs only in data parallelism, because a split does not change with the number of replicas. For a hybrid with replicas
/// that has no measured runs, data parallelism provides the factors of gradient exchanges and of waiting between nodes. One
/// device computes as a replica does. In all other cases, values are neutral.
[[nodiscard]] inline Learned learned_of(const LearnedFamilies& families, Family family) {
  constexpr Family data = family_bit(Axis::data);
  const auto find = [&](Family like) -> const Learned* {
    for (const auto& [known, learned] : families) {
      if (known == like) return &learned;
    }
    return nullptr;
  };
  if (family == 0) {
    // A replica computes what a single device computes.
    Learned of_one;
    if (const Learned* known = find(data)) of_one[Coefficient::kernels] = (*known)[Coefficient::kernels];
    return of_one;
  }
  for (const Family like : {family, family ^ data}) {
    if (const Learned* known = find(like)) return *known;
  }
  Learned of_replicas;
  if (const Learned* known = find(data); known != nullptr && (family & data) != 0) {
    for (const Coefficient each : {Coefficient::gradient_alpha, Coefficient::gradient_beta, Coefficient::straggler_factor})
      of_replicas[each] = (*known)[each];
  }
  return of_replicas;
}

}  // namespace ddl
