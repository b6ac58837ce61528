#include <string>

#include "profiler/backends/simulated/device_text.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

std::string problem_of(const std::string& text) {
  return error_of([&] { static_cast<void>(parse_simulated_device(text, "test")); });
}

}  // namespace

TEST_CASE("values of a simulated device are read in any order") {
  const SimulatedDevice device =
      parse_simulated_device("seed=18446744073709551615  noise=0.02 latency=5us bandwidth=1 TB/s\tpeak=10 TFLOP/s", "test");
  CHECK(device.peak.value() == 10e12);
  CHECK(device.bandwidth.value() == 1e12);
  CHECK(device.latency.value() == 5e-6);
  CHECK(device.noise == 0.02);
  CHECK(device.seed == 18446744073709551615U);
}

TEST_CASE("missing values have the defaults of the type") {
  for (const char* text : {"", "  ", "seed=2"}) {
    const SimulatedDevice device = parse_simulated_device(text, "test");
    CHECK(device.peak.value() == SimulatedDevice().peak.value());
    CHECK(device.noise == SimulatedDevice().noise);
    CHECK_FALSE(device.fresh_memory.has_value());
  }
}

TEST_CASE("the error for an invalid value states its position") {
  CHECK(problem_of("peak=10 TFLOP/s bandwith=1 TB/s") ==
        "test:1:17: a simulated device has no 'bandwith'\n  peak=10 TFLOP/s bandwith=1 TB/s\n                  ^\n"
        "hint: did you mean 'bandwidth'?");
  CHECK(problem_of("fast") ==
        "test:1:1: 'fast' is not KEY=VALUE\n  fast\n  ^\nhint: such as: peak=10 TFLOP/s bandwidth=500 GB/s");
  CHECK(problem_of("seed=1 seed=2") == "test:1:8: 'seed' is given twice\n  seed=1 seed=2\n         ^");
  CHECK(problem_of("peak=0 FLOP/s") ==
        "test:1:6: peak of '0 FLOP/s' is too small\n  peak=0 FLOP/s\n       ^\nhint: at least 1 FLOP/s");
  CHECK(problem_of("noise=2") ==
        "test:1:7: '2' is not a valid noise\n  noise=2\n        ^\nhint: a spread between 0 and 1: 0.01 is 1 %");
  for (const char* text :
       {"peak=", "peak=10", "peak=10 GB/s", "peak=-1 FLOP/s", "peak=nan FLOP/s", "peak=1e400 FLOP/s", "noise=nan",
        "noise=-0.1", "noise=", "noise=0.1 0.2", "noise=inf", "seed=-1", "seed=1.5", "seed=18446744073709551616",
        "latency=1 s s", "=1", "peak=1 FLOP/s\nnoise", "\x01", "peak=1 FLOP/s peak"}) {
    INFO(text);
    CHECK(problem_of(text).starts_with("test:"));
  }
}
