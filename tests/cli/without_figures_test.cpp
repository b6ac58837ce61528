#include "tests/cli/without_figures.hpp"

#include <string_view>

#include "tests/catch.hpp"

namespace {

using ddl::CommaIn;
using ddl::without_figures;

/// Returns whether two lines differ only in figures.
bool alike(std::string_view one, std::string_view other, CommaIn commas = CommaIn::figures) {
  return without_figures(one, commas) == without_figures(other, commas);
}

}  // namespace

TEST_CASE("any figure matches any other") {
  CHECK(alike("12", "7"));
  CHECK(alike("12 layers", "1,281,167 layers"));
  CHECK(alike("-52.6 %", "+3 %"));
  CHECK(alike("α 1e-05 and more", "α 2.5E+10 and more"));
  CHECK(alike("3×224×224", "64×55×55"));
  CHECK(alike("data=64 spatial=2x4", "data=8 spatial=16x1"));
  CHECK(alike("between 2026-11-21 and 12:30", "between 1999-01-02 and 1:05"));
  CHECK(alike("a total of 12.", "a total of 3.5."));
}

TEST_CASE("the prefix of a figure's unit is part of it") {
  CHECK(alike("12 ms", "1.5 s"));
  CHECK(alike("533 us for it", "2 h 05 min for it"));
  CHECK(alike("4 min 12 s", "34.1 d"));
  CHECK(alike("0 B", "2.57 GiB"));
  CHECK(alike("80GiB", "512B"));
  CHECK(alike("900 GB/s", "12.5 MB/s"));
  CHECK(alike("15.7 TFLOP/s", "3 GFLOP/s"));
  CHECK(alike("iteration ms  forward", "iteration us  forward"));
}

TEST_CASE("a line with another unit is a different line") {
  CHECK_FALSE(alike("12 s", "12 B"));
  CHECK_FALSE(alike("12 s", "12 %"));
  CHECK_FALSE(alike("12 GB", "12 GB/s"));
  CHECK_FALSE(alike("12 GB", "12"));
  CHECK_FALSE(alike("12 GB", "12 Gb"));
}

TEST_CASE("a number that is not finite is not a figure") {
  CHECK_FALSE(alike("nan ms", "12 ms"));
  CHECK_FALSE(alike("inf", "12"));
  CHECK_FALSE(alike("-inf", "-12"));
  CHECK_FALSE(alike("-nan", "-12"));
  CHECK_FALSE(alike("null", "12"));
  CHECK_FALSE(alike("-", "12"));
  CHECK_FALSE(alike("", "12"));
}

TEST_CASE("digits of a word are no figure") {
  CHECK_FALSE(alike("conv1", "conv2"));
  CHECK_FALSE(alike("fp32", "fp16"));
  CHECK_FALSE(alike("ZeRO-3", "ZeRO-2"));
  CHECK_FALSE(alike("gpt3-175b", "gpt3-13b"));
  CHECK_FALSE(alike("1f1b", "2f1b"));
  CHECK_FALSE(alike("stage1.conv1", "stage2.conv1"));
  CHECK_FALSE(alike("job.yaml:5:24: unknown", "job.yaml:5:25: unknown"));
}

TEST_CASE("a line with more or fewer figures is a different line") {
  CHECK_FALSE(alike("12 of 64", "12"));
  CHECK_FALSE(alike("3x4", "3x4x5"));
  CHECK_FALSE(alike("1 2", "12"));
}

TEST_CASE("a comma is a part of a figure or separates columns") {
  CHECK(alike("1,281,167", "12"));
  CHECK_FALSE(alike("1,281,167", "12", CommaIn::columns));
  CHECK(alike("data,1,128,1e-05", "data,4,4096,0.5", CommaIn::columns));
  CHECK_FALSE(alike("data,1,128", "data,1,128,", CommaIn::columns));
  CHECK_FALSE(alike("data,1,128", "data,1,", CommaIn::columns));
}

TEST_CASE("lines may differ in alignment, but not in indentation") {
  CHECK(alike("a    12  b", "a  1234  b"));
  CHECK(alike("  9 tests", " 10 tests"));
  CHECK(alike("  a ████▌ 12", "  a █ 3"));
  CHECK(alike("  a ─────┤ x", "  a ──┤ x"));
  CHECK(alike("a  12  ", "a 12"));
  CHECK_FALSE(alike("  a", "    a"));
  CHECK_FALSE(alike("a b", "ab"));
}
