#include "calibration/network/sweep/transports/simulated/network_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/figure_text.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 14> keys{"ranks",
                                                "nodes",
                                                "latency_inside",
                                                "latency",
                                                "bandwidth_inside",
                                                "bandwidth",
                                                "rails",
                                                "exchange_slowdown",
                                                "kernel_slowdown",
                                                "protocols",
                                                "protocol_growth",
                                                "rendezvous",
                                                "noise",
                                                "seed"};

int count(const FigureText& read, const FigureText::Figure& figure) {
  const auto range = fmt::format("a whole number from 1 to {}", most_simulated_ranks);
  const auto number = static_cast<int>(read.whole(figure, most_simulated_ranks, range));
  if (number == 0) throw read.error(figure.value_offset, fmt::format("there are no {}", figure.key), range);
  return number;
}

double slowdown(const FigureText& read, const FigureText::Figure& figure) {
  constexpr double most = 1000;
  constexpr std::string_view range = "a factor from 1 to 1000";
  const double number = read.number(figure, most, range);
  if (number < 1) throw read.error(figure.value_offset, fmt::format("{} is below 1", figure.key), std::string(range));
  return number;
}

/// Limits far above all real values, but small enough that times and bandwidths can be printed.
constexpr Seconds slowest_latency(1e6);
constexpr Bandwidth fastest_link(1e18);

template <class Q>
Q quantity(const FigureText& read, const FigureText::Figure& figure, Q least, Q most) {
  const Q found = read.quantity(figure, least);
  if (found > most) {
    throw read.error(figure.value_offset, fmt::format("{} of {} is too large", figure.key, quote(figure.value)),
                     fmt::format("at most {}", print_quantity(most)));
  }
  return found;
}
Seconds latency(const FigureText& read, const FigureText::Figure& figure) {
  return quantity(read, figure, Seconds(0), slowest_latency);
}
Bandwidth bandwidth(const FigureText& read, const FigureText::Figure& figure) {
  return quantity(read, figure, Bandwidth(1), fastest_link);
}

constexpr std::string_view protocol_hint =
    "name, α, share of the bandwidth and, except for the last protocol, largest message: LL:0.3:0.25:64 KiB/Simple:1:1";

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Parses `LL:0.3:0.25:64 KiB/LL128:0.5:0.9:1 MiB/Simple:1:1`.
std::vector<SimulatedProtocol> protocols(const FigureText& read, const FigureText::Figure& figure) {
  std::vector<SimulatedProtocol> found;
  const std::vector<std::string_view> texts = parts_of(figure.value, '/');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto refused = [&](std::string_view message) {
      const auto at = static_cast<std::size_t>(texts[i].data() - figure.value.data());
      return read.error(figure.value_offset + at, fmt::format("{}: {}", quote(texts[i]), message),
                        std::string(protocol_hint));
    };
    const std::vector<std::string_view> parts = parts_of(texts[i], ':');
    const bool is_last = i + 1 == texts.size();
    if (parts.size() != (is_last ? 3 : 4) || parts[0].empty()) throw refused("this is not a protocol");
    const auto factor = [&](std::string_view part, double most) {
      double number = 0;
      const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), number);
      if (problem != std::errc{} || end != part.data() + part.size() || !(number > 0) || number > most) {
        throw refused(fmt::format("{} is not a number above 0 and up to {}", quote(part), most));
      }
      return number;
    };
    constexpr double most_alpha = 1000;
    SimulatedProtocol protocol{
        .name = std::string(parts[0]), .alpha = factor(parts[1], most_alpha), .bandwidth = factor(parts[2], 1)};
    if (!is_last) {
      UnitProblem problem;
      protocol.largest = parse_quantity<Bytes>(parts[3], problem);
      if (!protocol.largest) throw refused(problem.message);
      if (!found.empty() && *protocol.largest <= *found.back().largest) throw refused("sizes must ascend");
    }
    found.push_back(std::move(protocol));
  }
  return found;
}

}  // namespace

SimulatedNetwork parse_simulated_network(const std::string& text, const std::string& origin) {
  const FigureText read(text, origin, "a simulated network", keys, "ranks=8 nodes=2 latency=5 us bandwidth=12.5 GB/s");
  SimulatedNetwork network;
  for (const FigureText::Figure& figure : read.figures()) {
    if (figure.key == "ranks") network.ranks = count(read, figure);
    if (figure.key == "nodes") network.nodes = count(read, figure);
    if (figure.key == "rails") network.rails = count(read, figure);
    if (figure.key == "latency_inside") network.latency_inside = latency(read, figure);
    if (figure.key == "latency") network.latency = latency(read, figure);
    if (figure.key == "bandwidth_inside") network.bandwidth_inside = bandwidth(read, figure);
    if (figure.key == "bandwidth") network.bandwidth = bandwidth(read, figure);
    if (figure.key == "exchange_slowdown") network.exchange_slowdown = slowdown(read, figure);
    if (figure.key == "kernel_slowdown") network.kernel_slowdown = slowdown(read, figure);
    if (figure.key == "protocols") network.protocols = protocols(read, figure);
    if (figure.key == "protocol_growth") network.protocol_growth = read.number(figure, 10, "a power from 0 to 10");
    if (figure.key == "rendezvous") {
      UnitProblem problem;
      network.rendezvous = parse_quantity<Bytes>(figure.value, problem);
      if (!network.rendezvous) throw read.error(figure.value_offset, problem.message, problem.hint);
    }
    if (figure.key == "noise") network.noise = read.number(figure, 1.0, "a spread between 0 and 1: 0.01 is 1 %");
    if (figure.key == "seed") {
      network.seed = read.whole(figure, UINT64_MAX, "a whole number of at least 0 that fits 64 bits");
    }
  }
  if (network.ranks % network.nodes != 0) {
    throw read.error(0, fmt::format("{} ranks are not a multiple of {} nodes", network.ranks, network.nodes),
                     "the number of ranks must be a multiple of the nodes");
  }
  return network;
}

}  // namespace ddl
