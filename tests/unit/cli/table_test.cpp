#include "cli/formats/table.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/documents/fields.hpp"
#include "core/csv.hpp"
#include "tests/catch.hpp"

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

Table two_columns() { return Table({{"name", Table::Align::left}, {"size"}}); }

}  // namespace

TEST_CASE("columns are as wide as their widest cell, names to the left and figures to the right") {
  Table table = two_columns();
  table.add({"a", "1,024"});
  table.add({"longer", "8"});
  CHECK(table.text("") ==
        "name     size\n"
        "a       1,024\n"
        "longer      8\n");
}

TEST_CASE("a heading can be the widest cell, and a table without rows is its headings") {
  Table table = two_columns();
  CHECK(table.empty());
  CHECK(table.text("> ") == "> name  size\n");
  table.add({"a", "1"});
  CHECK_FALSE(table.empty());
  CHECK(table.text("> ") ==
        "> name  size\n"
        "> a        1\n");
}

TEST_CASE("no line ends in blanks") {
  Table table({{"name", Table::Align::left}, {"note", Table::Align::left}});
  table.add({"a", ""});
  table.add({"b", "long enough"});
  std::istringstream lines(table.text());
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line == line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

TEST_CASE("letters of several bytes take one column") {
  CHECK(display_width("3×224×224") == 9);
  CHECK(display_width("α β") == 3);
  CHECK(display_width("") == 0);
  Table table = two_columns();
  table.add({"×", "1"});
  table.add({"xx", "2"});
  CHECK(table.text("") ==
        "name  size\n"
        "×        1\n"
        "xx       2\n");
}

TEST_CASE("a count has thousands and a plural") {
  CHECK(count_text(0, "GPU") == "0 GPUs");
  CHECK(count_text(1, "GPU") == "1 GPU");
  CHECK(count_text(1024, "GPU") == "1,024 GPUs");
}

TEST_CASE("text is broken between words, and what follows is indented") {
  CHECK(wrap_text("one two three", 100, "  ") == "one two three");
  CHECK(wrap_text("one two three", 7, "  ") == "one two\n  three");
  // "  three" has seven columns already.
  CHECK(wrap_text("one two three four", 7, "  ") == "one two\n  three\n  four");
  CHECK(wrap_text("", 7, "  ").empty());
}

TEST_CASE("a word that is longer than the line stands alone, whole") {
  CHECK(wrap_text("a incomprehensibly b", 5, "") == "a\nincomprehensibly\nb");
}

TEST_CASE("objects become CSV: keys as names, lists joined, null empty, commas and quotes quoted") {
  const Json objects = Json::parse(R"([
    {"name": "a", "figure": 0.5, "flag": true, "list": [2, 1], "none": null},
    {"name": "b, \"c\"", "figure": 3, "flag": false, "list": [], "none": null}])");
  CHECK(csv_of(objects) ==
        "name,figure,flag,list,none\n"
        "a,0.5,true,2 1,\n"
        "\"b, \"\"c\"\"\",3,false,,\n");
}

TEST_CASE("a row whose first cell is empty has as many cells as the others") {
  const std::string text = csv_of(Json::parse(R"([{"rank": 1, "name": "a"}, {"rank": null, "name": "b"}])"));
  CHECK(text == "rank,name\n1,a\n,b\n");
  CHECK(CsvTable::parse(text, "t.csv").rows() == 2);
}

TEST_CASE("no objects are no text") { CHECK(csv_of(Json::array()).empty()); }

TEST_CASE("a number in CSV is read back as the same number") {
  const double figure = 0.1 + 0.2;
  const CsvTable table = CsvTable::parse(csv_of(Json::array({{{"time_s", figure}}})), "t.csv");
  CHECK(table.number(0, table.column("time_s")) == figure);
}

TEST_CASE("the fields of a row are its object in JSON and its columns of CSV") {
  struct Point {
    int x = 0, y = 0;
  };
  using Formats = Field<Point>::Formats;
  const Fields<Point> fields{{"x", [](const Point& point) { return Json(point.x); }},
                             {"y", [](const Point& point) { return Json(point.y); }, "inside"},
                             {"list",
                              [](const Point&) {
                                return Json{1, 2};
                              },
                              {},
                              Formats::json},
                             {"text", [](const Point&) { return Json("1, 2"); }, {}, Formats::csv}};
  const Point point{3, 4};
  CHECK(json_of(fields, point).dump() == R"({"x":3,"inside":{"y":4},"list":[1,2]})");
  CHECK(csv_of(fields, std::vector<Point>{point}) == "x,y,text\n3,4,\"1, 2\"\n");
  CHECK(csv_row<Point>(fields, nullptr).dump() == R"({"x":null,"y":null,"text":null})");
}
