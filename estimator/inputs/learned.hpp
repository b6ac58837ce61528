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

/// What the time of a step depends on in addition to the plan, and what is fitted to measured training runs, since neither a
/// profile of kernels nor a sweep of the network does.
enum class Coefficient {
  kernels,  ///< factor on all kernels
  /// Fraction of the work that a split would take off a layer and that every rank does all the same:
  /// T = T(split) + r·(T(whole) − T(split)).
  repeated,
  /// Factors on start-up and on time per byte of exchanges of one purpose: the framework's overhead over that of the link.
  /// Transfers between stages take the path of layers.
  gradient_alpha,
  gradient_beta,
  layer_alpha,
  layer_beta,
  halo_alpha,
  halo_beta,
  /// Seconds a byte of an Allreduce, among the ranks of a filter, channel or spatial split, of the weights of layers that
  /// have no positions, which software leaves whole: of 2(q−1)/q of them.
  unsharded_weight_sync,
  /// θ: mean delay of a node, over the time that its kernels, layer-wise exchanges and halos take. Delays by the operating
  /// system and by others are rare and long, so taken as exponential; of n nodes, for the slowest of which all wait, the
  /// expected longest is θ·(1 + 1/2 + … + 1/n), θ·ln n above a single node's [David, Nagaraja, Order Statistics, 2003].
  straggler_factor,
  per_iteration,    ///< seconds of several devices, whatever they do
  per_micro_batch,  ///< seconds of each stage for each micro-batch, whatever it does: of software, as its schedule's own
                    ///< work
  launch_overhead   ///< seconds that the host takes to start a kernel or an exchange: of the software, not of a family of
                    ///< plans
};

/// What a coefficient's value is in; in files and reports `unsharded_weight_sync` is the time of a gigabyte.
enum class CoefficientUnit { factor, fraction, number, seconds, seconds_per_byte };

/// What is thought of a coefficient before any run is seen. A factor f is 1 at best, and ln f is normal with this width;
/// anything else is zero at best, and half of a normal of this width.
struct Prior {
  double width = 1;
  double most = 0;  ///< above which it makes no sense; 0: no bound
};

/// What all that is not a formula needs to know about a coefficient.
struct CoefficientRow {
  Coefficient coefficient;
  std::string_view name;  ///< as a key in a file of coefficients
  CoefficientUnit unit;
  bool by_family;              ///< each family of plans has its own
  std::optional<Prior> prior;  ///< of one that measured runs are asked about
  std::string_view former{};   ///< the key in files of older versions, where it was another

  [[nodiscard]] constexpr bool is_factor() const { return unit == CoefficientUnit::factor; }
  /// With this nothing is learned, and every time is the sheet's.
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

/// A value of each coefficient, in seconds where it has a unit; neutral as constructed. `T` is a number that may carry
/// derivatives.
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

/// Of one family of plans.
using Learned = CoefficientValues<double>;
/// By family of plans; a family that no run was about has none.
using LearnedFamilies = std::vector<std::pair<Family, Learned>>;

/// Whether runs of this family, with replicas or without, have fitted factors.
[[nodiscard]] inline bool is_known(const LearnedFamilies& families, Family family) {
  constexpr Family data = family_bit(Axis::data);
  return std::any_of(families.begin(), families.end(), [&](const auto& of) { return (of.first | data) == (family | data); });
}

/// Of this family; else of the same one with replicas, or without: a split does not change where there is one replica or
/// several. Of a hybrid with replicas that no run was about, what is known of replicas alone: the path of gradients, and
/// how long nodes wait for each other. As constructed where nothing is known of any, and of one device.
[[nodiscard]] inline Learned learned_of(const LearnedFamilies& families, Family family) {
  constexpr Family data = family_bit(Axis::data);
  if (family == 0) return {};
  const auto find = [&](Family like) -> const Learned* {
    for (const auto& [known, learned] : families) {
      if (known == like) return &learned;
    }
    return nullptr;
  };
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
