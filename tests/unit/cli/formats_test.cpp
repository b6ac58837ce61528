#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/formats/format.hpp"
#include "cli/report/formats/text.hpp"
#include "cli/report/formats/whole_bytes.hpp"
#include "core/csv.hpp"
#include "tests/catch.hpp"

namespace formats_tests {

using namespace ddl;
using Json = nlohmann::ordered_json;

namespace {

Table two_columns() { return Table({words("name"), figures("size")}, 0); }

std::string text_of(Block block, bool colored = false) {
  Document document;
  document.add(std::move(block));
  return text_of(document, Style(colored));
}

}  // namespace

TEST_CASE("numbers of bytes are whole, other numbers are not changed") {
  const Json value{{"total_bytes", 1.5}, {"bytes", {2.25, nullptr}}, {"per_byte", 0.5}, {"in", {{"a_bytes", 3e30}}}};
  CHECK(with_whole_bytes(value).dump() == R"({"total_bytes":2,"bytes":[2,null],"per_byte":0.5,"in":{"a_bytes":3e+30}})");
  CHECK(csv_of(Json::array({Json{{"a_bytes", 1.5}, {"b", 1.5}}})) == "a_bytes,b\n2,1.5\n");
}

TEST_CASE("the last piece of a bar has its own color, and the others have the usual ones") {
  Table table({words("plan"), words("where time goes")}, 0);
  table.add({"dp8", "computing 75 %, waiting 25 %"});
  table.bars = Bars{1, {"computing", "waiting"}, {{0.75, 0.25}}};
  const auto page = [&](Tone last) {
    table.bars->last = last;
    Report report;
    report.document.add(table);
    return html_format(report, Style(false));
  };
  CHECK(page(Tone::grey).find("<rect class=\"t8\" x=\"75.00\"") != std::string::npos);
  CHECK(page(Tone::dark).find("<rect class=\"t9\" x=\"75.00\"") != std::string::npos);
  CHECK(page(Tone::dark).find("<rect class=\"t1\" x=\"0.00\"") != std::string::npos);
}

TEST_CASE("a share that rounds to zero has no sign") {
  CHECK(share_text(-0.004) == "0 %");
  CHECK(share_text(0.004) == "0 %");
  CHECK(share_text(-0.006) == "-1 %");
}

TEST_CASE("columns are as wide as their widest cell, with words on the left and figures on the right") {
  Table table = two_columns();
  table.add({"a", "1,024"});
  table.add({"longer", "8"});
  CHECK(text_of(table) ==
        "name     size\n"
        "a       1,024\n"
        "longer      8\n");
}

TEST_CASE("a heading can be the widest cell, and a table without rows has only headings") {
  Table table = two_columns();
  table.indent = 3;
  CHECK(table.empty());
  CHECK(text_of(table) == "   name  size\n");
  table.add({"a", "1"});
  CHECK_FALSE(table.empty());
  CHECK(text_of(table) ==
        "   name  size\n"
        "   a        1\n");
}

TEST_CASE("the legend of a table, and its left-out rows, follow it in faint type") {
  Table table({words("name")});
  table.add({"a"});
  table.legend = "a: the first letter";
  table.left_out = "and 25 more";
  CHECK(text_of(table) == "  name\n  a\n  a: the first letter\n  and 25 more\n");
  CHECK(text_of(table, true) == "  name\n  a\n\033[2m  a: the first letter\033[0m\n\033[2m  and 25 more\033[0m\n");
}

TEST_CASE("a blank line precedes each section except the first") {
  Document document;
  document.section("Why", " (data)");
  document.paragraph("because");
  document.section();
  document.line("16 GPUs", " are few");
  document.line("indeed", 4);
  CHECK(text_of(document, Style(false)) == "Why (data)\n  because\n\n16 GPUs are few\n    indeed\n");
  CHECK(text_of(document, Style(true)) ==
        "\033[1mWhy\033[0m (data)\n  because\n\n\033[1m16 GPUs\033[0m are few\n    indeed\n");
}

TEST_CASE("the last piece of a paragraph wraps at the page's width, and verbatim text stays") {
  std::string long_text;
  for (int i = 0; i < 40; ++i) long_text += (i > 0 ? " " : "") + std::string("word");
  const std::string text = text_of(Line{{{"strong", true}, {": "}, {long_text}}, 0, 2});
  CHECK(text.starts_with("strong: word word"));
  CHECK(text.find("\n  word") != std::string::npos);
  CHECK(text_of(Verbatim{"a  b\nc\n"}) == "a  b\nc\n");
}

TEST_CASE("no line ends in spaces") {
  Table table({words("name"), words("note")});
  table.add({"a", ""});
  table.add({"b", "long enough"});
  std::istringstream lines(text_of(table));
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
  CHECK(text_of(table) ==
        "name  size\n"
        "×        1\n"
        "xx       2\n");
}

TEST_CASE("a count has thousands and a plural") {
  CHECK(count_text(0, "GPU") == "0 GPUs");
  CHECK(count_text(1, "GPU") == "1 GPU");
  CHECK(count_text(1024, "GPU") == "1,024 GPUs");
}

TEST_CASE("text is broken between words, and all lines after the first are indented") {
  CHECK(wrap_text("one two three", 100, "  ") == "one two three");
  CHECK(wrap_text("one two three", 7, "  ") == "one two\n  three");
  // "  three" already has seven columns.
  CHECK(wrap_text("one two three four", 7, "  ") == "one two\n  three\n  four");
  CHECK(wrap_text("", 7, "  ").empty());
}

TEST_CASE("a word longer than the line is alone on its line, unbroken") {
  CHECK(wrap_text("a incomprehensibly b", 5, "") == "a\nincomprehensibly\nb");
}

TEST_CASE("a number and its unit, and a short interval, stay in one line") {
  CHECK(wrap_text("takes 28.5 s", 9, "  ") == "takes\n  28.5 s");
  CHECK(wrap_text("28.5 s (24 to 37) each", 14, "") == "28.5 s\n(24 to 37)\neach");
  CHECK(wrap_text("a step (9 ms to 1.2 s), at best", 17, "") == "a step\n(9 ms to 1.2 s),\nat best");
  CHECK(wrap_text("takes 15 h (12 h 44 min to 20 h 00 min)", 30, "") == "takes 15 h\n(12 h 44 min to 20 h 00 min)");
  CHECK(wrap_text("(1 is a parenthesis that is much too long)", 16, "") == "(1 is a\nparenthesis that\nis much too\nlong)");
  CHECK(wrap_text("(a to b)", 5, "") == "(a to\nb)");
  Document document;
  document.add(Line{{{"28.5 s (24 to 37)"}}, 0, 0});
  CHECK(text_of(document, Style(false, {.width = 14})) == "28.5 s\n(24 to 37)\n");
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

TEST_CASE("a row with an empty first cell has as many cells as the others") {
  const std::string text = csv_of(Json::parse(R"([{"rank": 1, "name": "a"}, {"rank": null, "name": "b"}])"));
  CHECK(text == "rank,name\n1,a\n,b\n");
  CHECK(CsvTable::parse(text, "t.csv").rows() == 2);
}

TEST_CASE("each row of CSV has a cell for each key of any row") {
  const std::string text = csv_of(Json::parse(R"([{"name": "a", "x": "1, 2"}, {"name": "b", "y": 3}, {"y": 4, "z": 5}])"));
  CHECK(text == "name,x,y,z\na,\"1, 2\",,\nb,,3,\n,,4,5\n");
}

TEST_CASE("an empty list of objects is an empty text") { CHECK(csv_of(Json::array()).empty()); }

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
  CHECK(csv_of(flat_rows(fields, std::vector<Point>{point})) == "x,y,text\n3,4,\"1, 2\"\n");
  CHECK(flat_row<Point>(fields, nullptr).dump() == R"({"x":null,"y":null,"text":null})");
}

}  // namespace formats_tests
