#include "profiler/backends/simulated/device_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 6> keys{"peak", "bandwidth", "latency", "noise", "seed", "fresh_memory"};
constexpr std::string_view blanks = " \t\r\n";

/// `key=value`, where the value may have blanks in it: `peak=10 TFLOP/s`.
struct Figure {
  std::size_t offset = 0, value_offset = 0;
  std::string_view key, value;
};

std::vector<Figure> figures_of(const SourceText& source) {
  const std::string_view text = source.text();
  std::vector<Figure> figures;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;
       at = text.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) {
      figures.push_back({at, at + equals + 1, word.substr(0, equals), word.substr(equals + 1)});
    } else if (!figures.empty()) {
      Figure& last = figures.back();
      last.value = text.substr(last.value_offset, end - last.value_offset);
    } else {
      throw source.error(at, fmt::format("{} is no figure", quote(word)), "such as: peak=10 TFLOP/s bandwidth=500 GB/s");
    }
    at = end;
  }
  return figures;
}

template <class Q>
Q read_quantity(const SourceText& source, const Figure& figure, Q least) {
  UnitProblem problem;
  const std::optional<Q> quantity = parse_quantity<Q>(figure.value, problem);
  if (!quantity) throw source.error(figure.value_offset, problem.message, problem.hint);
  if (*quantity < least) {
    throw source.error(figure.value_offset, fmt::format("{} of {} is too little", figure.key, quote(figure.value)),
                       fmt::format("at least {}", print_quantity(least)));
  }
  return *quantity;
}

template <class Number>
Number read_number(const SourceText& source, const Figure& figure, Number most, std::string_view range) {
  Number number{};
  const char* const end = figure.value.data() + figure.value.size();
  const auto [stop, problem] = std::from_chars(figure.value.data(), end, number);
  // Written so that what is no number at all fails, too.
  if (problem != std::errc() || stop != end || !(number >= 0 && number <= most)) {
    throw source.error(figure.value_offset, fmt::format("{} is no {}", quote(figure.value), figure.key),
                       fmt::format("{}", range));
  }
  return number;
}

}  // namespace

SimulatedDevice parse_simulated_device(const std::string& text, const std::string& origin) {
  const SourceText source(text, origin);
  const std::vector<Figure> figures = figures_of(source);
  SimulatedDevice device;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& figure = figures[i];
    if (std::find(keys.begin(), keys.end(), figure.key) == keys.end()) {
      throw source.error(figure.offset, fmt::format("a simulated device has no {}", quote(figure.key)),
                         suggest(figure.key, keys));
    }
    const auto same = [&](const Figure& other) { return other.key == figure.key; };
    if (std::find_if(figures.begin(), figures.begin() + static_cast<std::ptrdiff_t>(i), same) !=
        figures.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw source.error(figure.offset, fmt::format("{} is there twice", quote(figure.key)));
    }
    if (figure.key == "peak") device.peak = read_quantity(source, figure, FlopRate(1));
    if (figure.key == "bandwidth") device.bandwidth = read_quantity(source, figure, Bandwidth(1));
    if (figure.key == "latency") device.latency = read_quantity(source, figure, Seconds(0));
    if (figure.key == "noise") device.noise = read_number(source, figure, 1.0, "a spread between 0 and 1: 0.01 is 1 %");
    if (figure.key == "fresh_memory") device.fresh_memory = read_quantity(source, figure, Bandwidth(1));
    if (figure.key == "seed") {
      device.seed = read_number(source, figure, UINT64_MAX, "a whole number of at least 0 that fits 64 bits");
    }
  }
  return device;
}

std::string print_simulated_device(const SimulatedDevice& device) {
  std::string text =
      fmt::format("peak={} bandwidth={} latency={} noise={} seed={}", print_quantity(device.peak),
                  print_quantity(device.bandwidth), print_quantity(device.latency), device.noise, device.seed);
  if (device.fresh_memory) text += fmt::format(" fresh_memory={}", print_quantity(*device.fresh_memory));
  return text;
}

}  // namespace ddl
