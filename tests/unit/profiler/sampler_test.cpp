#include "profiler/measurement/sampler.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace ddl;

TEST_CASE("steady times settle with the minimum number of samples after the warm-up") {
  int calls = 0;
  const Samples samples = take_samples({.warm_up = 3, .least = 6}, [&] {
    ++calls;
    return Seconds(calls <= 3 ? 100.0e-3 : 1e-3);
  });
  CHECK(calls == 9);
  CHECK(samples.seconds.size() == 6);
  CHECK(samples.settled);
  CHECK_FALSE(samples.has_trend);
  CHECK(samples.median == Seconds(1e-3));
  CHECK(samples.deviation == Seconds(0));
}

TEST_CASE("noisy times are sampled until their median is known") {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(0, 0.1);
  const Samples samples = take_samples({.most = 5000, .limit = Seconds(1e9)}, [&] { return Seconds(1e-3 * noise(random)); });
  CHECK(samples.settled);
  CHECK(samples.seconds.size() > 20);
  CHECK((samples.high - samples.low).value() / 2 <= 0.02 * samples.median.value());
  CHECK(samples.median.value() == Approx(1e-3).epsilon(0.05));
}

TEST_CASE("sampling that never settles ends at the limit, and is marked as not settled") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> wild(0.1, 10.0);
  SECTION("limit of time") {
    const Samples samples = take_samples({.limit = Seconds(100)}, [&] { return Seconds(wild(random)); });
    CHECK_FALSE(samples.settled);
    CHECK(samples.seconds.size() >= 6);
    CHECK(samples.seconds.size() < 60);
  }
  SECTION("limit of samples") {
    const Samples samples = take_samples({.most = 40, .limit = Seconds(1e9)}, [&] { return Seconds(wild(random)); });
    CHECK_FALSE(samples.settled);
    CHECK(samples.seconds.size() == 40);
  }
  SECTION("the minimum number of samples is taken even if it exceeds the limit") {
    CHECK(take_samples({.limit = Seconds(1)}, [] { return Seconds(10); }).seconds.size() == 6);
  }
}

TEST_CASE("a machine that slows down is detected") {
  int calls = 0;
  const auto slower = [&] { return Seconds(1e-3 * (1.0 + 0.001 * ++calls)); };
  CHECK(take_samples({.least = 40, .most = 40}, slower).has_trend);
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> noise(0, 0.05);
  int drifted = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<double> seconds(40);
    for (double& second : seconds) second = noise(random);
    if (summarize(seconds, {}).has_trend) ++drifted;
  }
  CHECK(drifted <= 2);  // by chance, one in a thousand
}

TEST_CASE("sampling that is stopped returns the samples taken so far") {
  int calls = 0;
  const Samples samples = take_samples(
      {.warm_up = 0}, [&] { return ++calls, Seconds(1e-3); }, [&] { return calls == 2; });
  CHECK(samples.seconds.size() == 2);
  CHECK_FALSE(samples.settled);
  CHECK(take_samples(
            {}, [] { return Seconds(1); }, [] { return true; })
            .seconds.empty());
}
