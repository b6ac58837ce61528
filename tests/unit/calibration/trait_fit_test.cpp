#include "calibration/learning/trait_fit.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace trait_fit_tests {

using namespace ddl;

namespace {

constexpr double own_error = 0.4;  // of the family `odd`

/// Returns publications of runs of four families. All times are 1.1 times as long as predicted, apart from noise, and times
/// of the family `odd` are longer by e^own_error.
std::vector<ErrorRow> publications() {
  std::mt19937_64 engine(5);
  std::normal_distribution<double> noise(0, 0.03);
  const std::vector<std::string> families{"odd", "even", "flat", "round"};
  std::vector<ErrorRow> rows;
  for (int publication = 0; publication < 24; ++publication) {
    const double shared = noise(engine);
    for (int run = 0; run < 10; ++run) {
      ErrorRow row;
      row.set = "publication " + std::to_string(publication);
      row.time.software = "software";
      row.time.traits[RunTrait::family] = families[static_cast<std::size_t>(publication % 4)];
      row.time.traits[RunTrait::software] = "language, software";
      row.first_log_ratio = std::log(1.1) + shared + noise(engine) + (publication % 4 == 0 ? own_error : 0);
      row.log_ratio = row.first_log_ratio;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

TimeErrors errors_without(const std::vector<ErrorRow>& rows, const std::string& left_out, HeldOut by = HeldOut::set) {
  TimeErrors errors;
  errors.measured_software[ModelClass::convolutional] = {"software"};
  TraitFit(rows).set_traits(errors, {by, left_out});
  return errors;
}

}  // namespace

TEST_CASE("a trait of measured runs has their mean error, and an unknown trait has none") {
  const std::vector<ErrorRow> rows = publications();
  const TimeErrors errors = errors_without(rows, "");
  const TraitDoubt odd = trait_doubt(errors, rows[0].time), even = trait_doubt(errors, rows[10].time);
  CHECK(odd.mean - even.mean == Approx(own_error).margin(0.05));
  CHECK(even.mean == Approx(std::log(1.1)).margin(0.05));
  TimeSensitivity unknown = rows[10].time;
  unknown.traits[RunTrait::family] = "new";
  const TraitDoubt other = trait_doubt(errors, unknown);
  CHECK(other.mean == Approx(errors.usual_error + errors.traits[RunTrait::software].measured.front().mean));
  // A quarter of the families differs from the others by 0.4, so that their standard deviation is about 0.4·√(3/16).
  CHECK(std::sqrt(other.variance) == Approx(own_error * std::sqrt(3.0 / 16)).epsilon(0.5));
  CHECK(other.variance > 4 * even.variance);
  // A time with a new family has a wider interval.
  CHECK(interval_of(errors, unknown).low < interval_of(errors, rows[10].time).low);
}

TEST_CASE("effects of traits are those of predictions of today, mean and variances those of first predictions") {
  std::vector<ErrorRow> rows = publications();
  const TimeErrors before = errors_without(rows, "");
  for (ErrorRow& row : rows) row.log_ratio = 0;
  const TimeErrors after = errors_without(rows, "");
  CHECK(after.usual_error == before.usual_error);
  CHECK(after.traits[RunTrait::family].spread == before.traits[RunTrait::family].spread);
  CHECK(trait_doubt(after, rows[0].time).mean == Approx(after.usual_error));
}

TEST_CASE("a publication that is left out has no part in the errors of its traits") {
  std::vector<ErrorRow> rows = publications();
  for (ErrorRow& row : rows) {
    if (row.set == "publication 3") row.time.traits[RunTrait::family] = "alone";
  }
  const auto has_family = [&](const TimeErrors& errors) {
    const std::vector<TraitError>& families = errors.traits[RunTrait::family].measured;
    return std::any_of(families.begin(), families.end(), [](const TraitError& each) { return each.name == "alone"; });
  };
  CHECK(has_family(errors_without(rows, "")));
  CHECK_FALSE(has_family(errors_without(rows, "publication 3")));
  CHECK_FALSE(has_family(errors_without(rows, "alone", HeldOut::network)));
}

TEST_CASE("rows without all kernel data, and a single publication, determine no errors of traits") {
  std::vector<ErrorRow> rows = publications();
  rows.resize(10);
  CHECK(errors_without(rows, "").usual_error == 0);
  rows = publications();
  for (ErrorRow& row : rows) row.known = KnownKernels::none;
  CHECK(errors_without(rows, "").traits[RunTrait::family].measured.empty());
}

}  // namespace trait_fit_tests
