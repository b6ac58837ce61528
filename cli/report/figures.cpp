#include "cli/report/figures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "estimator/inputs/machine.hpp"

namespace ddl {

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string_view device_noun(const Device& device) {
  if (!device.noun.empty()) return device.noun;
  return device.is_processor ? "processor" : device.is_tpu ? "TPU" : device.is_accelerator ? "accelerator" : "GPU";
}

std::string count_text(std::int64_t count, std::string_view thing) {
  return with_thousands(count).append(" ").append(thing).append(count == 1 ? "" : "s");
}

std::string whole_text(double count) {
  return count < 0x1p63 ? with_thousands(static_cast<std::int64_t>(count)) : fmt::format("{:.4g}", count);
}

std::string share_text(double share) {
  const std::string text = fmt::format("{:.0f} %", share * 100);
  return text == "-0 %" ? "0 %" : text;  // a negative share that rounds to zero has no sign
}

std::string amount(double value) {
  if (value > 0 && value < 0.01) return fmt::format("{:.1g}", value);
  return value < 99.995 ? fmt::format("{:.2f}", value) : whole_text(std::round(value));
}

TimeUnit time_unit(Seconds longest) {
  if (longest.value() < 10e-3) return {"us", 1e6};
  if (longest.value() < 10) return {"ms", 1e3};
  return {"s", 1.0};
}

std::string figure(double value) {
  if (value == 0) return "-";
  if (value < 0.05) return "0.0";
  return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::string fine_figure(double value) {
  if (value == 0) return "-";
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : (size >= 9.995 ? 1 : (size >= 0.9995 ? 2 : 3));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  return text == "-0.000" ? "0.000" : text;  // a negative time that rounds to zero has no sign
}

}  // namespace ddl
