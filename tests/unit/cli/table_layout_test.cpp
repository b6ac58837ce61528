#include "cli/report/formats/table_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cli/report/figures.hpp"
#include "cli/report/formats/page.hpp"
#include "cli/report/formats/text.hpp"
#include "tests/catch.hpp"

namespace table_layout_tests {

using namespace ddl;

namespace {

std::string text_of(const Table& table, const Page& page) {
  Document document;
  document.add(table);
  return text_of(document, Style(false, page));
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

std::vector<std::size_t> columns_of(const TableLayout& layout) {
  std::vector<std::size_t> columns;
  for (const TableLayout::Shown& each : layout.columns) columns.push_back(each.column);
  return columns;
}

/// Returns a table of random columns and cells, some of which are longer than any page.
Table random_table(std::mt19937& random) {
  const auto number = [&](std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random);
  };
  const auto text = [&](std::size_t most) {
    static const std::vector<std::string> letters{"a", "7", "×", "φ", "b", "c", " ", "▇"};
    std::string made;
    for (std::size_t i = number(0, most); i > 0; --i) made += letters[number(0, letters.size() - 1)];
    return made;
  };
  std::vector<Column> columns;
  for (std::size_t i = number(1, 12); i > 0; --i) {
    Column column = number(0, 1) == 0 ? words(text(12)) : figures(text(12));
    if (number(0, 5) == 0) column = prose(text(9));
    column.keep = static_cast<Keep>(number(0, 2));
    columns.push_back(std::move(column));
  }
  columns[number(0, columns.size() - 1)].keep = Keep::always;
  Table table(columns, number(0, 4));
  for (std::size_t row = number(0, 5); row > 0; --row) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < columns.size(); ++i) cells.push_back(text(number(0, 9) == 0 ? 150 : 20));
    table.add(std::move(cells));
  }
  if (number(0, 1) == 0) {
    table.bars = Bars{number(0, columns.size() - 1), {"one", "two"}, {}};
    for (std::size_t row = 0; row < table.rows.size(); ++row) table.bars->shares.push_back({0.3, 0.7});
  }
  return table;
}

}  // namespace

TEST_CASE("no table is wider than its page, except on a wide page") {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Table table = random_table(random);
    for (const std::size_t width : {20U, 37U, 80U, 100U, 120U}) {
      for (const bool ascii : {false, true}) {
        const std::string text = text_of(table, {.width = width, .ascii = ascii});
        INFO(width << "\n" << text);
        CHECK(widest_line(text) <= width);
      }
    }
    CHECK(layout_of(table, {.wide = true}).columns.size() == table.columns.size());
    CHECK_FALSE(layout_of(table, {.wide = true}).cuts);
  }
}

TEST_CASE("columns are dropped from the right, useful ones before essential ones, and each is named") {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const Table table = random_table(random);
    for (std::size_t width = 20; width < 160; width += 7) {
      const TableLayout layout = layout_of(table, {.width = width});
      const std::vector<std::size_t> shown = columns_of(layout);
      INFO(width << "\n" << text_of(table, {.width = width}));
      REQUIRE_FALSE(shown.empty());
      CHECK(std::is_sorted(shown.begin(), shown.end()));
      const auto is_shown = [&](std::size_t c) { return std::find(shown.begin(), shown.end(), c) != shown.end(); };
      bool useful_lost = false, essential_lost = false, any_useful = false;
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const bool is_bar = table.bars && table.bars->column == c;
        const bool says_nothing = is_bar && table.columns[c].keep == Keep::useful && !bars_differ(*table.bars);
        const Keep keep = says_nothing ? Keep::asked : table.columns[c].keep;
        if (keep == Keep::asked) CHECK_FALSE(is_shown(c));
        // To the right of a dropped column, there is no column of the same kind.
        if (keep == Keep::useful) {
          CHECK_FALSE((useful_lost && is_shown(c)));
          useful_lost = useful_lost || !is_shown(c);
          any_useful = any_useful || is_shown(c);
        }
        if (keep == Keep::always) {
          CHECK_FALSE((essential_lost && is_shown(c)));
          essential_lost = essential_lost || !is_shown(c);
        }
      }
      CHECK_FALSE((essential_lost && any_useful));
      CHECK(layout.left_out.size() + shown.size() == table.columns.size());
    }
  }
}

TEST_CASE("a wider page never has fewer columns") {
  std::mt19937 random(13);
  for (int i = 0; i < 500; ++i) {
    const Table table = random_table(random);
    std::size_t before = 0;
    for (std::size_t width = 20; width < 400; width += 3) {
      const std::size_t now = layout_of(table, {.width = width}).columns.size();
      CHECK(now >= before);
      before = now;
    }
  }
}

TEST_CASE("the table lists dropped columns, and prose continues below") {
  Table table({essential(words("plan")), essential(figures("step")), figures("epoch"), if_asked(figures("+ backward")),
               prose("why")});
  table.add({"dp64", "1.80 s", "3 h 31 min", "1.1 s", "because the others are slower by far"});
  CHECK(text_of(table, {.width = 52}) ==
        "  plan    step       epoch  why\n"
        "  dp64  1.80 s  3 h 31 min  because the others are\n"
        "                            slower by far\n"
        "  --wide also has: backward\n");
  CHECK(text_of(table, {.width = 25}) ==
        "  plan    step\n"
        "  dp64  1.80 s\n"
        "  --wide also has:\n"
        "    epoch, backward, why\n");
  CHECK(text_of(table, {.width = 30, .wide = true}) ==
        "  plan    step       epoch  + backward  why\n"
        "  dp64  1.80 s  3 h 31 min       1.1 s  because the others are slower by far\n");
}

TEST_CASE("a bar is as long as its shares, with other characters in ASCII") {
  Table table({essential(words("plan")), words("time")}, 0);
  table.add({"dp64", "computing 75 %, waiting 25 %"});
  table.bars = Bars{1, {"computing", "waiting"}, {{0.75, 0.25}}};
  CHECK(text_of(table, {}) == "plan  time\ndp64  ▇▇▇▇▇▇▇▇▇▇▇▇▒▒▒▒\n▇ computing, ▒ waiting\n");
  CHECK(text_of(table, {.ascii = true}) == "plan  time\ndp64  ############====\n# computing, = waiting\n");
}

TEST_CASE("an ASCII text has only ASCII characters, with replacements") {
  CHECK(ascii_of("dp64·tp8: 3×224 → α, 50 %…") == "dp64.tp8: 3x224 > alpha, 50 %...");
  CHECK(ascii_of("é 日 \U0001F600") == "\\u00E9 \\u65E5 \\U0001F600");
  CHECK(ascii_of("\xff\xc3") == "\\u00FF\\u00C3");
}

TEST_CASE("prose wraps at the page's width, and a number stays with its unit") {
  Document document;
  document.line("needs 11 GiB of memory");
  CHECK(text_of(document, Style(false, {.width = 20})) == "needs 11 GiB of\n  memory\n");
  Document number;
  number.line("it needs as many 11 GiB");
  CHECK(text_of(number, Style(false, {.width = 20})) == "it needs as many\n  11 GiB\n");
}

TEST_CASE("COLUMNS sets the width of the page, and the locale sets the character set") {
  const auto with = [](const char* name, const char* value) { setenv(name, value, 1); };
  with("LC_ALL", "C");
  with("COLUMNS", "83");
  CHECK(page_of_output(true).width == 83);
  CHECK_FALSE(page_of_output(true).ascii);
  CHECK(page_of_output(false).ascii);
  with("LC_ALL", "de_DE.UTF-8");
  CHECK_FALSE(page_of_output(false).ascii);
  for (const char* const nonsense : {"", "0", "-4", "wide", "80x", "99999999999999999999999"}) {
    with("COLUMNS", nonsense);
    CHECK(page_of_output(true).width == Page::usual_width);
  }
  with("COLUMNS", "3");
  CHECK(page_of_output(true).width == Page::least_width);
}

}  // namespace table_layout_tests
