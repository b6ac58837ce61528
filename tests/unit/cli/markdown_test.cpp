// Tests reports as GitHub Flavored Markdown, with any texts.

#include <string>
#include <utility>

#include "cli/report/formats/format.hpp"
#include "cli/report/shell_words.hpp"
#include "tests/catch.hpp"

namespace markdown_tests {

using namespace ddl;

namespace {

std::string markdown(Document document) {
  Report report;
  report.document = std::move(document);
  return format_named("markdown").write(report, Style(true));
}

std::string markdown(Block block) {
  Document document;
  document.add(std::move(block));
  return markdown(std::move(document));
}

}  // namespace

TEST_CASE("in Markdown, a section is a heading, a line a paragraph, and lines with an indent are a list") {
  Document document;
  document.line("data (data=64)", ": 3 h");
  document.line("as measured");
  document.section("Why", " (data)");
  document.paragraph("because");
  document.paragraph("indeed");
  document.section();
  document.line("the end");
  CHECK(markdown(document) == "**data (data=64)**: 3 h\n\nas measured\n\n## Why (data)\n\n- because\n- indeed\n\nthe end\n");
}

TEST_CASE("in Markdown, columns of numbers are right-aligned, and the legend follows the table") {
  Table table({words("name"), figures("size")});
  table.add({"a|b", "8"});
  table.legend = "a: the first letter";
  CHECK(markdown(table) == "| name | size |\n| --- | ---: |\n| a\\|b | 8 |\n\na: the first letter\n");
}

TEST_CASE("in Markdown, text is never interpreted as markup") {
  CHECK(markdown(Line{{{"<b onclick=x> [a](http:b) `c` *d* _e_ snake_case ~f~ &lt; \\"}}}) ==
        "\\<b onclick=x\\> \\[a\\](http:b) \\`c\\` \\*d\\* \\_e\\_ snake_case \\~f\\~ \\&lt; \\\\\n");
  CHECK(markdown(Line{{{"# no heading"}}}) == "\\# no heading\n");
  CHECK(markdown(Line{{{"- no list"}}}) == "\\- no list\n");
  CHECK(markdown(Line{{{"12. no list"}}}) == "12\\. no list\n");
  CHECK(markdown(Line{{{"two\nlines\x1b"}}}) == "two\\\\nlines\\\\x1B\n");
}

TEST_CASE("in Markdown, verbatim text is in a fence longer than any fence in the text") {
  CHECK(markdown(Verbatim{"a *b*\n"}) == "```\na *b*\n```\n");
  CHECK(markdown(Verbatim{"````\n"}) == "`````\n````\n`````\n");
}

TEST_CASE("a Markdown report ends with the command that it answers") {
  Report report;
  report.document.line("16 GPUs");
  report.command = "ddl-oracle recommend --gpus 16";
  const std::string text = format_named("markdown").write(report, Style(false));
  CHECK(text.starts_with(
      "16 GPUs\n\n## How to reproduce this answer\n\n```\nddl-oracle recommend --gpus 16\n```\n\nddl-oracle "));
}

TEST_CASE("a printed command line is parsed by a shell to the same words") {
  const auto written = [](std::vector<std::string> all) { return shell_words(all); };
  CHECK(written({"ddl-oracle", "explain", "--degrees", "data=8,spatial=1x2", "./a-b_c.yaml"}) ==
        "ddl-oracle explain --degrees data=8,spatial=1x2 ./a-b_c.yaml");
  CHECK(written({"a b", "", "it's", "$(rm -r)"}) == "'a b' '' 'it'\\''s' '$(rm -r)'");
  CHECK(written({"\x1b[1m\xff"}) == "$'\\033[1m\\377'");
}

}  // namespace markdown_tests
