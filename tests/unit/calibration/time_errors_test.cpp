#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "calibration/learning/reading_errors_fit.hpp"
#include "calibration/learning/time_errors_fit.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace time_errors_tests {

// The tests read and write files of widths, and fit widths.

using namespace ddl;

namespace {

TimeErrorsFile some_file() {
  TimeErrorsFile file{"runs of nobody", bundled_time_errors(), {{"ours", 3, 0.9, 0.8, {0.5, 1.5}}}};
  file.groups[HeldOut::device] = {{"card", 3, 0.7, {0.4, 1.6}}};
  return file;
}

/// Returns sets of runs whose matrix products have errors of a common width.
std::vector<ErrorRow> synthetic_rows(double width) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  std::vector<ErrorRow> rows;
  for (int set = 0; set < 20; ++set) {
    for (int run = 0; run < 50; ++run) {
      ErrorRow row;
      row.set = "set " + std::to_string(set);
      row.question = row.set;
      row.plan = std::to_string(run);
      row.time.model_class = ModelClass::transformer;
      row.time.sources.push_back({ErrorSource::matrix_products, TimeBasis::fitted, 0.9, 0.9});
      row.log_ratio = row.first_log_ratio = width / 1.645 * normal(engine);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("a file of widths reads back as it was written") {
  const std::string text = print_time_errors(some_file());
  const TimeErrorsFile read = parse_time_errors(text, "widths.yaml");
  CHECK(read.source == "runs of nobody");
  CHECK(read.coverage.size() == 1);
  CHECK(read.groups[HeldOut::device].size() == 1);
  CHECK(read.groups[HeldOut::software].empty());
  CHECK(print_time_errors(read) == text);
}

TEST_CASE("the bundled widths are smaller for times nearer to a measurement") {
  const TimeErrors& errors = bundled_time_errors();
  for (double ErrorWidth::*side : {&ErrorWidth::faster, &ErrorWidth::slower}) {
    for (std::size_t i = 1; i < time_basis_names.size(); ++i) {
      CHECK(errors.kernel_bases[i].*side >= errors.kernel_bases[i - 1].*side);
      CHECK(errors.exchange_bases[i].*side >= errors.exchange_bases[i - 1].*side);
    }
    for (const ErrorWidth& each : errors.classes) CHECK(each.*side > 0);
  }
}

TEST_CASE("a file of widths with an unknown key or a negative width is refused with its position") {
  const std::string text = print_time_errors(some_file());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return error_of([&] { static_cast<void>(parse_time_errors(other, "widths.yaml")); });
  };
  CHECK(with("launches:", "lunches:").find("did you mean 'launches'") != std::string::npos);
  CHECK(with("faster: ", "faster: -").find("widths.yaml:5:") != std::string::npos);
}

TEST_CASE("a fit finds the additional error of steps that read samples") {
  TimeErrorsFile file = fit_time_errors(synthetic_rows(0.2), {}, {});
  const double known = std::log(interval_of(file.errors, synthetic_rows(0.2).front().time).high);
  std::vector<ErrorRow> reading = synthetic_rows(0.2);
  constexpr double slower = 0.9;
  for (ErrorRow& row : reading) {
    row.time.reads_samples = true;
    row.log_ratio = row.first_log_ratio += slower;
  }
  fit_reading_errors(file, reading);
  CHECK(file.errors.reading_samples.faster == 0);
  CHECK(std::log(interval_of(file.errors, reading.front().time).high) > known + slower / 2);
  CHECK(file.reading_held >= 0.9);
  CHECK(file.reading_runs == static_cast<int>(reading.size()));
  file.source = "synthetic runs";
  CHECK(parse_time_errors(print_time_errors(file), "widths.yaml").errors.reading_samples.slower ==
        Approx(file.errors.reading_samples.slower).epsilon(0.01));
}

TEST_CASE("a fit finds the additional error of devices of other makers from devices that are left out") {
  std::vector<ErrorRow> rows = synthetic_rows(0.2);
  constexpr double slower = 0.9;  // ln of the factor by which devices of other makers are slower than predicted
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t set = i / 50;
    const bool is_foreign = set % 5 == 0;
    rows[i].device = std::string(is_foreign ? "AMD " : "NVIDIA ") + std::to_string(set);
    rows[i].time.traits[RunTrait::device] = "language transformer, " + rows[i].device;
    if (is_foreign) rows[i].log_ratio = rows[i].first_log_ratio += slower;
  }
  // A device that is left out is predicted with kernels of other devices.
  const std::size_t count = rows.size();
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(rows[i]);
    rows.back().known = KnownKernels::of_other_devices;
  }
  const TimeErrorsFile file = fit_time_errors(rows, {}, {});
  CHECK(file.errors.new_foreign_device.slower > 0);
  CHECK(file.errors.new_foreign_device.faster == 0);
  CHECK(file.foreign_held >= 0.9);
  // Bundled devices of Fujitsu have no runs.
  for (const std::string maker : {"AMD", "Fujitsu"}) CHECK(std::ranges::count(file.errors.makers, maker) == 1);
  CHECK(std::ranges::count(file.errors.makers, "NVIDIA") == 0);
}

TEST_CASE("a fit finds the scatter of runs, and covers nine of ten runs of left-out sets") {
  constexpr double width = 0.25;
  const TimeErrorsFile fit = fit_time_errors(synthetic_rows(width), {}, {});
  const TimeInterval interval = interval_of(fit.errors, synthetic_rows(width).front().time);
  CHECK(std::log(interval.high) == Approx(width).epsilon(0.15));
  CHECK(-std::log(interval.low) == Approx(width).epsilon(0.15));
  double held = 0;
  for (const SetCoverage& set : fit.coverage) held += set.held_left_out / static_cast<double>(fit.coverage.size());
  CHECK(held == Approx(interval_level).margin(0.02));
  CHECK_THROWS_AS(fit_time_errors({}, {}, {}), Error);
}

TEST_CASE("a software without measured runs has intervals that include the shifts between settings of software") {
  std::vector<ErrorRow> rows = synthetic_rows(0.2);
  for (ErrorRow& row : rows) {
    row.time.software = "known";
    row.device = "card";
  }
  // Settings of another software shift every time of one software by 30 % and every time of the other by -10 %.
  std::vector<ErrorRow> stand_ins = rows;
  for (std::size_t i = 0; i < stand_ins.size(); ++i) {
    stand_ins[i].ran = i % 2 == 0 ? "slow" : "fast";
    stand_ins[i].log_ratio += i % 2 == 0 ? std::log(1.3) : std::log(0.9);
    stand_ins[i].shift = stand_ins[i].log_ratio - rows[i].log_ratio;
    stand_ins[i].time.software.clear();
  }
  const TimeErrorsFile fit = fit_time_errors(rows, stand_ins, {});
  CHECK(fit.errors.measured_software[ModelClass::transformer] == std::vector<std::string>{"known"});
  CHECK(fit.errors.measured_software[ModelClass::convolutional].empty());
  CHECK(fit.stand_ins == static_cast<int>(stand_ins.size()));
  CHECK(fit.errors.new_software.slower == Approx(std::log(1.3)));
  CHECK(fit.errors.new_software.faster == Approx(-std::log(0.9)));
  CHECK(fit.stand_ins_held > 0.6);
  const TimeInterval known = interval_of(fit.errors, rows.front().time);
  const TimeInterval unknown = interval_of(fit.errors, stand_ins.front().time);
  CHECK(unknown.high > known.high * 1.1);
  CHECK(unknown.low < known.low);
  // The same class of models with the known software has the same interval as without stand-ins.
  const TimeErrorsFile without = fit_time_errors(rows, {}, {});
  CHECK(interval_of(without.errors, rows.front().time).high == known.high);
  // The plans of one question share their software, so only a part of its error is in their ratio.
  TimeSensitivity other = rows.front().time;
  other.software = "another";
  CHECK(ratio_interval_of(fit.errors, other, other).high < unknown.high * unknown.high);
  // The evidence counts the rows themselves.
  REQUIRE(fit.evidence.size() == 1);
  CHECK(fit.evidence.front().software == "known");
  CHECK(fit.evidence.front().device == "card");
  CHECK(fit.evidence.front().runs == static_cast<int>(rows.size()));
}

TEST_CASE("a software that is left out gets the intervals of an unknown one") {
  std::vector<ErrorRow> rows = synthetic_rows(0.2);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time.software = i % 1000 < 500 ? "slow" : "fast";
  std::vector<ErrorRow> stand_ins = rows;
  for (ErrorRow& row : stand_ins) {
    row.ran = row.time.software;
    row.shift = std::log(row.ran == "slow" ? 1.5 : 0.5);
    row.time.software.clear();
  }
  const TimeErrorsFile fit = fit_time_errors(rows, stand_ins, {});
  const std::vector<GroupCoverage>& groups = fit.groups[HeldOut::software];
  REQUIRE(groups.size() == 2);
  CHECK(groups.front().name == "fast");
  CHECK(groups.front().runs == 500);
  // Only shifts of the other software, which are all in one direction, have a part.
  CHECK(groups.front().mean.high > 1.5);
  CHECK(groups.back().mean.low < 0.5);
  CHECK(groups.back().mean.high < 1.5);
  // Groups that all rows are in, or no row, are no groups that can be left out.
  CHECK(fit.groups[HeldOut::device].empty());
  CHECK(fit.groups[HeldOut::set].empty());
}

TEST_CASE("widths are fitted to what was predicted before runs were known") {
  std::vector<ErrorRow> rows = synthetic_rows(0.2);
  for (ErrorRow& row : rows) row.log_ratio /= 100;
  const TimeErrorsFile first = fit_time_errors(rows, {}, {});
  for (ErrorRow& row : rows) row.first_log_ratio = row.log_ratio;
  const TimeErrorsFile later = fit_time_errors(rows, {}, {});
  const TimeSensitivity& time = rows.front().time;
  CHECK(std::log(interval_of(first.errors, time).high) == Approx(0.2).epsilon(0.15));
  CHECK(interval_of(later.errors, time).high < interval_of(first.errors, time).high);
  // The predictions of today are covered more often than the first ones.
  CHECK(first.coverage.front().held == 1);
  CHECK(first.coverage.front().held_left_out < 1);
}

}  // namespace time_errors_tests
