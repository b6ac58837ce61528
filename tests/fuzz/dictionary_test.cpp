#include <set>
#include <string>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/plan/axis.hpp"
#include "tests/catch.hpp"

using namespace ddl;

namespace {

/// Returns the words of a fuzzer's dictionary, in the dictionary's syntax: quoted, with backslashes before quotes.
std::set<std::string> words_of(const std::string& fuzzer) {
  const std::string text = read_file(fmt::format(FUZZ_DICTIONARIES "/{}.dict", fuzzer));
  std::set<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    words.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

// A fuzzer does not find a choice with a long name by itself.
TEST_CASE("the dictionaries know each choice of a plan, and each axis") {
  const std::set<std::string> job = words_of("job_file"), plan = words_of("plan_file"), runs = words_of("runs_file");
  for (const PlanChoiceRow& row : plan_choices()) {
    CAPTURE(row.key);
    CHECK(job.contains(fmt::format(R"("{}: ")", row.option)));
    CHECK(plan.contains(fmt::format(R"("\"{}\"")", row.key)));
    CHECK(runs.contains(fmt::format(R"("{}")", row.key)));
    if (row.first_number) continue;
    for (const std::string_view name : row.names()) {
      CAPTURE(name);
      CHECK(job.contains(fmt::format(R"("{}")", name)));
      CHECK(plan.contains(fmt::format(R"("\"{}\"")", name)));
    }
  }
  for (const std::string_view axis : axis_names()) {
    CAPTURE(axis);
    CHECK(job.contains(fmt::format(R"("{}")", axis)));
    CHECK(plan.contains(fmt::format(R"("\"{}\"")", axis)));
  }
}
