#include <clocale>
#include <string>

#include "core/units.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace ddl;

TEST_CASE("numbers are read and printed alike in every locale") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  bool any = false;
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    any = true;
    UnitProblem problem;
    CHECK(parse_quantity<Seconds>("1.5 s", problem) == 1.5_s);
    CHECK(print_quantity(1.5_s) == "1.5 s");
    CHECK(humanize(1.5_s) == "1.50 s");
  }
  std::setlocale(LC_ALL, before.c_str());
  if (!any) cannot_run("no locale with a decimal comma is installed");
}
