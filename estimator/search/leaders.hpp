#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "estimator/plan/mesh.hpp"
#include "estimator/search/rank.hpp"

namespace ddl {

/// The best plan of each family so far.
class Leaders {
 public:
  explicit Leaders(const SearchOptions& options) : wanted_(static_cast<std::size_t>(options.top)), tie_(options.tie) {}

  /// Adds a plan that is better than all earlier plans of its family.
  void set(Family family, const Rank& rank);

  /// Returns whether the requested number of plans has been found.
  [[nodiscard]] bool are_enough() const { return wanted_ > 0 && leaders_.size() >= wanted_; }
  /// Returns the rank of the plan in the last requested place. Plans that tie with this plan may be
  /// ranked before it. Unset if there are fewer plans.
  [[nodiscard]] const std::optional<Rank>& last() const { return last_; }

 private:
  std::size_t wanted_;
  double tie_;
  std::vector<std::pair<Rank, Family>> leaders_;  ///< best first
  std::optional<Rank> last_;
};

}  // namespace ddl
