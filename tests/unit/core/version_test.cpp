#include "core/version.hpp"

#include <algorithm>
#include <string>

#include "tests/catch.hpp"

TEST_CASE("the version is three numbers") {
  const std::string version(ddl::version());
  CHECK(std::count(version.begin(), version.end(), '.') == 2);
  CHECK(version.find_first_not_of("0123456789.") == std::string::npos);
}

TEST_CASE("the commit is unknown or a hash, perhaps dirty") {
  std::string commit(ddl::commit());
  CAPTURE(commit);
  if (commit == "unknown") return;
  if (commit.ends_with("-dirty")) commit.resize(commit.size() - 6);
  CHECK(commit.size() >= 12);
  CHECK(commit.find_first_not_of("0123456789abcdef") == std::string::npos);
}
