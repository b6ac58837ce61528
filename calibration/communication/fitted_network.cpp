#include "calibration/communication/fitted_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddl {
namespace {

/// Algorithms by which every rank of a node sends to another node at once.
bool shares_node(ExchangeAlgorithm algorithm) {
  switch (algorithm) {
    case ExchangeAlgorithm::hierarchical_ring:
    case ExchangeAlgorithm::hierarchical_tree:
    case ExchangeAlgorithm::hierarchical_pipelined_tree:
    case ExchangeAlgorithm::hierarchical_rabenseifner:
    case ExchangeAlgorithm::hierarchical_pairwise:
    case ExchangeAlgorithm::pairwise:
    case ExchangeAlgorithm::bruck:
    case ExchangeAlgorithm::rabenseifner:
    case ExchangeAlgorithm::butterfly:
      return true;
    case ExchangeAlgorithm::direct:
    case ExchangeAlgorithm::linear:
    case ExchangeAlgorithm::tree:
    case ExchangeAlgorithm::pipelined_tree:
    case ExchangeAlgorithm::ring:
    case ExchangeAlgorithm::chain:
    case ExchangeAlgorithm::scatter_allgather:
    case ExchangeAlgorithm::in_switch:
      return false;
  }
  return false;
}

/// To five digits: more were never measured, and the file is to be read by people.
double rounded(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double unit = std::pow(10.0, 4 - std::floor(std::log10(std::abs(value))));
  const double digits = std::round(value * unit) / unit;
  return std::isfinite(digits) ? digits : value;
}

/// Above zero and finite, or nothing.
template <class Unit>
std::optional<Unit> finite(Unit value) {
  return std::isfinite(value.value()) && value > Unit{} ? std::optional(Unit(rounded(value.value()))) : std::nullopt;
}

std::optional<MeasuredValue<Seconds>> latency_of(const FitRange& range) {
  if (!range.alpha) return std::nullopt;
  const std::optional<Seconds> value = finite(range.alpha->value);
  if (!value) return std::nullopt;
  return MeasuredValue<Seconds>{*value, finite(range.alpha->low), finite(range.alpha->high)};
}

std::optional<MeasuredValue<Bandwidth>> bandwidth_of(const FitRange& range) {
  if (!range.beta || !finite(range.beta->value)) return std::nullopt;
  const auto inverse = [](SecondsPerByte beta) { return finite(Bandwidth(1 / beta.value())); };
  const std::optional<Bandwidth> value = inverse(range.beta->value);
  if (!value) return std::nullopt;  // 1 over the least of numbers is none
  // The least time a byte may take is the greatest bandwidth.
  return MeasuredValue<Bandwidth>{*value, inverse(range.beta->high), inverse(range.beta->low)};
}

std::string source_of(const ExchangeFit& fit, std::span<const ExchangeSeries> series) {
  constexpr std::size_t longest = 400;
  std::set<std::string> tools;
  std::string files;
  for (const std::size_t index : fit.series) {
    tools.insert(series[index].tool);
    if (files.size() > longest) continue;
    files += fmt::format("{}{}", files.empty() ? "" : ", ", series[index].file);
  }
  if (files.size() > longest) files = files.substr(0, longest) + " and more";
  return fmt::format("{}, by {}", files, fmt::join(tools, ", "));
}

}  // namespace

std::vector<MeasuredNetwork> fitted_network(std::span<const ExchangeFit> fits, std::span<const ExchangeSeries> series,
                                            std::vector<std::string>& warnings) {
  std::vector<MeasuredNetwork> network;
  for (const ExchangeFit& fit : fits) {
    if (!fit.refusal.empty()) continue;
    const auto leave_out = [&](std::string_view what) {
      warnings.push_back(fmt::format("{} of {}: not written, since nothing says {}", to_string(fit.operation),
                                     source_of(fit, series), what));
    };
    if (!fit.level) {
      leave_out("on which level it ran; give nodes= or level=");
      continue;
    }
    if (!fit.min_ranks || !fit.max_ranks) {
      leave_out("how many ranks took part; give ranks=");
      continue;
    }
    for (const FitRange& range : fit.ranges) {
      MeasuredNetwork entry{.operation = fit.operation,
                            .level = *fit.level,
                            .algorithm = std::string(to_string(range.algorithm)),
                            .shared = *fit.level == NetworkLevel::between_nodes && shares_node(range.algorithm),
                            .min_ranks = *fit.min_ranks,
                            .max_ranks = *fit.max_ranks,
                            .min_message = max(range.min_message, Bytes(1)),
                            .max_message = max(range.max_message, Bytes(1)),
                            .alpha = latency_of(range),
                            .bandwidth = bandwidth_of(range),
                            .r2 = rounded(range.r2),
                            .median_residual = rounded(range.median_residual),
                            .worst_residual = rounded(range.worst_residual),
                            .points = static_cast<int>(std::min<std::size_t>(range.points, std::numeric_limits<int>::max())),
                            .source = source_of(fit, series)};
      // Inside a node there is one; between nodes, where only the level is known, two or more.
      const int least = *fit.level == NetworkLevel::node ? 1 : 2;
      entry.min_nodes = fit.min_nodes.value_or(least);
      entry.max_nodes = fit.max_nodes.value_or(least);
      if (!fit.max_nodes) entry.shared = false;
      if (entry.alpha || entry.bandwidth) network.push_back(std::move(entry));
    }
  }
  return network;
}

}  // namespace ddl
