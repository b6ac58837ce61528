#include "cli/documents/tie_groups.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "cli/documents/headline.hpp"
#include "cli/report/formats/table_layout.hpp"
#include "tests/catch.hpp"

namespace tie_groups_tests {

using namespace ddl;

namespace {

/// Groups sorted numbers that tie if they differ by at most `within`.
std::vector<TieGroup> groups_of(const std::vector<int>& times, int within, std::size_t breaks_before = 0) {
  return tie_groups(
      times.size(), [&](std::size_t first, std::size_t row) { return std::abs(times[row] - times[first]) <= within; },
      [&](std::size_t row) { return breaks_before > 0 && row == breaks_before; });
}

std::string text_of(const std::vector<TieGroup>& groups) {
  std::string text;
  for (const TieGroup& each : groups) text += std::to_string(each.first) + "-" + std::to_string(each.last) + " ";
  return text;
}

/// Rows in the order of the ranking, with these groups.
RankedRows rows_of(std::size_t rows, std::vector<TieGroup> groups, std::size_t recommended = 0) {
  RankedRows made;
  for (std::size_t row = 0; row < rows; ++row) made.order.push_back(row);
  made.groups = std::move(groups);
  made.recommended = recommended;
  return made;
}

Bytes gib(double count) { return Bytes(count * 1024 * 1024 * 1024); }

}  // namespace

TEST_CASE("each row of a group ties with the first row of the group, and groups cover all rows once") {
  // 10 and 14 tie within 4, 15 does not tie with 10; 15 and 19 tie; 30 is alone.
  CHECK(text_of(groups_of({10, 12, 14, 15, 19, 30}, 4)) == "0-2 3-4 5-5 ");
  CHECK(text_of(groups_of({1, 1, 1}, 0)) == "0-2 ");
  CHECK(text_of(groups_of({1, 2, 3}, 0)) == "0-0 1-1 2-2 ");
  CHECK(groups_of({}, 3).empty());
}

TEST_CASE("a group ends where the verdict changes, even if times tie") {
  CHECK(text_of(groups_of({5, 5, 5, 5}, 1, 2)) == "0-1 2-3 ");
}

TEST_CASE("a bracket joins the rows of a tie, and a star marks a recommended row that is not the first") {
  CHECK(row_numbers(rows_of(5, {{0, 2}, {3, 3}, {4, 4}})) == std::vector<std::string>{"┌ 1", "│ 2", "└ 3", "  4", "  5"});
  CHECK(row_numbers(rows_of(3, {{0, 2}}, 1)) == std::vector<std::string>{"┌  1", "│ ★2", "└  3"});
  CHECK(row_numbers(rows_of(2, {{0, 0}, {1, 1}})) == std::vector<std::string>{"1", "2"});
  CHECK(row_numbers(rows_of(10, {{0, 9}})).front() == "┌  1");
  CHECK(row_numbers(rows_of(10, {{0, 9}})).back() == "└ 10");
}

TEST_CASE("the text below a table names the tied rows") {
  CHECK(ties_text(rows_of(6, {{0, 2}, {3, 3}, {4, 5}})) ==
        "tied groups: 1 to 3, 5 to 6; the difference is smaller than the prediction error");
  CHECK(ties_text(rows_of(2, {{0, 0}, {1, 1}})).empty());
}

TEST_CASE("bars that differ by one sign are not shown, because the difference may come from rounding") {
  // 16 signs: 0.5 is 8 signs, 0.56 is 9, 0.63 is 10.
  Bars bars{.column = 0, .pieces = {"a"}, .shares = {{0.5}, {0.56}}};
  CHECK_FALSE(bars_differ(bars));
  bars.shares.push_back({0.63});
  CHECK(bars_differ(bars));
  bars.shares = {{0.5}};
  CHECK(bars_differ(bars));
}

TEST_CASE("a memory bar has 20 signs, and shows that something is used, and something is free") {
  // 60.8 of 79.1 is 15.4 signs, 72.3 of 79.1 is 18.3 signs.
  CHECK(memory_gauge(gib(60.8), gib(72.3), gib(79.1)) == "▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▒▒▒░░");
  CHECK(memory_gauge(gib(0.01), gib(0.02), gib(80)) == "▇░░░░░░░░░░░░░░░░░░░");
  CHECK(memory_gauge(gib(79.9), gib(79.95), gib(80)) == "▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇░");
  CHECK(memory_gauge(gib(70), gib(90), gib(80)) == "▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▒▒");
  CHECK(memory_gauge(gib(90), gib(95), gib(80)) == "▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇");
}

TEST_CASE("the year of a price is the last year that its citation names") {
  CHECK(year_in("Amazon EC2 p5.48xlarge, on demand in US East in 2023: 98.32 USD an hour") == "2023");
  CHECK(year_in("price of 2021, raised in 2024") == "2024");
  CHECK(year_in("a list price") == "");
  CHECK(year_in("2050000 USD and 12.2025 percent") == "");
}

}  // namespace tie_groups_tests
