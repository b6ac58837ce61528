#include "model_zoo/values/pattern.hpp"

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace pattern_tests {

using namespace ddl;

TEST_CASE("groups of a pattern are expanded") {
  CHECK(pattern_letters("").empty());
  CHECK(pattern_letters("ME*-") == "ME*-");
  CHECK(pattern_letters("F(WF)2(M)3") == "FWFWFMMM");
  const auto refusal = [](const std::string& pattern) {
    return error_of([&] { static_cast<void>(pattern_letters(pattern)); });
  };
  for (const std::string pattern : {"(F", "(F)", "()2", "(F)0", "(F)-1", "((F)2)2", "(F)99999999999999999999", "(F)x"}) {
    INFO(pattern);
    CHECK(refusal(pattern).find("is not a group of a pattern") != std::string::npos);
  }
  CHECK(refusal("(FF)50001").find("more than 100000 characters") != std::string::npos);
  CHECK(pattern_letters("(FF)50000").size() == max_pattern_letters);
}

TEST_CASE("the shortest pattern expands to the same letters") {
  for (const std::string letters : {"", "F", "FF", "FFFF", "Ffffff", "WWWFWWWFWW", "MMMMMFMMMMMMMMMFMM", "FWNM"}) {
    INFO(letters);
    CHECK(pattern_letters(shortest_pattern(letters)) == letters);
  }
  CHECK(shortest_pattern("FFFF") == "FFFF");
  CHECK(shortest_pattern("FFFFF") == "(F)5");
  CHECK(shortest_pattern("Ffffffff") == "F(f)7");
  CHECK(shortest_pattern("WWWFWWWFWWWFWW") == "(WWWF)3WW");
}

TEST_CASE("patterns in a model file may group letters") {
  const auto text = [](const std::string& pattern) {
    return "format: 1\nmodel: m\ninput: {channels: 4, tokens: 2}\nlayers:\n  - pattern:\n      of: " + pattern +
           "\n      M: [{norm: rms}]\n      E: [{activation: relu}]\n  - loss: mse\n";
  };
  CHECK(parse_model(text("M(ME)3"), "m.yaml").layers.size() == 8);
  CHECK(error_of([&] {
          static_cast<void>(parse_model(text("M(ME)"), "m.yaml"));
        }).starts_with("m.yaml:6:11: '(ME)' is not a group of a pattern\n"));
}

}  // namespace pattern_tests
