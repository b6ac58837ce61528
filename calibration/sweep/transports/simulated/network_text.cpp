#include "calibration/sweep/transports/simulated/network_text.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/figure_text.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 11> keys{
    "ranks",     "nodes", "latency_inside",    "latency",         "bandwidth_inside",
    "bandwidth", "rails", "exchange_slowdown", "kernel_slowdown", "noise",
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

/// So far from anything that exists that times and bandwidths stay numbers that can be printed.
constexpr Seconds slowest_latency(1e6);
constexpr Bandwidth fastest_link(1e18);

template <class Q>
Q quantity(const FigureText& read, const FigureText::Figure& figure, Q least, Q most) {
  const Q found = read.quantity(figure, least);
  if (found > most) {
    throw read.error(figure.value_offset, fmt::format("{} of {} is too much", figure.key, quote(figure.value)),
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
    if (figure.key == "noise") network.noise = read.number(figure, 1.0, "a spread between 0 and 1: 0.01 is 1 %");
    if (figure.key == "seed") {
      network.seed = read.whole(figure, UINT64_MAX, "a whole number of at least 0 that fits 64 bits");
    }
  }
  if (network.ranks % network.nodes != 0) {
    throw read.error(0, fmt::format("{} ranks are not as many on each of {} nodes", network.ranks, network.nodes),
                     "ranks are a multiple of nodes");
  }
  return network;
}

}  // namespace ddl
