#pragma once

#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// What measured training runs say that neither a profile of kernels nor a sweep of the network does, for one family of
/// plans: factors on what the machine's sheet says, and times of the software that no sheet knows. As constructed, nothing
/// is learned and every price is the sheet's.
struct Learned {
  /// Factors on start-up and on time per byte of exchanges of one purpose: the framework's path beside the link's.
  struct Path {
    double alpha = 1, beta = 1;
    friend bool operator==(const Path&, const Path&) = default;
  };
  Path gradient, layer, halo;  ///< transfers between stages take the path of layers
  double kernels = 1;          ///< factor on all kernels
  /// Fraction of the work that a split would take off a layer and that every rank does all the same:
  /// T = T(split) + r·(T(whole) − T(split)).
  double repeated = 0;
  /// Allreduce, among the ranks of a filter, channel or spatial split, of the weights of layers that have no positions,
  /// which software leaves whole: time per byte of 2(q−1)/q of them.
  SecondsPerByte whole_weights{};
  /// θ: mean delay of a node, over the time that its kernels, layer-wise exchanges and halos take. Delays by the operating
  /// system and by others are rare and long, so taken as exponential; of n nodes, for the slowest of which all wait, the
  /// expected longest is θ·(1 + 1/2 + … + 1/n), θ·ln n above a single node's [David, Nagaraja, Order Statistics, 2003].
  double straggling = 0;
  Seconds per_iteration{};  ///< of several devices, whatever they do
  friend bool operator==(const Learned&, const Learned&) = default;
};

/// By family of plans; a family that no run was about has none.
using LearnedFamilies = std::vector<std::pair<Family, Learned>>;

/// Of this family; else of the same one with replicas, or without: a split does not change where there is one replica or
/// several. As constructed where nothing is known of either, and of one device.
[[nodiscard]] inline Learned learned_of(const LearnedFamilies& families, Family family) {
  for (const Family like : {family, family ^ family_bit(Axis::data)}) {
    for (const auto& [known, learned] : families) {
      if (known == like && family != 0) return learned;
    }
  }
  return {};
}

}  // namespace ddl
