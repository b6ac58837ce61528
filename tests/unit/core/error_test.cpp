#include "core/error.hpp"

#include "core/source_text.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

TEST_CASE("an error carries its message and its hint") {
  const ddl::Error error("what is wrong", "what to do");
  CHECK(std::string(error.what()) == "what is wrong");
  CHECK(error.hint() == "what to do");
}

TEST_CASE("an error without advice has an empty hint") { CHECK(ddl::Error("what is wrong").hint().empty()); }

TEST_CASE("an error has the position in a file, if it is about a file") {
  CHECK_FALSE(ddl::Error("wrong").place());
  const ddl::Error error = ddl::SourceText("a\nbcd\n", "f.yaml").error(3, "wrong", "do this");
  CHECK(error.place() == ddl::Place{"f.yaml", 2, 2});
  CHECK(error.hint() == "do this");
}

TEST_CASE("error_of distinguishes an error from no error") {
  CHECK(ddl::error_of([] {}) == "no error");
  CHECK(ddl::error_of([] { throw ddl::Error("wrong"); }) == "wrong");
  CHECK(ddl::error_of([] { throw ddl::Error("wrong", "do this"); }) == "wrong\nhint: do this");
}
