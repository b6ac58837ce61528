#include "calibration/network/fits/overlap_section.hpp"

#include <string>

#include "calibration/inputs/coefficients_reader.hpp"
#include "tests/catch.hpp"

namespace ddl::overlap_section_tests {
namespace {

const std::string file = R"(format: 1
name: ours
machine: two
description: d
generator: hand
date: 2026-01-31
sources: {log: a log}
overlap: {kernels: 1.5, exchange: 2, source: log}
congestion:
  - {level: fabric, median: 1.1, spread: 1.3, source: log}
)";

Overlap overlap_of(double kernel_overlapped, double exchange_overlapped) {
  return {.kernel = "a kernel",
          .bytes = 4,
          .ranks = 4,
          .kernel_alone = Seconds(2),
          .kernel_overlapped = Seconds(kernel_overlapped),
          .exchange_alone = Seconds(4),
          .exchange_overlapped = Seconds(exchange_overlapped)};
}

}  // namespace

TEST_CASE("A slowdown is the overlapped time over the time alone") {
  const auto measured = measured_overlap(overlap_of(2.5, 5), "a sweep");
  REQUIRE(measured);
  CHECK(measured->kernels == 1.25);
  CHECK(measured->exchange == 1.25);
  // Measured times contain noise, but neither kernels nor exchange can be faster while overlapped.
  CHECK(measured_overlap(overlap_of(1.9, 4), "a sweep")->kernels == 1);
  CHECK(measured_overlap(overlap_of(2, 3.9), "a sweep")->exchange == 1);
}

TEST_CASE("Kernels that took no time, and exchanges of one rank, have no slowdown") {
  Overlap overlap = overlap_of(3, 5);
  overlap.ranks = 1;
  CHECK_FALSE(measured_overlap(overlap, "a sweep"));
  overlap = overlap_of(3, 5);
  overlap.kernel_alone = Seconds(0);
  CHECK_FALSE(measured_overlap(overlap, "a sweep"));
  overlap = overlap_of(3, 5);
  overlap.exchange_alone = Seconds(0);
  CHECK_FALSE(measured_overlap(overlap, "a sweep"));
}

TEST_CASE("Measured slow-downs replace only the slow-downs of the file") {
  const Coefficients before = parse_coefficients(file, "before");
  CHECK(before.overlap.kernels == 1.5);
  CHECK(before.overlap.exchange == 2);
  CHECK(before.overlap.source == "a log");
  const auto measured = measured_overlap(overlap_of(2.5, 7), "a sweep: \"ours\"");
  REQUIRE(measured);
  const std::string text = with_overlap_section(file, *measured);
  const Coefficients after = parse_coefficients(text, "after");
  CHECK(after.overlap.kernels == 1.25);
  CHECK(after.overlap.exchange == 1.75);
  CHECK(after.overlap.source == "a sweep: \"ours\"");
  CHECK(after.congestion.size() == 1);
  CHECK(with_overlap_section(text, *measured) == text);
}

}  // namespace ddl::overlap_section_tests
