#include "cli/report/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/catch.hpp"

namespace interrupt_tests {

using namespace ddl;

TEST_CASE("SIGTERM ends a command like Ctrl-C") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Interrupt interrupt;
    CHECK_FALSE(Interrupt::asked());
    REQUIRE(std::raise(signal) == 0);
    CHECK(Interrupt::asked());
  }
  // The next command starts without a request.
  const Interrupt interrupt;
  CHECK_FALSE(Interrupt::asked());
}

TEST_CASE("a time limit applies only to its own thread, and only while it exists") {
  {
    const TimeLimit limit(0);
    CHECK(Interrupt::asked());
    bool asked = true;
    std::thread([&asked] { asked = Interrupt::asked(); }).join();
    CHECK_FALSE(asked);
  }
  CHECK_FALSE(Interrupt::asked());
  std::atomic<bool> given_up = false;
  const TimeLimit limit(1000, &given_up);
  CHECK_FALSE(Interrupt::asked());
  given_up = true;
  CHECK(Interrupt::asked());
}

}  // namespace interrupt_tests
