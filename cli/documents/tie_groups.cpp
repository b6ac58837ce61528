#include "cli/documents/tie_groups.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/documents/intervals.hpp"
#include "cli/report/figures.hpp"
#include "core/find.hpp"

namespace ddl {

std::vector<TieGroup> tie_groups(std::size_t rows, const std::function<bool(std::size_t first, std::size_t row)>& ties,
                                 const std::function<bool(std::size_t row)>& breaks) {
  std::vector<TieGroup> groups;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!groups.empty() && !breaks(row) && ties(groups.back().first, row)) {
      groups.back().last = row;
    } else {
      groups.push_back({row, row});
    }
  }
  return groups;
}

std::size_t RankedRows::row_of(std::size_t position) const {
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), position) - order.begin());
}

const TieGroup* RankedRows::group_of(std::size_t row) const {
  return find_where(groups, [&](const TieGroup& each) { return each.first <= row && row <= each.last; });
}

RankedRows ranked_rows(const std::vector<Estimate>& ranked, Objective objective, bool allow_risk,
                       const std::optional<double>& chance) {
  RankedRows rows;
  rows.chance = chance;
  rows.order.resize(ranked.size());
  std::iota(rows.order.begin(), rows.order.end(), std::size_t{0});
  const auto verdict_of = [&](std::size_t at) { return allow_risk ? Verdict::fits : ranked[at].verdict; };
  // On equal devices, the cost is proportional to the time.
  std::ranges::stable_sort(rows.order, [&](std::size_t a, std::size_t b) {
    if (verdict_of(a) != verdict_of(b)) return verdict_of(a) < verdict_of(b);
    // Plans that are ranked by energy are already in order.
    if (objective == Objective::energy) return a < b;
    if (chance) return time_within(ranked[a], *chance) < time_within(ranked[b], *chance);
    return objective == Objective::memory ? ranked[a].memory.total() < ranked[b].memory.total()
                                          : ranked[a].time.step_time() < ranked[b].time.step_time();
  });
  rows.recommended = rows.row_of(0);
  if (objective == Objective::memory || objective == Objective::energy) return rows;
  rows.groups = tie_groups(
      ranked.size(),
      [&](std::size_t first, std::size_t row) {
        return !differ(ranked[rows.order[first]], ranked[rows.order[row]]).value_or(true);
      },
      [&](std::size_t row) { return verdict_of(rows.order[row]) != verdict_of(rows.order[row - 1]); });
  return rows;
}

std::vector<std::string> row_numbers(const RankedRows& rows) {
  const bool ties = std::ranges::any_of(rows.groups, [](const TieGroup& each) { return each.is_tie(); });
  const bool has_star = rows.recommended > 0 && rows.recommended < rows.order.size();
  const std::size_t width = std::to_string(rows.order.size()).size() + (has_star ? 1 : 0);
  std::vector<std::string> numbers;
  for (std::size_t row = 0; row < rows.order.size(); ++row) {
    std::string number = (has_star && row == rows.recommended ? "★" : "") + std::to_string(row + 1);
    number.insert(0, width - std::min(width, display_width(number)), ' ');
    const TieGroup* const group = rows.group_of(row);
    const bool in_tie = group != nullptr && group->is_tie();
    const char* const bracket = !in_tie ? " " : row == group->first ? "┌" : row == group->last ? "└" : "│";
    numbers.push_back(ties ? fmt::format("{} {}", bracket, number) : number);
  }
  return numbers;
}

std::string ties_text(const RankedRows& rows) {
  const auto tied = std::ranges::count_if(rows.groups, [](const TieGroup& each) { return each.is_tie(); });
  std::vector<std::string> ranges;
  for (const TieGroup& each : rows.groups) {
    if (!each.is_tie()) continue;
    const bool is_pair = tied == 1 && each.last == each.first + 1;
    ranges.push_back(fmt::format("{} {} {}", each.first + 1, is_pair ? "and" : "to", each.last + 1));
  }
  if (ranges.empty()) return {};
  return fmt::format("{}: {}; the difference is smaller than the prediction error", tied == 1 ? "tied" : "tied groups",
                     fmt::join(ranges, ", "));
}

}  // namespace ddl
