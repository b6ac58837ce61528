#include "cli/options/configurations/mixture_layers.hpp"

#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

/// A list of layers as a pattern, or `none`.
std::string pattern(std::string_view text, std::int64_t layers) {
  const auto list = ddl::layers_with_experts(text, layers);
  return list ? ddl::pattern_of_layers(*list, 'F', 'f') : "none";
}

}  // namespace

TEST_CASE("layers with experts are read as Megatron-LM reads them") {
  // From deepseek-ai/DeepSeek-V3: 3 of 61 layers have no experts.
  CHECK(pattern("([0]*3+[1]*58)", 61) == "(F)3(f)58");
  CHECK(pattern("[0]+[1]*26", 27) == "F(f)26");
  CHECK(pattern("3*[0] + [1, 0]*2", 7) == "(F)3fFfF");
  CHECK(pattern("[0, 1, 1]", 3) == "F(f)2");
  CHECK(pattern("0 1 1", 3) == "F(f)2");
  // A number: each nth layer from the first on. -1 is that of MindSpeed.
  CHECK(pattern("1", 4) == "(f)4");
  CHECK(pattern("-1", 4) == "(f)4");
  CHECK(pattern("2", 5) == "fFfFf");
}

TEST_CASE("texts that are no list of the layers are not read") {
  for (const char* text : {"", "[0]*3+[1]*57", "[0]*3+[1]*59", "[2]*61", "[0]*x", "0", "-2", "[0]*-1+[1]*62",
                           "[0]*99999999999", "[]*3", "$FREQ", "[0]*3++[1]*58"})
    CHECK(pattern(text, 61) == "none");
}
