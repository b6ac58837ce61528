#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Consecutive rows of a ranking, from `first` to `last` (counted from 0), that tie with the row `first`.
struct TieGroup {
  std::size_t first = 0, last = 0;
  [[nodiscard]] bool is_tie() const { return last > first; }
};

/// Divides `rows` rows into groups. A row joins the group of the row before if `ties(first, row)` is true for the first row
/// of that group. `breaks(row)`: whether a group has to end before this row.
[[nodiscard]] std::vector<TieGroup> tie_groups(std::size_t rows,
                                               const std::function<bool(std::size_t first, std::size_t row)>& ties,
                                               const std::function<bool(std::size_t row)>& breaks);

/// Ranked plans in the order of a table: plans that fit first (unless the user accepts plans at risk), then by the
/// objective. The search ranks simple plans before plans that are hardly faster, so its first plan, which is recommended,
/// may be in a later row.
struct RankedRows {
  std::vector<std::size_t> order{};  ///< for each row, the position of its plan in the search's ranking
  std::vector<TieGroup> groups{};    ///< empty if plans are ranked by memory
  std::size_t recommended = 0;       ///< the row of the search's first plan
  std::optional<double> chance{};    ///< with --risk: the probability of the times by which plans are ranked

  /// Returns the row of the plan at this position of the search's ranking, counted from 0.
  [[nodiscard]] std::size_t row_of(std::size_t position) const;
  /// Returns the group of a row; null if plans are not grouped.
  [[nodiscard]] const TieGroup* group_of(std::size_t row) const;
};
/// `chance`: plans are ranked by the time that a step does not exceed with this probability. If unset, by the predicted
/// time.
[[nodiscard]] RankedRows ranked_rows(const std::vector<Estimate>& ranked, Objective objective, bool allow_risk,
                                     const std::optional<double>& chance = {});

/// Returns a number for each row, counted from 1, after a bracket around the rows of a tie: `┌ 1`, `│ 2`, `└ 10`. The
/// recommended row is marked with a star if it is not the first: `│ ★3`.
[[nodiscard]] std::vector<std::string> row_numbers(const RankedRows& rows);
/// Says which rows tie: `tied groups: 1 to 8, 9 to 10; …`; empty if none does.
[[nodiscard]] std::string ties_text(const RankedRows& rows);

}  // namespace ddl
