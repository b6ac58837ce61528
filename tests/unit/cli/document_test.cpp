// Tests that a report is independent of the existing formats: this file writes another format,
// using only a report's document.

#include "cli/report/document.hpp"

#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/report/formats/format.hpp"
#include "cli/report/formats/text.hpp"
#include "core/version.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cli/run_command.hpp"

namespace document_tests {

using namespace ddl;

namespace {

struct PageWriter {
  std::string page{};

  void element(const std::string& name, const std::string& text) { page += "<" + name + ">" + text + "</" + name + ">"; }
  void operator()(const Section& section) { element("h2", section.heading + section.aside); }
  void operator()(const Line& line) {
    std::string text;
    for (const Span& span : line.spans) text += span.strong ? "<b>" + span.text + "</b>" : span.text;
    element("p", text);
  }
  void operator()(const Table& table) {
    page += "<table>";
    for (const Column& column : table.columns) element("th", column.heading);
    for (const auto& row : table.rows) {
      for (const std::string& cell : row) element("td", cell);
    }
    page += "</table>";
    element("small", table.legend + table.left_out);
  }
  void operator()(const Verbatim& verbatim) { element("pre", verbatim.text); }
  void operator()(const Chart& chart) { element("b", chart.title); }
};

std::string page_of(const Document& document) {
  PageWriter writer;
  for (const Block& block : document.blocks) std::visit(writer, block);
  return writer.page;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<Table> tables_of(const Document& document) {
  std::vector<Table> tables;
  for (const Block& block : document.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) tables.push_back(*table);
  }
  return tables;
}

}  // namespace

TEST_CASE("the document contains every cell of a report as in the text output") {
  const std::vector<std::vector<std::string>> commands{
      {"explain", "--strategy", "data+layer", "--degrees", "data=8,layer=4", "--why-not", "data", "--memory"},
      {"recommend", "--gpus", "64", "--top", "3"},
      {"recommend", "--gpus", "16", "--machine", "dgx-a100,abci"},
      {"models", "show", "alexnet"}};
  for (const std::vector<std::string>& command : commands) {
    INFO(command.front());
    const Document document = run_command(command).document;
    const std::string page = page_of(document);
    const std::string text = text_of(document, Style(false, {.wide = true}));
    const std::vector<Table> tables = tables_of(document);
    CHECK(tables.size() >= 2);
    for (const Table& table : tables) {
      REQUIRE_FALSE(table.empty());
      for (const auto& row : table.rows) {
        REQUIRE(row.size() == table.columns.size());
        for (std::size_t c = 0; c < row.size(); ++c) {
          CHECK(has(page, "<td>" + row[c] + "</td>"));
          const bool is_drawn = table.bars && table.bars->column == c;
          CHECK((is_drawn || has(text, row[c])));
        }
      }
    }
  }
}

TEST_CASE("the document of explain has headings for its parts") {
  const std::string page = page_of(run_command({"explain", "--strategy", "data", "--degrees", "data=64"}).document);
  CHECK(page.starts_with("<p><b>resnet50</b> on 64 GPUs of "));
  CHECK(has(page, "dp64: data 64"));
  CHECK(has(page, "<h2>Phases of a step</h2><table><th>phase</th>"));
  CHECK(has(page, "<small>from: "));
  CHECK(has(page, "<td>update</td>"));
  CHECK(has(page, "<h2>Why (data)</h2><p>"));
}

TEST_CASE("the defaults in force name where the software comes from") {
  const auto page_on = [](const std::string& machine) {
    return page_of(run_command({"explain", "--model", "gpt2", "--machine", machine, "--degrees", "data=8"}).document);
  };
  CHECK(has(page_on("tpu-v4"), "<td>--software</td><td>jax</td><td>software of the machine</td>"));
  CHECK(has(page_on("dgx-h100"), "<td>--software</td><td>pytorch</td><td>default</td>"));
}

TEST_CASE("each format is found by its name, and a report has a document and JSON") {
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    names.emplace_back(format.name);
    CHECK(format_named(format.name).write == format.write);
  }
  CHECK(names == std::vector<std::string>{"text", "json", "csv", "markdown", "html", "trace", "junit", "github", "yaml"});
  const Report report = run_command({"models", "list"});
  CHECK(format_named("text").write(report, Style(false)) == text_of(report.document, Style(false)));
  // Every JSON report begins with the version of its format, and that of the program.
  const auto json = nlohmann::ordered_json::parse(format_named("json").write(report, Style(false)));
  CHECK(std::vector<std::string>{"schema", "version", "commit", "models"} == [&] {
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    return keys;
  }());
  CHECK(json.at("schema") == 1);
  CHECK(json.at("version") == version());
  CHECK(json.at("models") == report.json().at("models"));
}

}  // namespace document_tests
