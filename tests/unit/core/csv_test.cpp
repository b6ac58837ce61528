#include "core/csv.hpp"

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

std::string error_in(const std::string& text) {
  return error_of([&] { (void)CsvTable::parse(text, "t.csv"); });
}

}  // namespace

TEST_CASE("a CSV table has named columns and rows of cells") {
  const CsvTable table = CsvTable::parse("name,time\nconv,1.5\nfc,2\n", "t.csv");
  CHECK(table.columns() == std::vector<std::string>{"name", "time"});
  REQUIRE(table.rows() == 2);
  CHECK(table.cell(1, table.column("name")) == "fc");
  CHECK(table.find_column("time") == std::size_t{1});
  CHECK_FALSE(table.find_column("Time"));
}

TEST_CASE("a header alone is a table without rows") {
  CHECK(CsvTable::parse("a,b", "t.csv").rows() == 0);
  CHECK(CsvTable::parse("a,b\n\n", "t.csv").rows() == 0);
}

TEST_CASE("line breaks of both kinds, a byte-order mark and a missing last break make no difference") {
  for (const std::string text : {"a,b\n1,2\n", "a,b\r\n1,2\r\n",
                                 "\xEF\xBB\xBF"
                                 "a,b\n1,2",
                                 "\n  \na,b\n\r\n \t\n1,2\n\n"}) {
    const CsvTable table = CsvTable::parse(text, "t.csv");
    CHECK(table.columns() == std::vector<std::string>{"a", "b"});
    REQUIRE(table.rows() == 1);
    CHECK(table.cell(0, 0) == "1");
    CHECK(table.cell(0, 1) == "2");
  }
}

TEST_CASE("quoted cells may hold commas, quotes and line breaks") {
  const CsvTable table = CsvTable::parse("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"two\r\nlines\",\"\"\n", "t.csv");
  REQUIRE(table.rows() == 2);
  CHECK(table.cell(0, 0) == "x,y");
  CHECK(table.cell(0, 1) == "say \"hi\"");
  CHECK(table.cell(1, 0) == "two\r\nlines");
  CHECK(table.cell(1, 1).empty());
}

TEST_CASE("empty cells are kept, spaces belong to their cell") {
  const CsvTable table = CsvTable::parse("a,b,c\n,,\n x ,,y\n", "t.csv");
  REQUIRE(table.rows() == 2);
  CHECK(table.cell(0, 2).empty());
  CHECK(table.cell(1, 0) == " x ");
}

TEST_CASE("numbers are read, and empty cells have no number") {
  const CsvTable table = CsvTable::parse("x,n\n-1.5e3,12\n,\n", "t.csv");
  CHECK(table.number(0, 0) == -1500.0);
  CHECK(table.positive_integer(0, 1) == 12);
  CHECK_FALSE(table.number(1, 0));
  CHECK_FALSE(table.positive_integer(1, 1));
}

TEST_CASE("a cell that is not a finite number is refused with its position") {
  const CsvTable table = CsvTable::parse("name,time\nfc,fast\n,nan\n,1e999\n,inf\n, 1\n,1 s\n", "t.csv");
  CHECK(error_of([&] { (void)table.number(0, 1); }) ==
        "t.csv:2:4: 'fast' is not a finite number\n  fc,fast\n     ^\nhint: column 'time' must contain numbers");
  for (std::size_t row = 1; row < table.rows(); ++row) {
    CHECK(error_of([&] { (void)table.number(row, 1); }).find("is not a finite number") != std::string::npos);
  }
}

TEST_CASE("a cell that is not a positive whole number is refused with its position") {
  const CsvTable table = CsvTable::parse("n\n0\n-1\n1.5\n99999999999999999999\n1e3\n", "t.csv");
  CHECK(error_of([&] { (void)table.positive_integer(0, 0); }) ==
        "t.csv:2:1: '0' is not a positive whole number\n  0\n  ^\nhint: column 'n' must contain positive whole numbers");
  for (std::size_t row = 1; row < table.rows(); ++row) {
    CHECK(error_of([&] { (void)table.positive_integer(row, 0); }).find("is not a positive whole number") !=
          std::string::npos);
  }
}

TEST_CASE("an error of the caller is placed at the cell, on the right line after a cell of several lines") {
  const CsvTable table = CsvTable::parse("a,b\n\"x\ny\",1\nz,2\n", "t.csv");
  CHECK(error_of([&] { table.fail(1, 1, "too small", "try 3"); }) == "t.csv:4:3: too small\n  z,2\n    ^\nhint: try 3");
  CHECK(error_of([&] { table.fail(0, 0, "bad"); }) == "t.csv:2:1: bad\n  \"x\n  ^");
}

TEST_CASE("a missing column is reported at the header with the nearest name") {
  const CsvTable table = CsvTable::parse("\nname,time\n", "t.csv");
  CHECK(error_of([&] { (void)table.column("tiem"); }) ==
        "t.csv:2:1: the column 'tiem' is missing\n  name,time\n  ^\nhint: rename the column 'time'");
  CHECK(error_of([&] { (void)table.column("memory"); }).ends_with("hint: add the column to this line, and its values"));
}

TEST_CASE("an unknown column is refused at its name") {
  const CsvTable table = CsvTable::parse("name,tiem\n", "t.csv");
  const std::array<std::string_view, 2> known{"name", "time"};
  CHECK(error_of([&] { table.only_columns(known); }) ==
        "t.csv:1:6: unknown column 'tiem'\n  name,tiem\n       ^\nhint: did you mean 'time'?");
  CHECK(error_of([&] { CsvTable::parse("time\n", "t.csv").only_columns(known); }) == "no error");
}

TEST_CASE("a row knows the line on which it starts") {
  const CsvTable table = CsvTable::parse("a\n\"x\ny\"\n\nz\n", "t.csv");
  CHECK(table.line(0) == 2);
  CHECK(table.line(1) == 5);
}

TEST_CASE("an empty file is refused") {
  CHECK(error_in("") == "t.csv:1:1: the file is empty\nhint: the first line names the columns");
  CHECK(error_in("\n \r\n\n").starts_with("t.csv:1:1: the file is empty"));
}

TEST_CASE("a column without a name is refused") {
  CHECK(error_in("a,,b\n") == "t.csv:1:3: a column has no name\n  a,,b\n    ^\nhint: the first line names the columns");
  CHECK(error_in("a,\n").starts_with("t.csv:1:3: a column has no name"));
}

TEST_CASE("two columns of one name are refused") {
  CHECK(error_in("a,b,a\n") == "t.csv:1:5: two columns are named 'a'\n  a,b,a\n      ^");
}

TEST_CASE("a row with too many or too few cells is refused") {
  CHECK(error_in("a,b\n1,2,3\n") ==
        "t.csv:2:5: this row has 3 cells, but there are 2 columns\n  1,2,3\n      ^\nhint: put a cell that contains a comma "
        "into \"quotes\"");
  CHECK(error_in("a,b\n1\n").starts_with("t.csv:2:1: this row has 1 cells, but there are 2 columns"));
}

TEST_CASE("in CSV, an unclosed quote is refused with the position of its start") {
  CHECK(error_in("a\n\"x\ny\n") ==
        "t.csv:2:1: this quote is never closed\n  \"x\n  ^\nhint: a quote inside a quoted cell is doubled: \"\"");
}

TEST_CASE("a quote inside an unquoted cell is refused") {
  CHECK(error_in("a\nx\"y\n") ==
        "t.csv:2:2: a quote inside an unquoted cell\n  x\"y\n   ^\nhint: put the whole cell into \"quotes\" and double the "
        "quotes "
        "inside it");
}

TEST_CASE("text behind a quoted cell is refused") {
  CHECK(error_in("a\n\"x\"y\n") ==
        "t.csv:2:4: text after the end of a quoted cell\n  \"x\"y\n     ^\nhint: a quote inside a quoted cell is doubled: "
        "\"\"");
}

TEST_CASE("a table that is not text is refused") {
  CHECK(error_in(std::string("a\n\0", 3)).starts_with("t.csv:2:1: not a text file"));
}

TEST_CASE("a table that cannot be read is named") {
  CHECK(error_of([] { (void)CsvTable::load("no/such.csv"); }) ==
        "cannot read 'no/such.csv': No such file or directory\nhint: check the spelling; a path is relative to the current "
        "folder, or starts with /");
}

TEST_CASE("a cell is quoted only if necessary") {
  CHECK(csv_cell("plain text") == "plain text");
  CHECK(csv_cell("").empty());
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("a\"b") == "\"a\"\"b\"");
  CHECK(csv_cell("a\nb") == "\"a\nb\"");
  CHECK(csv_cell("a\rb") == "\"a\rb\"");
  CHECK(csv_cell(" ") == "\" \"");
  CHECK(csv_cell("a ") == "\"a \"");
  CHECK(csv_cell("a b") == "a b");
  CHECK(csv_cell("\xef\xbb\xbfx") == "\"\xef\xbb\xbfx\"");
}

TEST_CASE("reading a written table returns the same table") {
  std::mt19937_64 random(3);
  const std::array<std::string, 8> pieces{"a", ",", "\"", "\n", "\r\n", " ", "\u00B5", "1"};
  std::uniform_int_distribution<std::size_t> piece(0, pieces.size() - 1);
  std::uniform_int_distribution<int> length(0, 5);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::vector<std::string>> rows(3, std::vector<std::string>(3, "x"));
    std::string text = "a,b,c\n";
    for (auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        for (int n = length(random); n > 0; --n) row[i] += pieces[piece(random)];
        text += (i > 0 ? "," : "") + csv_cell(row[i]);
      }
      text += "\n";
    }
    const CsvTable table = CsvTable::parse(text, "t.csv");
    CAPTURE(text);
    REQUIRE(table.rows() == rows.size());
    for (std::size_t i = 0; i < 9; ++i) REQUIRE(table.cell(i / 3, i % 3) == rows[i / 3][i % 3]);
  }
}

TEST_CASE("every broken text is refused") {
  std::mt19937_64 random(4);
  const std::string alphabet = "a1,\"\n\r \t\xC3\xA9";
  std::uniform_int_distribution<std::size_t> letter(0, alphabet.size() - 1);
  std::uniform_int_distribution<std::size_t> length(0, 30);
  for (int round = 0; round < 5000; ++round) {
    std::string text(length(random), ' ');
    for (char& c : text) c = alphabet[letter(random)];
    (void)error_in(text);
  }
  SUCCEED();
}

TEST_CASE("a cell that is too long is refused") {
  const std::string longest(CsvTable::max_cell, 'x');
  CHECK(CsvTable::parse("a\n" + longest + '\n', "t.csv").cell(0, 0) == longest);
  CHECK(error_of([&] {
          (void)CsvTable::parse("a,b\n1," + longest + "x\n", "t.csv");
        }).starts_with("t.csv:2:3: a cell of more than 10000 characters"));
  CHECK(error_of([&] {
          (void)CsvTable::parse("a,b\n1,\"" + longest + "x\"\n", "t.csv");
        }).starts_with("t.csv:2:3: a cell of more than 10000 characters"));
}
