#include "core/units.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "tests/catch.hpp"

using namespace ddl;

namespace {

template <class Q>
double parsed(std::string_view text) {
  UnitProblem problem;
  const auto quantity = parse_quantity<Q>(text, problem);
  INFO(text << ": " << problem.message);
  CHECK(quantity.has_value());
  return quantity ? quantity->value() : std::nan("");
}

template <class Q>
std::string problem_of(std::string_view text) {
  UnitProblem problem;
  if (parse_quantity<Q>(text, problem)) return "no problem";
  return problem.hint.empty() ? problem.message : problem.message + "\nhint: " + problem.hint;
}

}  // namespace

TEST_CASE("sizes are read in powers of 1000 and of 1024") {
  CHECK(parsed<Bytes>("1 B") == 1.0);
  CHECK(parsed<Bytes>("2 kB") == 2e3);
  CHECK(parsed<Bytes>("2 MB") == 2e6);
  CHECK(parsed<Bytes>("1.5 GB") == 1.5e9);
  CHECK(parsed<Bytes>("2 TB") == 2e12);
  CHECK(parsed<Bytes>("2 PB") == 2e15);
  CHECK(parsed<Bytes>("2 KiB") == 2048.0);
  CHECK(parsed<Bytes>("1 MiB") == 0x1p20);
  CHECK(parsed<Bytes>("80 GiB") == 80 * 0x1p30);
  CHECK(parsed<Bytes>("1 TiB") == 0x1p40);
  CHECK(parsed<Bytes>("1 PiB") == 0x1p50);
}

TEST_CASE("times are read from nanoseconds to days") {
  CHECK(parsed<Seconds>("7 ns") == 7e-9);
  CHECK(parsed<Seconds>("5 us") == 5e-6);
  CHECK(parsed<Seconds>("5 \u00B5s") == 5e-6);  // the micro sign
  CHECK(parsed<Seconds>("5 \u03BCs") == 5e-6);  // the Greek letter
  CHECK(parsed<Seconds>("3 ms") == 3e-3);
  CHECK(parsed<Seconds>("3 s") == 3.0);
  CHECK(parsed<Seconds>("3 min") == 180.0);
  CHECK(parsed<Seconds>("1.5 h") == 5400.0);
  CHECK(parsed<Seconds>("2 d") == 172800.0);
}

TEST_CASE("bandwidths are read in bytes and in bits") {
  CHECK(parsed<Bandwidth>("900 GB/s") == 900e9);
  CHECK(parsed<Bandwidth>("1 GiB/s") == 0x1p30);
  CHECK(parsed<Bandwidth>("5 B/s") == 5.0);
  CHECK(parsed<Bandwidth>("100 Gb/s") == 12.5e9);
  CHECK(parsed<Bandwidth>("8 b/s") == 1.0);
  CHECK(parsed<Bandwidth>("8 Kib/s") == 1024.0);
}

TEST_CASE("compute rates are read in three spellings") {
  CHECK(parsed<FlopRate>("15.7 TFLOP/s") == 15.7e12);
  CHECK(parsed<FlopRate>("15.7 TFLOPS") == 15.7e12);
  CHECK(parsed<FlopRate>("900 GFLOPS") == 900e9);
  CHECK(parsed<FlopRate>("1 FLOP/s") == 1.0);
  CHECK(parsed<FlopRate>("2 PFLOP/s") == 2e15);
}

TEST_CASE("spaces around and between number and unit do not matter") {
  for (const std::string_view text : {"5us", "5 us", "  5\t us ", "5.0us", "0.5e1us", "5e0 us", "5E+0us", "05us", "5.us"}) {
    CHECK(parsed<Seconds>(text) == 5e-6);
  }
  CHECK(parsed<Seconds>(".5 s") == 0.5);
}

TEST_CASE("a number is rounded once, after its prefix") {
  // In doubles, 3.2 x 1e-6 = 3.1999999999999999e-6 differs from 3.2e-6.
  CHECK(parsed<Seconds>("3.2 us") == 3.2e-6);
  CHECK(parsed<Seconds>("0.7 ms") == 0.0007);
  CHECK(parsed<Bytes>("1.1e-3 GB") == 1.1e6);
}

TEST_CASE("zero is a quantity") {
  CHECK(parsed<Seconds>("0 us") == 0.0);
  CHECK(parsed<Seconds>("0.00e5 d") == 0.0);
}

TEST_CASE("a bare number has no unit") {
  CHECK(problem_of<Bandwidth>("900") == "'900' has no unit\nhint: use for example '900 GB/s'");
  CHECK(problem_of<Bytes>("80") == "'80' has no unit\nhint: use for example '80 GiB'");
  CHECK(problem_of<Seconds>("1.5e3") == "'1.5e3' has no unit\nhint: use for example '1.5e3 us'");
  CHECK(problem_of<FlopRate>("15.7 ") == "'15.7' has no unit\nhint: use for example '15.7 TFLOP/s'");
}

TEST_CASE("a text that does not start with a number is not a quantity") {
  CHECK(problem_of<Bandwidth>("fast") == "'fast' is not a bandwidth\nhint: use for example '900 GB/s'");
  CHECK(problem_of<Bytes>("") == "'' is not a size\nhint: use for example '900 GiB'");
  CHECK(problem_of<Seconds>("+5 us") == "'+5 us' is not a time\nhint: use for example '900 us'");
  CHECK(problem_of<FlopRate>("1,000 GFLOP/s") ==
        "'1,000 GFLOP/s' is not a compute rate\nhint: use for example '900 TFLOP/s'");
  CHECK(problem_of<Bytes>("1.2.3 GB").starts_with("'1.2.3 GB' is not a size"));
  CHECK(problem_of<Bytes>("1 000 GB").starts_with("'1 000 GB' is not a size"));
}

TEST_CASE("negative quantities are refused") {
  CHECK(problem_of<Seconds>("-5 us") == "'-5 us' is negative\nhint: use for example '900 us'");
  CHECK(problem_of<Seconds>("-5") == "'-5' is negative\nhint: use for example '900 us'");
  CHECK(problem_of<Seconds>("-0 us") == "'-0 us' is negative\nhint: use for example '900 us'");
}

TEST_CASE("nan and infinity are refused") {
  for (const std::string text : {"nan", "nan s", "inf s", "infinity", "-inf s", "NaN s"}) {
    CHECK(problem_of<Seconds>(text).starts_with("'" + text + "' is not a finite number"));
  }
}

TEST_CASE("numbers beyond the range of a double are refused at both ends") {
  CHECK(problem_of<Seconds>("1e999 s") == "'1e999 s' is too large\nhint: use for example '900 us'");
  CHECK(problem_of<Seconds>("1e99999999999999999999 s") ==
        "'1e99999999999999999999 s' is too large\nhint: use for example '900 us'");
  CHECK(problem_of<Bytes>("1e300 PB") == "'1e300 PB' is too large\nhint: use for example '900 GiB'");
  CHECK(problem_of<Bytes>("1e300 PiB") == "'1e300 PiB' is too large\nhint: use for example '900 GiB'");
  CHECK(problem_of<Seconds>("1e308 d") == "'1e308 d' is too large\nhint: use for example '900 us'");
  CHECK(problem_of<Seconds>(std::string(400, '9') + " ns").ends_with("is too large\nhint: use for example '900 us'"));
  CHECK(problem_of<Seconds>("1e-999 s") == "'1e-999 s' is too small to distinguish from zero");
  CHECK(problem_of<Seconds>("1e-99999999999999999999 s") ==
        "'1e-99999999999999999999 s' is too small to distinguish from zero");
  CHECK(problem_of<Seconds>("0." + std::string(400, '0') + "1 s").ends_with("is too small to distinguish from zero"));
  CHECK(problem_of<Bandwidth>("4e-324 b/s") == "'4e-324 b/s' is too small to distinguish from zero");
  CHECK(parsed<Seconds>("1e310 ns") == 1e301);
  CHECK(parsed<Bytes>("1e-330 PB") == 1e-315);
}

TEST_CASE("a unit in the wrong case is corrected") {
  CHECK(problem_of<Seconds>("5 MS") == "'5 MS' has the unknown unit 'MS'\nhint: did you mean 'ms'?");
  CHECK(problem_of<Bytes>("5 KB") == "'5 KB' has the unknown unit 'KB'\nhint: did you mean 'kB'?");
  CHECK(problem_of<Bytes>("5 gib") == "'5 gib' has the unknown unit 'gib'\nhint: did you mean 'GiB'?");
  CHECK(problem_of<Bytes>("80 Gb") == "'80 Gb' has the unknown unit 'Gb'\nhint: did you mean 'GB'?");
  CHECK(problem_of<FlopRate>("5 TFlop/s") == "'5 TFlop/s' has the unknown unit 'TFlop/s'\nhint: did you mean 'TFLOP/s'?");
}

TEST_CASE("a unit in another spelling is corrected") {
  CHECK(problem_of<Bandwidth>("5 GBps") == "'5 GBps' has the unknown unit 'GBps'\nhint: did you mean 'GB/s'?");
  CHECK(problem_of<Bandwidth>("5 Gbps") == "'5 Gbps' has the unknown unit 'Gbps'\nhint: did you mean 'Gb/s'?");
  CHECK(problem_of<Bandwidth>("5 GB /s") == "'5 GB /s' has the unknown unit 'GB /s'\nhint: did you mean 'GB/s'?");
}

TEST_CASE("for an unknown unit, the hint lists the units") {
  CHECK(problem_of<Seconds>("5 fortnights") ==
        "'5 fortnights' has the unknown unit 'fortnights'\nhint: known: ns, us, ms, s, min, h, d, years");
  CHECK(problem_of<Seconds>("0x10 s").starts_with("'0x10 s' has the unknown unit 'x10 s'"));
  CHECK(problem_of<Bytes>("5 \u00B5B").starts_with("'5 \u00B5B' has the unknown unit '\u00B5B'"));
}

TEST_CASE("a unit of another dimension is called by its name") {
  CHECK(problem_of<Seconds>("5 GB") == "'5 GB' is a size, not a time\nhint: use for example '900 us'");
  CHECK(problem_of<Bytes>("5 GB/s") == "'5 GB/s' is a bandwidth, not a size\nhint: use for example '900 GiB'");
  CHECK(problem_of<Bandwidth>("5 TFLOPS") ==
        "'5 TFLOPS' is a compute rate, not a bandwidth\nhint: use for example '900 GB/s'");
  CHECK(problem_of<FlopRate>("5 s") == "'5 s' is a time, not a compute rate\nhint: use for example '900 TFLOP/s'");
}

TEST_CASE("nothing may follow the unit") {
  CHECK(problem_of<Seconds>("5 us each") == "'5 us each' has text after its unit\nhint: remove the text after 'us'");
  CHECK(problem_of<Seconds>("1 h 30 min") == "'1 h 30 min' has text after its unit\nhint: remove the text after 'h'");
}

TEST_CASE("the user's text is shown on one short line") {
  CHECK(problem_of<Seconds>("5 a\nb").starts_with("'5 a?b' has the unknown unit 'a?b'"));
  CHECK(problem_of<Seconds>(std::string(1000, 'x')).size() < 200);
}

TEST_CASE("quantities are printed in the unit that needs the fewest digits, then in the largest") {
  CHECK(print_quantity(16_GiB) == "16 GiB");
  CHECK(print_quantity(1_GB * 1.5) == "1.5 GB");
  CHECK(print_quantity(1_B * 1000) == "1 kB");
  CHECK(print_quantity(1_B * 1024) == "1 KiB");
  CHECK(print_quantity(1_B * 1536) == "1.5 KiB");
  CHECK(print_quantity(1_B * 1023) == "1.023 kB");
  CHECK(print_quantity(1_B) == "1 B");
  CHECK(print_quantity(3.2_us) == "3.2 us");
  CHECK(print_quantity(0.25_s) == "250 ms");
  CHECK(print_quantity(90.0_s) == "90 s");
  CHECK(print_quantity(100.0_s) == "100 s");
  CHECK(print_quantity(300.0_s) == "5 min");
  CHECK(print_quantity(7200.0_s) == "2 h");
  CHECK(print_quantity(129600.0_s) == "1.5 d");
  CHECK(print_quantity(900.0_GBps) == "900 GB/s");
  CHECK(print_quantity(Bandwidth(12.5e9)) == "12.5 GB/s");
  CHECK(print_quantity(312.0_TFLOPS) == "312 TFLOP/s");
}

TEST_CASE("numbers below the smallest unit and far above the largest are printed too") {
  CHECK(print_quantity(Seconds(5e-10)) == "0.5 ns");
  CHECK(print_quantity(Bytes(0.125)) == "0.125 B");
  CHECK(print_quantity(Bytes(1e300)) == "1e285 PB");
  CHECK(print_quantity(Bytes(1.5e40)) == "1.5e25 PB");
  CHECK(print_quantity(Seconds(std::numeric_limits<double>::denorm_min())) == "5e-315 ns");
}

TEST_CASE("zero is printed in the base unit") {
  CHECK(print_quantity(Bytes()) == "0 B");
  CHECK(print_quantity(Seconds()) == "0 s");
  CHECK(print_quantity(Bandwidth()) == "0 B/s");
  CHECK(print_quantity(FlopRate()) == "0 FLOP/s");
}

TEST_CASE("values that parse_quantity refuses are still printed in readable form") {
  CHECK(print_quantity(-5.0_us) == "-5 us");
  CHECK(print_quantity(Seconds(std::numeric_limits<double>::quiet_NaN())) == "nan s");
  CHECK(print_quantity(Bytes(std::numeric_limits<double>::infinity())) == "inf B");
}

TEMPLATE_TEST_CASE("every quantity reads back from its print as the same double", "", Bytes, Seconds, Bandwidth, FlopRate) {
  std::mt19937_64 random(5);
  std::uniform_int_distribution<int> whole(1, 4096);
  std::uniform_int_distribution<int> exponent(-12, 20);
  const double largest = std::numeric_limits<double>::max();
  for (const double value :
       {1.0, 60.0, 3600.0, 86400.0, 1e-9, largest, std::numeric_limits<double>::min(),
        std::numeric_limits<double>::denorm_min(), std::nextafter(1024.0, 0.0), std::nextafter(1e9, 2e9)}) {
    CHECK(parsed<TestType>(print_quantity(TestType(value))) == value);
  }
  for (int round = 0; round < 5000; ++round) {
    // The values are random doubles, followed by typical ones.
    const double any = std::abs(std::bit_cast<double>(random()));
    const double usual = whole(random) * std::pow(10.0, exponent(random)) *
                         (round % 3 == 0   ? 1024.0
                          : round % 3 == 1 ? 60.0
                                           : 1.0);
    for (const double value : {any, usual}) {
      if (!std::isfinite(value)) continue;
      UnitProblem problem;
      const auto back = parse_quantity<TestType>(print_quantity(TestType(value)), problem);
      INFO(print_quantity(TestType(value)) << ": " << problem.message);
      REQUIRE((back && std::bit_cast<std::uint64_t>(back->value()) == std::bit_cast<std::uint64_t>(value)));
    }
  }
}

TEST_CASE("values for people have three significant digits") {
  CHECK(humanize(Bytes(12.9 * 0x1p30)) == "12.9 GiB");
  CHECK(humanize(0.231_s) == "231 ms");
  CHECK(humanize(Seconds(3.14159e-6)) == "3.14 us");
  CHECK(humanize(900.0_GBps) == "900 GB/s");
  CHECK(humanize(15.7_TFLOPS) == "15.7 TFLOP/s");
  CHECK(humanize(Flops(4.1e9)) == "4.10 GFLOP");
  CHECK(humanize(80_GiB) == "80.0 GiB");
  CHECK(humanize(Seconds(1e-10)) == "0.100 ns");
  CHECK(humanize(Seconds(1e-15)) == "1e-06 ns");
}

TEST_CASE("bytes are printed as whole numbers if possible") {
  CHECK(humanize(17_B) == "17 B");
  CHECK(humanize(1023_B) == "1023 B");
  CHECK(humanize(Bytes(0.5)) == "0.500 B");
  CHECK(humanize(1024_B) == "1.00 KiB");
}

TEST_CASE("rounding carries into the next unit") {
  CHECK(humanize(Seconds(0.9994e-3)) == "999 us");
  CHECK(humanize(Seconds(0.9996e-3)) == "1.00 ms");
  CHECK(humanize(Seconds(9.996)) == "10.0 s");
  CHECK(humanize(1_KiB * 1000) == "0.977 MiB");
  CHECK(humanize(Seconds(59.94)) == "59.9 s");
  CHECK(humanize(Seconds(59.96)) == "1 min 00 s");
  CHECK(humanize(Seconds(119.6)) == "2 min 00 s");
  CHECK(humanize(Seconds(3599.4)) == "59 min 59 s");
  CHECK(humanize(Seconds(3599.6)) == "1 h 00 min");
  CHECK(humanize(Seconds(86369.0)) == "23 h 59 min");
  CHECK(humanize(Seconds(86371.0)) == "1.00 d");
}

TEST_CASE("long durations are in minutes, hours and days") {
  CHECK(humanize(252.0_s) == "4 min 12 s");
  CHECK(humanize(65.0_s) == "1 min 05 s");
  CHECK(humanize(7500.0_s) == "2 h 05 min");
  CHECK(humanize(Seconds(34.1 * 86400)) == "34.1 d");
  CHECK(humanize(Seconds(12345.0 * 86400)) == "12,345 d");
  CHECK(humanize(Seconds(1e25)) == "1.16e+20 d");
}

TEST_CASE("huge and tiny numbers are not padded with zeros") {
  CHECK(humanize(Bytes(1e300)) == "8.47e+278 ZiB");
  CHECK(humanize(Bandwidth(1e18)) == "1.00 EB/s");
}

TEST_CASE("zero, signs and NaN are printed readably") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(humanize(0.0_s) == "0 s");
  CHECK(humanize(0_B) == "0 B");
  CHECK(humanize(Bandwidth(0.0)) == "0 B/s");
  CHECK(humanize(Seconds(-0.0)) == "0 s");
  CHECK(humanize(Seconds(-252.0)) == "-4 min 12 s");
  CHECK(humanize(Bytes(nan)) == "unknown");
  CHECK(humanize(Seconds(-nan)) == "unknown");
  CHECK(humanize(FlopRate(inf)) == "infinite");
  CHECK(humanize(Flops(-inf)) == "-infinite");
}

TEST_CASE("printed values are within half of their last digit") {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> exponent(-9.0, 1.7);
  for (int round = 0; round < 2000; ++round) {
    const double value = std::pow(10.0, exponent(random));
    const std::string text = humanize(Seconds(value));
    CAPTURE(text, value);
    REQUIRE(parsed<Seconds>(text) == Approx(value).epsilon(0.00501));
  }
}

TEST_CASE("thousands are separated") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(1281167) == "1,281,167");
  CHECK(with_thousands(-999) == "-999");
  CHECK(with_thousands(-1000) == "-1,000");
  CHECK(with_thousands(std::numeric_limits<long long>::min()) == "-9,223,372,036,854,775,808");
}
