#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "tests/catch.hpp"

namespace calibrate_command_tests {

using namespace ddl;
using Words = std::vector<std::string>;

TEST_CASE("calibrate without a command is one of its commands") {
  CHECK(with_calibrate_command({"calibrate", "a.txt", "--ranks", "4"}) ==
        Words{"calibrate", "network", "a.txt", "--ranks", "4"});
  CHECK(with_calibrate_command({"calibrate", "--machine", "abci"}) == Words{"calibrate", "network", "--machine", "abci"});
  for (const char* option : {"--mpi", "--nccl", "--simulated=ranks=4"})
    CHECK(with_calibrate_command({"calibrate", "-o", "c.yaml", option}) ==
          Words{"calibrate", "live", "-o", "c.yaml", option});
  CHECK(with_calibrate_command({"calibrate", "--runs", "r.csv", "--machine", "abci"}) ==
        Words{"calibrate", "runs", "r.csv", "--machine", "abci"});
  CHECK(with_calibrate_command({"calibrate", "--machine", "abci", "--runs=r.csv"}) ==
        Words{"calibrate", "runs", "--machine", "abci", "r.csv"});
}

TEST_CASE("other command lines stay as they are") {
  for (const Words& words : {Words{},
                             {"calibrate"},
                             {"calibrate", "--help"},
                             {"calibrate", "network", "a.txt"},
                             {"calibrate", "live", "--mpi"},
                             {"calibrate", "runs", "r.csv"},
                             {"validate", "--runs", "r.csv"}})
    CHECK(with_calibrate_command(words) == words);
}

}  // namespace calibrate_command_tests
