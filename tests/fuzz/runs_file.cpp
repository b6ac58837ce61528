// A table of measured runs: parsed rows are found by filters on their own cells, and errors relative to them are finite.

#include <cmath>

#include "calibration/runs/run_prediction.hpp"
#include "calibration/runs/runs.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ddl::succeeds([&] {
    const std::vector<ddl::MeasuredRun> runs = ddl::parse_runs(ddl::text_of(data, size), "runs.csv");
    for (const ddl::MeasuredRun& run : runs) {
      ddl::require(ddl::matches(run, {"model", {run.model}}), "a run without its model");
      ddl::require(!run.gpus || ddl::matches(run, {"gpus", {std::to_string(*run.gpus)}}), "a run without its GPUs");
      ddl::require(run.value >= 0, "a negative value");
      const double seconds = ddl::in_seconds(run).value;
      ddl::require(std::isfinite(seconds), "a time that is none");
      ddl::require(seconds == 0 || std::isfinite(1 / seconds), "a time so short that no error is relative to it");
    }
  });
  return 0;
}
