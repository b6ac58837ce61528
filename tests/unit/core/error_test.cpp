#include "core/error.hpp"

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

TEST_CASE("an error carries its message and its hint") {
  const ddl::Error error("what is wrong", "what to do");
  CHECK(std::string(error.what()) == "what is wrong");
  CHECK(error.hint() == "what to do");
}

TEST_CASE("an error without advice has an empty hint") { CHECK(ddl::Error("what is wrong").hint().empty()); }

TEST_CASE("error_of tells an error from none") {
  CHECK(ddl::error_of([] {}) == "no error");
  CHECK(ddl::error_of([] { throw ddl::Error("wrong"); }) == "wrong");
  CHECK(ddl::error_of([] { throw ddl::Error("wrong", "do this"); }) == "wrong\nhint: do this");
}
