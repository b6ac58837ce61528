#include "cli/interrupt.hpp"

#include <csignal>

#include "tests/catch.hpp"

using namespace ddl;

TEST_CASE("SIGTERM asks a command to end as Ctrl-C does") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Interrupt interrupt;
    CHECK_FALSE(Interrupt::asked());
    REQUIRE(std::raise(signal) == 0);
    CHECK(Interrupt::asked());
  }
  // The next command begins without.
  const Interrupt interrupt;
  CHECK_FALSE(Interrupt::asked());
}
