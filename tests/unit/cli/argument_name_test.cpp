#include "cli/options/argument_name.hpp"

#include "tests/catch.hpp"

namespace argument_name_tests {

using namespace ddl;

TEST_CASE("the parser's names of arguments are in capitals, so that none equals an option", "[argument_name]") {
  CHECK(parser_name("file") == "FILE");
  CHECK(parser_name("model,--model") == "MODEL,--model");
  CHECK(parser_name("--model,model") == "--model,MODEL");
  CHECK(parser_name("-o,--output") == "-o,--output");
}

}  // namespace argument_name_tests
