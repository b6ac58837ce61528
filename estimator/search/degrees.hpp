#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// Returns all divisors of a number, in ascending order.
[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t number);

/// Returns the meshes that result if one prime factor moves from one dimension of `mesh` to another dimension.
[[nodiscard]] std::vector<Mesh> neighbors_of(const Mesh& mesh);

/// Returns a few of the searched meshes that are common in practice: few stages, and splits of layers and experts in a node.
[[nodiscard]] std::vector<Mesh> usual_meshes(const SearchOptions& options, const ModelFacts& facts, const Machine& machine);

/// Enumerates all ways to write `devices` as a product of degrees.
class Degrees {
 public:
  /// Takes a mesh and its family. Returns whether to continue.
  using Take = std::function<bool(Family family, const Mesh& mesh)>;
  Degrees(const SearchOptions& options, const ModelFacts& facts);
  /// Calls `take` for each mesh of the families that the options request. Meshes of one family come in a fixed order.
  void each(const Take& take) const;

 private:
  /// Fills the degrees from `slot` on, whose product is `left`. `used`: the axes with a degree above one so far. Returns
  /// whether to continue.
  bool fill(Mesh& mesh, std::size_t slot, std::int64_t left, Family used, const Take& take) const;

  static constexpr std::size_t families = std::size_t{1} << axis_count;
  std::int64_t devices_;
  int spatial_rank_;
  bool square_;
  std::array<bool, families> is_searched_{};  ///< for each family, whether it is searched
  std::array<bool, families> leads_{};        ///< for each set of axes, whether a searched family has all of them
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> divisors_;  ///< keyed by the divisors of the number of devices
};

}  // namespace ddl
