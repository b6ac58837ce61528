#include "calibration/network/fits/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "calibration/network/benchmarks/open_mpi_rules.hpp"
#include "calibration/network/benchmarks/repetitions.hpp"
#include "calibration/network/fits/exchange_forms.hpp"
#include "calibration/network/fits/robust_fit.hpp"
#include "calibration/network/fits/size_ranges.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// If the times of two series of one rank count differ by more than this share, the series are not repetitions of each
/// other.
constexpr double repeat_difference = 0.1;
/// A point with a lower weight counts as an outlier.
constexpr double outlier_weight = 0.05;
/// The noise of a range is a weighted mean of two estimates: one from the rows of the range, and one from all ranges, which
/// has the weight of this many rows. With few rows, the estimate from the range alone is unreliable (Smyth, "Linear models
/// and empirical Bayes methods", 2004).
constexpr double shared_rows = 3;

RankCount count_of(const ExchangeSeries& series) {
  const int ranks = series.ranks.value_or(series.operation == Collective::point_to_point ? 2 : 0);
  return {static_cast<double>(ranks), static_cast<double>(series.nodes.value_or(0))};
}

std::vector<ExchangePoint> points_of(const ExchangeSeries& series) {
  std::vector<ExchangePoint> points;
  for (const MeasuredExchange& row : series.rows) {
    const double bytes = row.message.value();
    const double seconds = row.time.value();
    if (!std::isfinite(bytes) || bytes < 0 || !std::isfinite(seconds) || seconds <= 0) {
      throw Error(fmt::format("{}:{}: a message of {} bytes that took {} s", series.file, row.line, bytes, seconds),
                  "sizes must not be negative, and times must be positive");
    }
    points.push_back({bytes, seconds, count_of(series)});
  }
  return points;
}

bool by_size(const ExchangePoint& a, const ExchangePoint& b) {
  return std::tie(a.bytes, a.count.ranks, a.count.nodes, a.seconds) <
         std::tie(b.bytes, b.count.ranks, b.count.nodes, b.seconds);
}

/// Whether times at common sizes are similar.
bool are_repeats(const ExchangeSeries& a, const ExchangeSeries& b) {
  const std::optional<double> factor = difference(a, b);
  return factor && *factor <= 1 + repeat_difference;
}

/// Indices of series that are fitted together.
std::vector<std::vector<std::size_t>> fit_groups(std::span<const ExchangeSeries> series) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const ExchangeSeries& one = series[i];
    const auto belongs = [&](const std::vector<std::size_t>& group) {
      const ExchangeSeries& first = series[group.front()];
      if (std::tie(first.operation, first.pattern, first.window, first.level, first.tool, first.library) !=
          std::tie(one.operation, one.pattern, one.window, one.level, one.tool, one.library)) {
        return false;
      }
      return std::all_of(group.begin(), group.end(), [&](std::size_t other) {
        return count_of(series[other]) == count_of(one) ? are_repeats(series[other], one)
                                                        : count_of(one).ranks > 1 && count_of(series[other]).ranks > 1;
      });
    };
    const auto found = std::find_if(groups.begin(), groups.end(), belongs);
    if (found == groups.end()) {
      groups.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  return groups;
}

/// How the line of a range differs from the line of the previous range.
enum class Joint {
  jump,        ///< the range has its own start-up and its own time per byte
  same_slope,  ///< the range has its own start-up: another protocol on the same link
  bend,        ///< a larger time per byte, from the intersection of the two lines on
};

/// The coefficients of the terms of each range, as linear combinations of free parameters.
using Shares = std::vector<Eigen::MatrixXd>;

struct Design {
  Eigen::MatrixXd terms;
  Shares shares;
  double parameters = 0;  ///< number of parameters, including knees
};

double knee_between(const ExchangePoint& last, const ExchangePoint& first) {
  return last.bytes > 0 ? std::sqrt(last.bytes) * std::sqrt(first.bytes) : first.bytes / 2;
}

Design design_of(std::span<const ExchangePoint> points, Collective operation, const std::vector<SizeRange>& ranges,
                 const std::vector<Joint>& joints) {
  Design design;
  Eigen::Index free = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Joint joint = i == 0 ? Joint::jump : joints[i - 1];
    free += joint == Joint::same_slope ? 1 : term_count(ranges[i].algorithm);
  }
  Eigen::Index next = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Joint joint = i == 0 ? Joint::jump : joints[i - 1];
    Eigen::MatrixXd share = Eigen::MatrixXd::Zero(term_count(ranges[i].algorithm), free);
    if (joint == Joint::jump) {
      for (Eigen::Index k = 0; k < share.rows(); ++k) share(k, next++) = 1;
    } else {
      const Eigen::MatrixXd& before = design.shares.back();
      share = before;
      if (joint == Joint::same_slope) {
        share.row(0).setZero();
        share(0, next++) = 1;
      } else {
        // After a bend, the line starts lower and is steeper. Both differences must be positive or zero.
        share(0, next++) = -1;
        share(1, next++) += 1;
      }
    }
    design.shares.push_back(share);
  }
  // The position of a bend is not a parameter, because it is the intersection of two lines.
  const auto bends = std::count(joints.begin(), joints.end(), Joint::bend);
  design.parameters = static_cast<double>(free) + static_cast<double>(ranges.size()) - 1 - static_cast<double>(bends);
  design.terms = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(points.size()), free);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto begin = static_cast<Eigen::Index>(ranges[i].begin);
    const auto count = static_cast<Eigen::Index>(ranges[i].end - ranges[i].begin);
    const auto own = points.subspan(ranges[i].begin, ranges[i].end - ranges[i].begin);
    design.terms.middleRows(begin, count) = terms_of(ranges[i].algorithm, operation, own) * design.shares[i];
  }
  return design;
}

/// The message size, in bytes, at which the lines of two neighboring ranges intersect.
double crossing(const Design& design, const Eigen::VectorXd& free, const std::vector<SizeRange>& ranges, std::size_t after,
                Collective operation, RankCount count) {
  const Eigen::VectorXd step = (design.shares[after] - design.shares[after - 1]) * free;
  const Eigen::VectorXd of_a_byte = terms_of(ranges[after].algorithm, operation, count, 1);
  return -step[0] * of_a_byte[0] / (step[1] * of_a_byte[1]);
}

/// Whether each bend lies between the two measured sizes around its cut.
bool bends_where_cut(std::span<const ExchangePoint> points, const Design& design, const Eigen::VectorXd& free,
                     const std::vector<SizeRange>& ranges, const std::vector<Joint>& joints, Collective operation) {
  for (std::size_t i = 0; i < joints.size(); ++i) {
    if (joints[i] != Joint::bend) continue;
    const ExchangePoint& first = points[ranges[i + 1].begin];
    const double knee = crossing(design, free, ranges, i + 1, operation, first.count);
    if (!(knee >= points[ranges[i + 1].begin - 1].bytes && knee <= first.bytes)) return false;
  }
  return true;
}

/// The combination of joints with the best information criterion. If several rank counts were measured, or if algorithms
/// change, ranges are joined by jumps only.
std::vector<Joint> joints_of(std::span<const ExchangePoint> points, Collective operation,
                             const std::vector<SizeRange>& ranges) {
  const std::size_t knees = ranges.size() - 1;
  std::vector<Joint> best(knees, Joint::jump);
  constexpr std::size_t most_joined_knees = 6;
  const bool simple = std::all_of(points.begin(), points.end(),
                                  [&](const ExchangePoint& point) { return point.count == points.front().count; }) &&
                      std::all_of(ranges.begin(), ranges.end(), [&](const SizeRange& range) {
                        return range.algorithm == ranges.front().algorithm && term_count(range.algorithm) == 2;
                      });
  if (!simple || knees == 0 || knees > most_joined_knees) return best;
  const Eigen::VectorXd times = times_of(points);
  double lowest = std::numeric_limits<double>::infinity();
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < knees; ++i) combinations *= 3;
  for (std::size_t code = 0; code < combinations; ++code) {
    std::vector<Joint> joints;
    for (std::size_t i = 0, rest = code; i < knees; ++i, rest /= 3) joints.push_back(static_cast<Joint>(rest % 3));
    const Design design = design_of(points, operation, ranges, joints);
    const AbsoluteFit fit = absolute_fit(design.terms, times);
    if (!fit.determined || !bends_where_cut(points, design, fit.coefficients, ranges, joints, operation)) continue;
    const double criterion = information_criterion(fit.residuals, design.parameters);
    if (criterion < lowest) {
      lowest = criterion;
      best = joints;
    }
  }
  return best;
}

template <typename Unit>
std::optional<Estimated<Unit>> estimated(double value, double variance, double reach) {
  const double half = reach * std::sqrt(std::max(variance, 0.0));
  if (!(value > 0) || !std::isfinite(half) || value - half <= 0) return std::nullopt;
  return Estimated<Unit>{Unit(value), Unit(value - half), Unit(value + half)};
}

/// Describes the residuals of each range: the noise and its degrees of freedom, and the statistics in reports.
void describe_residuals(FitRange& range, std::span<const ExchangePoint> points, const Eigen::VectorXd& residuals,
                        const Eigen::VectorXd& weights) {
  std::vector<double> absolute;
  double mean_time = 0;
  for (const ExchangePoint& point : points) mean_time += point.seconds / static_cast<double>(points.size());
  double unexplained = 0;
  double total = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double residual = residuals[static_cast<Eigen::Index>(i)];
    absolute.push_back(std::abs(residual));
    const double difference = points[i].seconds * residual / (1 + residual);
    unexplained += difference * difference;
    total += (points[i].seconds - mean_time) * (points[i].seconds - mean_time);
    if (weights[static_cast<Eigen::Index>(i)] < outlier_weight) ++range.outliers;
  }
  range.points = points.size();
  range.median_residual = median(absolute);
  range.worst_residual = *std::max_element(absolute.begin(), absolute.end());
  range.r2 = total > 0 ? std::max(0.0, 1 - unexplained / total) : 1;
}

/// The variance of rows `begin` to `end`, estimated from the influence of their residuals (Street, Carroll & Ruppert, "A
/// note on computing robust regression estimates via iteratively reweighted least squares", 1988), and its degrees of
/// freedom.
struct Variance {
  double value = 0;
  double freedom = 0;
};
Variance variance_of(const WeightedFit& fit, std::size_t begin, std::size_t end) {
  double squares = 0;
  double steepness = 0;
  double free = 0;
  const auto count = static_cast<double>(end - begin);
  for (auto i = static_cast<Eigen::Index>(begin); i < static_cast<Eigen::Index>(end); ++i) {
    const double influence = fit.weights[i] * fit.residuals[i];
    squares += influence * influence;
    const double root = std::sqrt(fit.weights[i]);  // 1 − u² of the bisquare
    steepness += root * (5 * root - 4);             // derivative ψ' of the bisquare: (1 − u²)(1 − 5u²)
    free += fit.leverages[i];
  }
  Variance variance;
  variance.freedom = std::max(count - free, 0.0);
  const double mean_steepness = std::max(steepness / count, 0.2);
  variance.value = variance.freedom > 0.5 ? squares / variance.freedom / (mean_steepness * mean_steepness) : 0;
  return variance;
}

void fit_ranges(ExchangeFit& result, std::span<const ExchangePoint> points, const std::vector<SizeRange>& ranges) {
  const std::vector<Joint> joints = joints_of(points, result.operation, ranges);
  const Design design = design_of(points, result.operation, ranges, joints);
  const Eigen::VectorXd times = times_of(points);
  Eigen::VectorXi groups(static_cast<Eigen::Index>(points.size()));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::size_t k = ranges[i].begin; k < ranges[i].end; ++k) groups[static_cast<Eigen::Index>(k)] = static_cast<int>(i);
  }
  const WeightedFit fit = weighted_fit(design.terms, times, groups, absolute_fit(design.terms, times));

  const Variance common = variance_of(fit, 0, points.size());
  std::vector<Variance> variances;
  Eigen::VectorXd by_row(static_cast<Eigen::Index>(points.size()));
  for (const SizeRange& range : ranges) {
    const Variance own = variance_of(fit, range.begin, range.end);
    Variance shrunk;
    shrunk.freedom = own.freedom + std::min(shared_rows, std::max(common.freedom - own.freedom, 0.0));
    const double weight = shrunk.freedom - own.freedom;
    shrunk.value = shrunk.freedom > 0 ? (own.freedom * own.value + weight * common.value) / shrunk.freedom : 0;
    for (std::size_t k = range.begin; k < range.end; ++k) by_row[static_cast<Eigen::Index>(k)] = shrunk.value;
    variances.push_back(shrunk);
  }
  // Each row has the variance of its range: C (Σ w² v xxᵀ) C.
  const Eigen::VectorXd fitted = times.cwiseQuotient((fit.residuals.array() + 1).matrix());
  const Eigen::MatrixXd rows = fitted.cwiseInverse().asDiagonal() * design.terms;
  const Eigen::MatrixXd influence = rows.transpose() * fit.weights.cwiseProduct(by_row).asDiagonal() * rows;
  const Eigen::MatrixXd covariance = fit.unscaled_covariance * influence * fit.unscaled_covariance;

  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto own = points.subspan(ranges[i].begin, ranges[i].end - ranges[i].begin);
    const auto begin = static_cast<Eigen::Index>(ranges[i].begin);
    const auto count = static_cast<Eigen::Index>(own.size());
    FitRange range;
    range.min_message = Bytes(own.front().bytes);
    range.max_message = Bytes(own.back().bytes);
    range.knee = Bytes(std::numeric_limits<double>::infinity());
    if (i < joints.size()) {
      const ExchangePoint& next = points[ranges[i].end];
      range.continuous = joints[i] == Joint::bend;
      const double knee = range.continuous ? crossing(design, fit.coefficients, ranges, i + 1, result.operation, next.count)
                                           : knee_between(own.back(), next);
      range.knee = Bytes(std::clamp(knee, own.back().bytes, next.bytes));
    }
    range.algorithm = ranges[i].algorithm;
    describe_residuals(range, own, fit.residuals.segment(begin, count), fit.weights.segment(begin, count));
    const Eigen::VectorXd coefficients = design.shares[i] * fit.coefficients;
    const Eigen::MatrixXd own_covariance = design.shares[i] * covariance * design.shares[i].transpose();
    range.coefficients.assign(coefficients.begin(), coefficients.end());
    range.covariance.assign(own_covariance.reshaped().begin(), own_covariance.reshaped().end());
    range.freedom = std::max(variances[i].freedom, 1.0);
    double deviation = 0;
    for (Eigen::Index k = begin; k < begin + count; ++k)
      deviation += std::abs(fit.residuals[k]) / static_cast<double>(count);
    // Outliers are part of the measurement noise, too. For a normal distribution, the standard deviation is 1.2533 times the
    // mean deviation.
    range.noise = std::max(std::sqrt(variances[i].value), 1.2533 * deviation);
    const double reach = student_t_95(range.freedom);
    const Eigen::Index last = coefficients.size() - 1;
    if (result.window <= 1) {
      range.alpha = estimated<Seconds>(coefficients[last - 1], own_covariance(last - 1, last - 1), reach);
    }
    range.beta = estimated<SecondsPerByte>(coefficients[last], own_covariance(last, last), reach);
    result.ranges.push_back(std::move(range));
  }
}

/// Whether the library reports a ring for every row, and the fit has chosen a ring as well.
bool is_known_ring(const ExchangeFit& fit, std::span<const ExchangeSeries> series) {
  return fit.ranges.back().algorithm == ExchangeAlgorithm::ring &&
         std::all_of(fit.series.begin(), fit.series.end(), [&](std::size_t i) {
           return std::all_of(series[i].rows.begin(), series[i].rows.end(),
                              [](const MeasuredExchange& row) { return row.algorithm.starts_with("Ring"); });
         });
}

void add_notes(ExchangeFit& fit, std::span<const ExchangeSeries> series) {
  const bool collective = fit.pattern == ExchangePattern::collective && fit.operation != Collective::point_to_point;
  if (fit.window > 1) {
    fit.notes.push_back(fmt::format("with {} messages in flight, α cannot be determined; run a latency test", fit.window));
  }
  const bool by_rules = fit.ranges.back().algorithm == ExchangeAlgorithm::open_mpi_41;
  if (collective && fit.rank_counts == 1 && !by_rules && !is_known_ring(fit, series)) {
    fit.notes.push_back(
        fmt::format("measured with {} ranks only, which does not distinguish algorithms: interpreted as {}; measure other "
                    "rank counts, too",
                    *fit.min_ranks, to_string(fit.ranges.back().algorithm)));
  }
  if (collective) fit.notes.emplace_back("α includes CPU time per step, in addition to the network");
  if (!fit.level) fit.notes.emplace_back("level unknown: the file does not show whether the ranks span nodes");
  if (fit.series.size() > 1 && fit.rank_counts < fit.series.size()) {
    std::string files;
    for (const std::size_t i : fit.series) files += (files.empty() ? "" : ", ") + series[i].file;
    fit.notes.push_back(fmt::format("repetitions within {:.0f} % are merged: {}", 100 * repeat_difference, files));
  }
  if (std::none_of(fit.ranges.begin(), fit.ranges.end(), [](const FitRange& range) { return range.beta.has_value(); })) {
    fit.notes.push_back(
        fmt::format("β cannot be determined up to {}: measure larger messages", humanize(fit.ranges.back().max_message)));
  }
}

std::string refusal_of(const ExchangeFit& fit, std::span<const ExchangePoint> points, std::string& hint) {
  std::set<double> sizes;
  for (const ExchangePoint& point : points) sizes.insert(point.bytes);
  hint = "measure at least 6 sizes from 8 B to 64 MiB, each at least twice the previous one";
  if (points.empty()) return "no row with a size and a time";
  if (points.front().count.ranks < 1) {
    hint = "add the number of ranks after the file name: FILE,ranks=16,nodes=2";
    return "the number of ranks is unknown, but is needed to fit the link to a collective's time";
  }
  if (points.front().count.ranks < 2) {
    hint = "measure 2 ranks or more";
    return "a single rank does not communicate";
  }
  if (sizes.size() < 3) {
    return fmt::format("{} {} of message: α and β need at least 3", sizes.size(), sizes.size() == 1 ? "size" : "sizes");
  }
  if (*sizes.rbegin() < 2 * *sizes.begin()) {
    return fmt::format("sizes from {} to {} are too similar to separate α from β", humanize(Bytes(*sizes.begin())),
                       humanize(Bytes(*sizes.rbegin())));
  }
  (void)fit;
  return {};
}

/// Whether all rows are messages of one large size, of which many were in flight. Their time per byte is β.
bool is_one_bandwidth(const ExchangeFit& fit, std::span<const ExchangePoint> points) {
  constexpr double least = 1 << 20;
  return fit.operation == Collective::point_to_point && fit.window > 1 && !points.empty() &&
         points.front().bytes == points.back().bytes && points.front().bytes >= least;
}

/// Sets β to the median time per byte. Its interval covers all rows.
void fit_one_bandwidth(ExchangeFit& fit, std::span<const ExchangePoint> points) {
  const double bytes = points.front().bytes;
  std::vector<double> seconds, misses;
  for (const ExchangePoint& point : points) seconds.push_back(point.seconds);
  const double middle = median(seconds);
  for (const double each : seconds) misses.push_back(std::abs(each / middle - 1));
  FitRange range;
  range.min_message = range.max_message = Bytes(bytes);
  range.knee = Bytes(std::numeric_limits<double>::infinity());
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  range.beta = Estimated<SecondsPerByte>{SecondsPerByte(middle / bytes), SecondsPerByte(*least / bytes),
                                         SecondsPerByte(*most / bytes)};
  range.points = points.size();
  range.median_residual = median(misses);
  range.worst_residual = *std::max_element(misses.begin(), misses.end());
  range.noise = std::max(range.worst_residual, 0.01);
  range.r2 = 1;
  const auto terms = static_cast<std::size_t>(terms_of(range.algorithm, fit.operation, points.front().count, bytes).size());
  range.coefficients.assign(terms, 0);
  range.coefficients.back() = middle / bytes;
  range.covariance.assign(terms * terms, 0);
  fit.ranges.push_back(std::move(range));
  fit.notes.push_back(fmt::format("all messages have {}: 1/β is their bandwidth, and α is unknown", humanize(Bytes(bytes))));
}

ExchangeFit fit_group(std::span<const ExchangeSeries> series, const std::vector<std::size_t>& group) {
  const ExchangeSeries& first = series[group.front()];
  ExchangeFit fit;
  fit.operation = first.operation;
  fit.pattern = first.pattern;
  fit.window = first.window;
  fit.level = first.level;
  fit.series = group;
  std::vector<ExchangePoint> points;
  std::set<std::pair<double, double>> counts;
  bool nodes_known = true;
  bool several_levels = false;
  std::set<double> shapes;  // ranks per node
  for (const std::size_t i : group) {
    const std::vector<ExchangePoint> own = points_of(series[i]);
    points.insert(points.end(), own.begin(), own.end());
    const RankCount count = count_of(series[i]);
    counts.insert({count.ranks, count.nodes});
    if (count.ranks > 0) {
      const auto ranks = static_cast<int>(count.ranks);
      fit.min_ranks = std::min(fit.min_ranks.value_or(ranks), ranks);
      fit.max_ranks = std::max(fit.max_ranks.value_or(ranks), ranks);
    }
    nodes_known = nodes_known && count.nodes > 0;
    if (count.nodes > 0) shapes.insert(count.ranks / count.nodes);
    several_levels = several_levels || (count.nodes > 1 && count.nodes < count.ranks);
    if (const std::optional<int> nodes = series[i].nodes) {
      fit.min_nodes = std::min(fit.min_nodes.value_or(*nodes), *nodes);
      fit.max_nodes = std::max(fit.max_nodes.value_or(*nodes), *nodes);
    }
  }
  fit.rank_counts = counts.size();
  std::sort(points.begin(), points.end(), by_size);
  if (is_one_bandwidth(fit, points)) {
    fit_one_bandwidth(fit, points);
    return fit;
  }
  fit.refusal = refusal_of(fit, points, fit.what_to_measure);
  if (!fit.refusal.empty()) return fit;
  fit.what_to_measure.clear();

  const bool by_rules = !first.library.empty() && std::all_of(counts.begin(), counts.end(), [&](const auto& count) {
    return open_mpi_messages(fit.operation, count.first, 1).has_value();
  });
  const std::vector<ExchangeAlgorithm> candidates =
      by_rules            ? std::vector<ExchangeAlgorithm>{ExchangeAlgorithm::open_mpi_41}
      : counts.size() > 1 ? algorithms_of(fit.operation, nodes_known && several_levels, nodes_known && shapes.size() > 1)
                          : std::vector<ExchangeAlgorithm>{usual_algorithm(fit.operation)};
  const std::vector<SizeRange> ranges = size_ranges(points, fit.operation, candidates);
  if (ranges.empty()) {
    fit.refusal = "the measured sizes do not separate α from β";
    fit.what_to_measure = "measure at least 6 sizes from 8 B to 64 MiB, each at least twice the previous one";
    return fit;
  }
  fit_ranges(fit, points, ranges);
  add_notes(fit, series);
  return fit;
}

}  // namespace

std::vector<ExchangeFit> fit_exchanges(std::span<const ExchangeSeries> series) {
  std::vector<ExchangeFit> fits;
  for (const std::vector<std::size_t>& group : fit_groups(series)) fits.push_back(fit_group(series, group));
  return fits;
}

}  // namespace ddl
