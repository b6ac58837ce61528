#include "profiler/attribute_text.hpp"

#include "model_zoo/problem.hpp"
#include "tests/catch.hpp"

using namespace ddl;

TEST_CASE("a back end reads an operation's attributes from its line") {
  const Problem problem = parse_problem("convolution filters=8 kernel=3x5 padding=1x2 bias=no in=4x9x9", "test");
  const AttributeText attributes(*problem.operation);
  CHECK(attributes.integer("filters", 0) == 8);
  CHECK(attributes.sizes("kernel", 1) == std::array<std::int64_t, 3>{3, 5, 1});
  CHECK(attributes.sizes("stride", 1) == std::array<std::int64_t, 3>{1, 1, 1});
  CHECK_FALSE(attributes.flag("bias", true));
  CHECK(attributes.flag("causal", true));
  CHECK_FALSE(attributes.has("groups"));
  CHECK(attributes.text("groups", "none") == "none");
  CHECK(AttributeText(*parse_problem("dropout rate=0.25 in=4", "test").operation).number("rate", 0) == 0.25);
  CHECK_THROWS(attributes.integer("kernel", 1));
}

TEST_CASE("the rim of a window follows from the shapes") {
  const auto window = [](const std::string& line) {
    const Problem problem = parse_problem(line, "test");
    return window_geometry(*problem.operation, problem.inputs.front(), problem.output);
  };
  // A stride that leaves the last column out: less than nothing behind.
  CHECK(window("convolution filters=1 kernel=1x1 stride=2 in=1x6x6").after == std::array<std::int64_t, 3>{-1, -1, 0});
  CHECK(window("convolution filters=1 kernel=3x3 stride=2 padding=1 in=1x8x7").after ==
        std::array<std::int64_t, 3>{0, 1, 0});
  // `same` over 6 places by 2 with a kernel of 3 needs 7: the odd one is behind.
  CHECK(window("convolution filters=1 kernel=3 stride=2 padding=same in=1x6").before[0] == 0);
  CHECK(window("convolution filters=1 kernel=3 stride=2 padding=same in=1x6").after[0] == 1);
  CHECK(window("pool kind=max kernel=2x2 ceil=yes in=1x5x5").after == std::array<std::int64_t, 3>{1, 1, 0});
}
