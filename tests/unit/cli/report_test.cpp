#include "cli/report/report.hpp"

#include "cli/report/formats/format.hpp"
#include "tests/catch.hpp"

namespace report_tests {

using namespace ddl;

// The runner drops all Unicode spaces before it looks for `::`, and finds `##[` anywhere in a line.
TEST_CASE("no line of an error is a workflow command of GitHub") {
  CHECK(defused("error: f:1:1: what\n  ::error file=x::y\n  ^") == "error: f:1:1: what\n |::error file=x::y\n  ^");
  CHECK(defused("::stop-commands::x") == "|::stop-commands::x");
  CHECK(defused("a\r::set-output name=x::y") == "a\n|::set-output name=x::y");
  CHECK(defused("\u3000\u00A0::x::y") == "\u3000\u00A0|::x::y");
  CHECK(defused("unknown model '##[stop-commands]quiet' ##[x]") == "unknown model '##(stop-commands]quiet' ##(x]");
  CHECK(defused("std::size_t a::b") == "std::size_t a::b");
}

TEST_CASE("texts of files are printed without terminal control characters") {
  Report report;
  report.document.line("name \x1B[31m", " and \u202E");
  Table table({words("op\x07")});
  table.add({"a\n::error::x"});
  report.document.add(std::move(table));
  const std::string text = format_named("text").write(report, Style(false));
  CHECK(text.find("name \\x1B[31m and \\u202E\n") == 0);
  CHECK(text.find("a\\n::error::x") != std::string::npos);
}

TEST_CASE("an annotation is one line for any file name") {
  Report report;
  report.verdicts.push_back({.file = "a\n::error::b.job.yaml", .title = "does not fit", .message = "x\x1B[31m\ny"});
  const std::string text = format_named("github").write(report, Style(false));
  CHECK(text == "::notice file=a\\n%3A%3Aerror%3A%3Ab.job.yaml,line=1,col=1,title=does not fit::x\\x1B[31m%0Ay\n");
}

}  // namespace report_tests
