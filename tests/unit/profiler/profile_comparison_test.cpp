#include "profiler/profiles/profile_comparison.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

ProfileRow row(const std::string& problem, double seconds, int layers = 1, const std::string& algorithm = "k") {
  ProfileRow made;
  made.measurement.problem = problem;
  made.measurement.samples.median = Seconds(seconds);
  made.measurement.algorithm = algorithm;
  made.layers = layers;
  return made;
}

const std::string pool = "pool kind=max kernel=3x3 in=8x9x9 samples=2 precision=fp32";
const std::string product = "fully_connected features=4 in=8 samples=2 precision=fp32";

}  // namespace

TEST_CASE("a kernel has the time of all its layers, and the largest difference comes first", "[profile_comparison]") {
  const Profile first{.rows = {row(pool + " pass=forward", 2, 3, "jit"), row(product + " pass=forward", 5)}};
  const Profile second{.rows = {row(product + " pass=forward", 6), row(pool + " pass=forward", 4, 3, "aten")}};
  const ProfileComparison comparison = compare_profiles(first, second);
  REQUIRE(comparison.kernels.size() == 2);
  const ComparedKernel& slow = comparison.kernels.front();
  CHECK(slow.problem == pool);
  CHECK(slow.operation == "pool max");
  CHECK(slow.pass == "forward");
  CHECK(slow.first == Seconds(6));
  CHECK(slow.second == Seconds(12));
  CHECK(slow.first_algorithm == "jit");
  CHECK(slow.second_algorithm == "aten");
  CHECK(comparison.first == Seconds(11));
  CHECK(comparison.second == Seconds(18));
}

TEST_CASE("both backward passes of a layer count as one kernel", "[profile_comparison]") {
  // A trace often does not separate the two passes, and divides their time by FLOPs.
  const Profile first{
      .rows = {row(product + " pass=backward-data", 2, 1, "a"), row(product + " pass=backward-weight", 3, 1, "b")}};
  const Profile second{.rows = {row(product + " pass=backward-data", 2.5), row(product + " pass=backward-weight", 2.5)}};
  const ProfileComparison comparison = compare_profiles(first, second);
  REQUIRE(comparison.kernels.size() == 1);
  CHECK(comparison.kernels.front().pass == "backward");
  CHECK(comparison.kernels.front().difference() == Seconds(0));
  CHECK(comparison.kernels.front().first_algorithm == "a + b");
}

TEST_CASE("the times of operations add up to the total", "[profile_comparison]") {
  const std::string wide = "pool kind=max kernel=2x2 in=8x9x9 samples=2 precision=fp32";
  const Profile first{
      .rows = {row(pool + " pass=forward", 1, 2), row(wide + " pass=forward", 2), row(product + " pass=forward", 4)}};
  const Profile second{
      .rows = {row(pool + " pass=forward", 2, 2), row(wide + " pass=forward", 1), row(product + " pass=forward", 9)}};
  const ProfileComparison comparison = compare_profiles(first, second);
  REQUIRE(comparison.operations.size() == 2);
  CHECK(comparison.operations.front().operation == "fully_connected");
  CHECK(comparison.operations.back().kernels == 3);
  CHECK(comparison.operations.front().first + comparison.operations.back().first == comparison.first);
  CHECK(comparison.operations.front().second + comparison.operations.back().second == comparison.second);
}

TEST_CASE("kernels in only one profile are counted but not compared", "[profile_comparison]") {
  ProfileRow refused = row(product + " pass=forward", 0);
  refused.measurement.reason = "out of memory";
  const Profile first{.rows = {row(pool + " pass=forward", 1), refused, row("fresh_memory bytes=67108864", 1)}};
  const Profile second{.rows = {row(pool + " pass=forward", 1), row(product + " pass=forward", 2),
                                row(pool + " pass=backward-data", 2),
                                row("sequence model=m samples=2 precision=fp32 optimizer=sgd pass=forward", 9)}};
  const ProfileComparison comparison = compare_profiles(first, second);
  CHECK(comparison.kernels.size() == 1);
  CHECK(comparison.only_first == 0);
  CHECK(comparison.only_second == 2);
}

TEST_CASE("profiles without a common problem are refused", "[profile_comparison]") {
  const Profile first{.rows = {row(pool + " pass=forward", 1)}};
  const Profile second{.rows = {row(product + " pass=forward", 1)}};
  CHECK_THAT(error_of([&] { static_cast<void>(compare_profiles(first, second)); }),
             ContainsSubstring("no problem in common"));
}
