// The test cases that skip_exit_codes runs one by one: skipped, passing and failing cases.

#include "tests/catch.hpp"
#include "tests/skip.hpp"

TEST_CASE("first that cannot run") { ddl::cannot_run("there is no first"); }
TEST_CASE("second that cannot run") {
  CHECK(true);
  ddl::cannot_run("there is no second");
}
TEST_CASE("passes") { CHECK(true); }
TEST_CASE("fails") { CHECK(false); }
TEST_CASE("cannot run and fails") {
  ddl::cannot_run("there is no third");
  CHECK(false);
}
TEST_CASE("fails 77 times") {
  for (int i = 0; i < 77; ++i) CHECK(i < 0);
}
