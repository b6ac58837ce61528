#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// Returns all divisors of a number, in ascending order.
[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t number);

/// Enumerates all ways to write `devices` as a product of degrees, grouped by family.
class Degrees {
 public:
  Degrees(const SearchOptions& options, const ModelFacts& facts);
  [[nodiscard]] const std::map<Family, std::vector<Mesh>>& by_family() const { return by_family_; }

 private:
  void fill(Mesh& mesh, std::size_t slot, std::int64_t left);

  /// Returns whether the model has nothing that the axis could divide, and the user did not request the axis.
  [[nodiscard]] bool is_never_used(std::size_t slot) const;

  const SearchOptions& options_;
  int spatial_rank_;
  bool square_;
  const ModelFacts& facts_;
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> divisors_;  ///< keyed by the divisors of the number of devices
  std::map<Family, std::vector<Mesh>> by_family_;
};

}  // namespace ddl
