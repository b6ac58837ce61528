#include "calibration/network/benchmarks/repetitions.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "core/statistics.hpp"

namespace ddl {
namespace {

/// The number of neighboring sizes that are compared together. If sizes double, five sizes span a
/// factor of 16. A different protocol or link affects at least this many sizes.
constexpr std::size_t neighbours = 5;

/// The index of the `i`-th kept time, among `count` sorted times.
std::size_t kept(std::size_t i, std::size_t count) { return (2 * i + 1) * count / (2 * most_repetitions); }

/// Logarithms of the times, for each size, separately for in-place and out-of-place.
std::map<std::pair<double, bool>, std::vector<double>> logarithms_of(const ExchangeSeries& series) {
  std::map<std::pair<double, bool>, std::vector<double>> found;
  for (const MeasuredExchange& row : series.rows) {
    const double bytes = row.message.value(), seconds = row.time.value();
    if (std::isfinite(bytes) && bytes > 0 && std::isfinite(seconds) && seconds > 0) {
      found[{bytes, row.in_place}].push_back(std::log(seconds));
    }
  }
  return found;
}

}  // namespace

std::vector<double> few_repetitions(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  if (times.size() <= most_repetitions) return times;
  std::vector<double> few;
  few.reserve(most_repetitions);
  for (std::size_t i = 0; i < most_repetitions; ++i) few.push_back(times[kept(i, times.size())]);
  return few;
}

void keep_few_repetitions(ExchangeSeries& series) {
  std::map<std::pair<double, bool>, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < series.rows.size(); ++i) {
    by_size[{series.rows[i].message.value(), series.rows[i].in_place}].push_back(i);
  }
  std::vector<char> stays(series.rows.size(), 1);
  for (auto& [size, rows] : by_size) {
    if (rows.size() <= most_repetitions) continue;
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return series.rows[a].time < series.rows[b].time; });
    for (const std::size_t row : rows) stays[row] = 0;
    for (std::size_t i = 0; i < most_repetitions; ++i) stays[rows[kept(i, rows.size())]] = 1;
  }
  std::vector<MeasuredExchange> few;
  for (std::size_t i = 0; i < stays.size(); ++i) {
    if (stays[i] != 0) few.push_back(std::move(series.rows[i]));
  }
  series.rows = std::move(few);
}

std::optional<double> difference(const ExchangeSeries& a, const ExchangeSeries& b) {
  const auto others = logarithms_of(b);
  std::vector<double> differences;  // for each size
  for (const auto& [size, own] : logarithms_of(a)) {
    const auto same = others.find(size);
    if (same != others.end()) differences.push_back(std::abs(median(own) - median(same->second)));
  }
  if (differences.empty()) return std::nullopt;
  const std::size_t width = std::min(neighbours, differences.size());
  double most = 0;
  for (std::size_t i = 0; i + width <= differences.size(); ++i) {
    const std::span<const double> window(differences.data() + i, width);
    most = std::max(most, median(std::vector<double>(window.begin(), window.end())));
  }
  return std::exp(most);
}

}  // namespace ddl
