#include "profiler/backends/window_geometry.hpp"

#include "model_zoo/network/problem.hpp"
#include "tests/catch.hpp"

using namespace ddl;

TEST_CASE("the rim of a window follows from the shapes") {
  const auto window = [](const std::string& line) {
    const Problem problem = parse_problem(line, "test");
    return window_geometry(*problem.operation, problem.inputs.front(), problem.output);
  };
  // A stride that leaves the last column out: a negative padding at the end.
  CHECK(window("convolution filters=1 kernel=1x1 stride=2 in=1x6x6").after == std::array<std::int64_t, 3>{-1, -1, 0});
  CHECK(window("convolution filters=1 kernel=3x3 stride=2 padding=1 in=1x8x7").after ==
        std::array<std::int64_t, 3>{0, 1, 0});
  // `same` over 6 positions by 2 with a kernel of 3 needs 7: the odd one is at the end.
  CHECK(window("convolution filters=1 kernel=3 stride=2 padding=same in=1x6").before[0] == 0);
  CHECK(window("convolution filters=1 kernel=3 stride=2 padding=same in=1x6").after[0] == 1);
  CHECK(window("pool kind=max kernel=2x2 ceil=yes in=1x5x5").after == std::array<std::int64_t, 3>{1, 1, 0});
}
