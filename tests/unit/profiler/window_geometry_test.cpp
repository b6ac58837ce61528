#include "profiler/backends/window_geometry.hpp"

#include "model_zoo/network/problem.hpp"
#include "tests/catch.hpp"

using namespace ddl;

TEST_CASE("the padding of a window follows from the shapes") {
  const auto window = [](const std::string& line) {
    const Problem problem = parse_problem(line, "test");
    return window_geometry(*problem.operation, problem.inputs.front(), problem.output);
  };
  // The stride leaves out the last column, so the padding at the end is negative.
  CHECK(window("convolution filters=1 kernel=1x1 stride=2 in=1x6x6").after == std::array<std::int64_t, 3>{-1, -1, 0});
  CHECK(window("convolution filters=1 kernel=3x3 stride=2 padding=1 in=1x8x7").after ==
        std::array<std::int64_t, 3>{0, 1, 0});
  // `same` padding with 6 positions, stride 2 and a kernel of 3 needs 7 positions. The odd position is at the end.
  CHECK(window("convolution filters=1 kernel=3 stride=2 padding=same in=1x6").before[0] == 0);
  CHECK(window("convolution filters=1 kernel=3 stride=2 padding=same in=1x6").after[0] == 1);
  CHECK(window("pool kind=max kernel=2x2 ceil=yes in=1x5x5").after == std::array<std::int64_t, 3>{1, 1, 0});
}
