#pragma once

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

/// Returns the meshes in which one dimension has a prime factor less than in `mesh`, and another dimension has that factor
/// more.
[[nodiscard]] std::vector<Mesh> neighbors_of(const Mesh& mesh);

/// Returns a few of the searched meshes that are common in practice: few stages, and splits of layers and experts in a node.
[[nodiscard]] std::vector<Mesh> usual_meshes(const SearchOptions& options, const ModelFacts& facts, const Machine& machine);

/// Enumerates all ways to write `devices` as a product of degrees.
class Degrees {
 public:
  /// Takes a mesh and its family. Returns whether to go on.
  using Take = std::function<bool(Family family, const Mesh& mesh)>;
  Degrees(const SearchOptions& options, const ModelFacts& facts);
  /// Calls `take` for each mesh of the families that the options request. Meshes of one family come in a fixed order.
  void each(const Take& take) const;

 private:
  /// Returns whether to go on.
  bool fill(Mesh& mesh, std::size_t slot, std::int64_t left, const Take& take) const;

  /// Returns whether the model has nothing that the axis could divide, and the user did not request the axis.
  [[nodiscard]] bool is_never_used(std::size_t slot) const;

  const SearchOptions& options_;
  int spatial_rank_;
  bool square_;
  const ModelFacts& facts_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> divisors_;  ///< keyed by the divisors of the number of devices
};

}  // namespace ddl
