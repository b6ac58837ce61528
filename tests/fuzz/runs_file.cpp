// Fuzzes a table of measured runs: filters on the cells of a parsed row find the row, and errors
// relative to rows are finite.

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
