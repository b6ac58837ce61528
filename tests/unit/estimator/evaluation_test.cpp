#include "estimator/explain/evaluation.hpp"

#include "tests/catch.hpp"

namespace evaluation_tests {

using namespace ddl;

TEST_CASE("an evaluation runs the forward passes of a step, without update and exchange of gradients") {
  Breakdown time;
  CHECK(forward_only_time(time) == Seconds{});
  time[Part::forward] = Seconds(2);
  time[Part::backward] = Seconds(4);
  time[Part::weight_update] = time[Part::gradient_exchange] = Seconds(1);
  time[Part::waiting] = Seconds(3);
  // A third of the 6 s of kernels is forward, and so is a third of the 3 s of waiting.
  CHECK(forward_only_time(time).value() == Approx(3));
}

}  // namespace evaluation_tests
