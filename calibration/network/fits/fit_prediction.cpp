#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "calibration/network/fits/exchange_forms.hpp"
#include "calibration/network/fits/fit.hpp"
#include "calibration/network/fits/robust_fit.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Adds a warning if `asked` is outside of the measured range.
void check_count(std::vector<std::string>& warnings, int asked, std::optional<int> least, std::optional<int> most,
                 std::string_view what) {
  if (!least || !most || (asked >= *least && asked <= *most)) return;
  warnings.push_back(*least == *most ? fmt::format("{} {}: measured with {}", asked, what, *least)
                                     : fmt::format("{} {}: measured from {} to {}", asked, what, *least, *most));
}

}  // namespace

ExchangePrediction predict(const ExchangeFit& fit, int ranks, int nodes, Bytes message) {
  assert(!fit.ranges.empty());
  ExchangePrediction prediction;
  check_count(prediction.warnings, ranks, fit.min_ranks, fit.max_ranks, "ranks");
  check_count(prediction.warnings, nodes, fit.min_nodes, fit.max_nodes, "nodes");
  const Bytes least = fit.ranges.front().min_message;
  const Bytes most = fit.ranges.back().max_message;
  if (message < least || message > most) {
    prediction.warnings.push_back(
        fmt::format("messages of {}: measured from {} to {}", humanize(message), humanize(least), humanize(most)));
  }
  if (ranks <= 1) return prediction;

  const auto holds = [&](const FitRange& range) { return message <= range.knee; };
  const auto found = std::find_if(fit.ranges.begin(), fit.ranges.end(), holds);
  const FitRange& range = found == fit.ranges.end() ? fit.ranges.back() : *found;
  const RankCount count{static_cast<double>(ranks), static_cast<double>(nodes)};
  const Eigen::VectorXd terms = terms_of(range.algorithm, fit.operation, count, message.value());
  const auto size = terms.size();
  const Eigen::Map<const Eigen::VectorXd> coefficients(range.coefficients.data(), size);
  const Eigen::Map<const Eigen::MatrixXd> covariance(range.covariance.data(), size, size);
  // If a range continues the previous range, the start-up of the range may be negative. A time must not be negative.
  const double time = std::max(terms.dot(coefficients), 0.0);
  const double variance = std::max(terms.dot(covariance * terms), 0.0) + range.noise * range.noise * time * time;
  const double half = student_t_95(range.freedom) * std::sqrt(variance);
  prediction.time = {Seconds(time), Seconds(std::max(time - half, 0.0)), Seconds(time + half)};
  return prediction;
}

}  // namespace ddl
