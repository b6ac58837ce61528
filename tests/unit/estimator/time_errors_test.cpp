#include "estimator/inputs/time_errors.hpp"

#include <cmath>
#include <random>

#include "tests/catch.hpp"

// The tests check intervals of predicted times (docs/formulas.md, "How sure a time is").

using namespace ddl;

namespace {

/// Returns widths that differ between sources. Factors of bases ascend.
TimeErrors some_errors() {
  TimeErrors errors;
  double width = 0.1;
  for (ErrorWidth& each : errors.sources) {
    each = {width, 2 * width};
    width += 0.05;
  }
  const double factors[] = {0.3, 0.6, 1, 1.2, 2};
  for (std::size_t i = 0; i < errors.kernel_bases.size(); ++i)
    errors.kernel_bases[i] = errors.exchange_bases[i] = {factors[i], factors[i]};
  errors.classes = {ErrorWidth{0.2, 0.4}, ErrorWidth{0.1, 0.2}, ErrorWidth{0.2, 0.3}};
  errors.usual_error = 0.05;
  errors.traits = {TraitErrors{0.1, {{"resnet", 0.02, 0.03}, {"vit", -0.2, 0.04}}}, TraitErrors{0.08}, TraitErrors{0.06}};
  return errors;
}

TimeSensitivity some_time(std::mt19937_64& engine) {
  std::uniform_real_distribution<double> share(0, 1);
  TimeSensitivity time;
  time.model_class = ModelClass::transformer;
  for (std::size_t i = 0; i < error_source_names.size(); ++i) {
    if (share(engine) < 0.3) continue;
    const auto basis = static_cast<TimeBasis>(std::uniform_int_distribution<int>(0, 4)(engine));
    time.sources.push_back({static_cast<ErrorSource>(i), basis, share(engine) / 4, share(engine) / 4});
  }
  return time;
}

TimeSensitivity of_kernels(TimeBasis basis, double share = 0.9) {
  TimeSensitivity time;
  time.sources.push_back({ErrorSource::matrix_products, basis, share, share});
  return time;
}

double width(const TimeInterval& interval) { return std::log(interval.high / interval.low); }

}  // namespace

TEST_CASE("an interval contains the prediction, and is finite at extremes") {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 200; ++i) {
    const TimeInterval interval = interval_of(some_errors(), some_time(engine));
    CHECK(interval.low <= 1);
    CHECK(interval.low > 0);
    CHECK(interval.high >= 1);
    CHECK(std::isfinite(interval.high));
  }
  const TimeInterval none = interval_of(TimeErrors{}, TimeSensitivity{});
  CHECK(none.low == 1);
  CHECK(none.high == 1);
  TimeErrors huge = some_errors();
  for (ErrorWidth& each : huge.sources) each = {1e300, 1e300};
  const TimeInterval widest = interval_of(huge, of_kernels(TimeBasis::sheet, 1));
  CHECK(widest.low == Approx(0.01).epsilon(0.01));
  CHECK(widest.high == Approx(100).epsilon(0.01));
}

TEST_CASE("runs of other networks do not narrow the error of the factor that kernels take from other networks") {
  const TimeErrors errors = some_errors();
  TimeSensitivity own = of_kernels(TimeBasis::fitted), pooled = own;
  // Half of the step is kernels, and factors of networks differ by a standard deviation of 0.8.
  pooled.scale_slower = pooled.scale_faster = 0.4;
  CHECK(width(interval_of(errors, pooled)) >= width(interval_of(errors, own)));
  own.learned = pooled.learned = LearnedRuns{100, 0.05};
  // 90 % of a normal distribution lie within 1.645 standard deviations.
  CHECK(std::log(interval_of(errors, pooled).high) > 1.6 * 0.4);
  CHECK(std::log(interval_of(errors, own).high) < 0.4);
  // Two plans of one network have the same error of the factor.
  CHECK(width(ratio_interval_of(errors, pooled, pooled)) == Approx(width(ratio_interval_of(errors, own, own))));
}

TEST_CASE("unknown routing widens an interval upwards, and the ratio of plans by the difference") {
  const TimeErrors errors;  // without any other error
  TimeSensitivity known, unknown;
  unknown.routing = std::log(1.2);
  CHECK(interval_of(errors, unknown).high == Approx(1.2));
  CHECK(interval_of(errors, unknown).low == 1);
  CHECK(ratio_interval_of(errors, known, unknown).high == Approx(1.2));
  CHECK(ratio_interval_of(errors, known, unknown).low == 1);
  CHECK(ratio_interval_of(errors, unknown, known).low == Approx(1 / 1.2));
  CHECK(ratio_interval_of(errors, unknown, unknown).high == 1);
}

TEST_CASE("measured kernels have narrower intervals than kernels predicted from the datasheet") {
  const TimeErrors errors = some_errors();
  double before = 0;
  for (std::size_t i = 0; i < time_basis_names.size(); ++i) {
    const double own = width(interval_of(errors, of_kernels(static_cast<TimeBasis>(i))));
    CHECK(own > before);
    before = own;
  }
}

TEST_CASE("a time that depends more on a source has no narrower interval") {
  std::mt19937_64 engine(2);
  const TimeErrors errors = some_errors();
  for (int i = 0; i < 100; ++i) {
    TimeSensitivity time = some_time(engine);
    if (time.sources.empty()) continue;
    const double before = width(interval_of(errors, time));
    time.sources.front().slower += 0.1;
    time.sources.front().faster += 0.1;
    CHECK(width(interval_of(errors, time)) > before);
  }
}

TEST_CASE("the widths of all sources add up to the width of the interval") {
  std::mt19937_64 engine(3);
  const TimeErrors errors = some_errors();
  for (int i = 0; i < 100; ++i) {
    const TimeSensitivity time = some_time(engine);
    double faster = 0, slower = 0;
    ErrorWidth usual;
    for (const WidthShare& each : width_shares(errors, time)) {
      if (each.name == usual_error_name) {
        usual = each.width;
        continue;
      }
      faster += each.width.faster * each.width.faster;
      slower += each.width.slower * each.width.slower;
    }
    const TimeInterval interval = interval_of(errors, time);
    CHECK(std::log(interval.low) == Approx(-usual.faster - std::sqrt(faster)));
    CHECK(std::log(interval.high) == Approx(usual.slower + std::sqrt(slower)));
  }
}

TEST_CASE("the usual error of a trait widens the interval to its side, and cancels in the ratio of two plans") {
  TimeErrors errors = some_errors();
  errors.own_of_plan = 0;
  TimeSensitivity slow = of_kernels(TimeBasis::fitted), fast = slow, unknown = slow;
  slow.traits[RunTrait::family] = "resnet";  // 0.05 + 0.02 too short
  fast.traits[RunTrait::family] = "vit";     // 0.2 − 0.05 too long
  CHECK(trait_doubt(errors, slow).mean == Approx(0.07));
  CHECK(trait_doubt(errors, fast).mean == Approx(-0.15));
  CHECK(trait_doubt(errors, unknown).mean == Approx(0.05));
  CHECK(trait_doubt(errors, unknown).variance - trait_doubt(errors, slow).variance == Approx(0.01 - 0.0009));
  errors.usual_error = 0;
  const TimeInterval plain = interval_of(errors, fast);
  errors.usual_error = 0.15;
  CHECK(std::log(interval_of(errors, fast).low / plain.low) == Approx(0.15));
  CHECK(interval_of(errors, fast).high == plain.high);
  CHECK(ratio_interval_of(errors, fast, fast).high == 1);
  errors.usual_error = 2;
  CHECK(interval_of(errors, fast).high > 6);
  // A fit to runs includes their usual error.
  fast.learned = LearnedRuns{};
  fast.learned->runs = 10;
  fast.learned->misfit = 0.02;
  CHECK(interval_of(errors, fast).high < 1.5);
}

TEST_CASE("a step that reads samples has an additional error") {
  TimeErrors errors = some_errors();
  errors.reading_samples = {0.1, 0.7};
  const TimeSensitivity synthetic = of_kernels(TimeBasis::fitted);
  TimeSensitivity reading = synthetic;
  reading.reads_samples = true;
  const double before = std::log(interval_of(errors, synthetic).high) - 0.05;  // the usual error is added to the root
  CHECK(std::log(interval_of(errors, reading).high) - 0.05 == Approx(std::hypot(before, 0.7)));
  CHECK(interval_of(errors, reading).low < interval_of(errors, synthetic).low);
  const auto is_of_reading = [](const WidthShare& share) { return share.width == ErrorWidth{0.1, 0.7}; };
  CHECK(std::ranges::count_if(width_shares(errors, reading), is_of_reading) == 1);
  CHECK(std::ranges::count_if(width_shares(errors, synthetic), is_of_reading) == 0);
  // Two plans read the same samples.
  CHECK(ratio_interval_of(errors, reading, reading).high == ratio_interval_of(errors, synthetic, synthetic).high);
}

TEST_CASE("a device of another maker that no run of the kind used has an additional error") {
  TimeErrors errors = some_errors();
  errors.new_foreign_device = {0.1, 0.5};
  errors.makers = {"AMD", "Intel"};
  TraitErrors& devices = errors.traits[RunTrait::device];
  devices.measured = {{"language transformer, AMD Instinct MI300X", 0, devices.spread}};
  TimeSensitivity known = of_kernels(TimeBasis::fitted), unknown = known, of_nvidia = known, of_nobody = known;
  const TimeSensitivity without = known;
  known.traits[RunTrait::device] = "language transformer, AMD Instinct MI300X";
  unknown.traits[RunTrait::device] = "generation transformer, AMD Instinct MI300X";
  of_nvidia.traits[RunTrait::device] = "generation transformer, NVIDIA H100 SXM5 80 GB";
  of_nobody.traits[RunTrait::device] = "generation transformer, H100 SXM5 80 GB";
  CHECK(is_new_foreign_device(errors, unknown));
  for (const TimeSensitivity& other : {known, of_nvidia, of_nobody, without}) {
    CHECK_FALSE(is_new_foreign_device(errors, other));
    CHECK(width(interval_of(errors, other)) == Approx(width(interval_of(errors, known))));
  }
  const double before = std::log(interval_of(errors, known).high) - 0.05;  // the usual error is added to the root
  const double after = std::log(interval_of(errors, unknown).high) - 0.05;
  CHECK(after == Approx(std::hypot(before, 0.5)));
  CHECK(interval_of(errors, unknown).low < interval_of(errors, known).low);
  const auto names = [](const WidthShare& share) {
    return share.name == "device without measured runs of this kind of model" && share.width == ErrorWidth{0.1, 0.5};
  };
  CHECK(std::ranges::count_if(width_shares(errors, unknown), names) == 1);
  // Two plans on one device have the same error.
  CHECK(ratio_interval_of(errors, unknown, unknown).high == ratio_interval_of(errors, known, known).high);
}

TEST_CASE("common errors of two plans cancel in their ratio") {
  TimeErrors errors = some_errors();
  errors.own_of_plan = 0;
  const TimeSensitivity plan = of_kernels(TimeBasis::sheet);
  CHECK(ratio_interval_of(errors, plan, plan).low == 1);
  CHECK(ratio_interval_of(errors, plan, plan).high == 1);
  // A plan with more exchanges is slower than predicted if exchanges are slower than predicted.
  TimeSensitivity other = plan;
  other.sources.push_back({ErrorSource::layer_exchange, TimeBasis::sheet, 0.1, 0.1});
  const TimeInterval ratio = ratio_interval_of(errors, plan, other);
  CHECK(ratio.high > 1);
  CHECK(width(ratio) < width(interval_of(errors, plan)));
}

TEST_CASE("the inverse ratio of two plans has the inverse interval") {
  std::mt19937_64 engine(4);
  const TimeErrors errors = some_errors();
  for (int i = 0; i < 100; ++i) {
    const TimeSensitivity a = some_time(engine), b = some_time(engine);
    const TimeInterval one = ratio_interval_of(errors, a, b), other = ratio_interval_of(errors, b, a);
    CHECK(one.low == Approx(1 / other.high));
    CHECK(one.high == Approx(1 / other.low));
    CHECK(one.low <= 1);
    CHECK(one.high >= 1);
  }
}

TEST_CASE("the ratio to a plan with measured runs is no less certain than the two plans together") {
  std::mt19937_64 engine(5);
  const TimeErrors errors = some_errors();
  for (int i = 0; i < 100; ++i) {
    TimeSensitivity a = some_time(engine);
    const TimeSensitivity b = some_time(engine);
    const TimeInterval before = ratio_interval_of(errors, a, b);
    a.learned = LearnedRuns{20, 0.02};
    const TimeInterval ratio = ratio_interval_of(errors, a, b), of_a = interval_of(errors, a), of_b = interval_of(errors, b);
    CHECK(std::log(ratio.high) <= std::hypot(std::log(of_b.high), std::log(of_a.low)) * (1 + 1e-9));
    CHECK(-std::log(ratio.low) <= std::hypot(std::log(of_b.low), std::log(of_a.high)) * (1 + 1e-9));
    CHECK(ratio.high <= before.high);
    CHECK(ratio.low >= before.low);
  }
}

TEST_CASE("measured runs narrow an interval, and more runs narrow it at least as much") {
  const TimeErrors errors = some_errors();
  TimeSensitivity time = of_kernels(TimeBasis::sheet);
  const double before = width(interval_of(errors, time));
  double least = before;
  for (const int runs : {1, 3, 10, 100}) {
    time.learned = LearnedRuns{runs, 0.02};
    const double own = width(interval_of(errors, time));
    CHECK(own < least);
    least = own;
  }
  // Runs say less about plans with more devices.
  TimeErrors growing = errors;
  growing.learned_growth = 0.1;
  for (const double beyond : {0.0, 1.0, 3.0}) {
    TimeSensitivity larger = time;
    larger.learned->beyond = beyond;
    const double own = width(interval_of(growing, larger));
    CHECK(own <= before);
    if (beyond == 0) CHECK(own == width(interval_of(errors, time)));
    if (beyond > 0) CHECK(own > width(interval_of(errors, time)));
  }
  // Runs with a poor fit carry little information.
  time.learned = LearnedRuns{10, 5};
  CHECK(width(interval_of(errors, time)) <= before);
}
