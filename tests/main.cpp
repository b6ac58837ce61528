// The main function of every test program. It is Catch2's, except for the exit code of test cases
// that cannot run on this machine.

#define CATCH_CONFIG_RUNNER
#include <iostream>
#include <string>

#include "tests/catch.hpp"
#include "tests/skip.hpp"

namespace {

constexpr int skipped_exit_code = 77;

int cases = 0;
int skipped_cases = 0;
bool skips = false;

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

class SkipCounter : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    Listener::testCaseStarting(info);
    skips = false;
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    Listener::testCaseEnded(stats);
    ++cases;
    if (skips) ++skipped_cases;
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(SkipCounter)

void ddl::cannot_run(const std::string& reason) {
  // Scripts that run test programs one case at a time search for this line.
  std::cout << "not run, " << reason << '\n';
  skips = true;
}

int main(int argc, char** argv) {
  const int result = Catch::Session().run(argc, argv);
  // Catch2's exit code is the number of failures; 77 failures must not look like a skip.
  if (result != 0) return result == skipped_exit_code ? 1 : result;
  return skipped_cases > 0 && skipped_cases == cases ? skipped_exit_code : 0;
}
