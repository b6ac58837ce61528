#include "profiler/backends/simulated/device_text.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/figure_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 6> keys{"peak", "bandwidth", "latency", "noise", "seed", "fresh_memory"};

}  // namespace

SimulatedDevice parse_simulated_device(const std::string& text, const std::string& origin) {
  const FigureText read(text, origin, "a simulated device", keys, "peak=10 TFLOP/s bandwidth=500 GB/s");
  SimulatedDevice device;
  for (const FigureText::Figure& figure : read.figures()) {
    if (figure.key == "peak") device.peak = read.quantity(figure, FlopRate(1));
    if (figure.key == "bandwidth") device.bandwidth = read.quantity(figure, Bandwidth(1));
    if (figure.key == "latency") device.latency = read.quantity(figure, Seconds(0));
    if (figure.key == "noise") device.noise = read.number(figure, 1.0, "a spread between 0 and 1: 0.01 is 1 %");
    if (figure.key == "fresh_memory") device.fresh_memory = read.quantity(figure, Bandwidth(1));
    if (figure.key == "seed") {
      device.seed = read.whole(figure, UINT64_MAX, "a whole number of at least 0 that fits 64 bits");
    }
  }
  return device;
}

}  // namespace ddl
