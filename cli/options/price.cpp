#include "cli/options/price.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "calibration/inputs/currency.hpp"
#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr const char* price_hint = "use for example 2.5USD/h, or h100=2.5USD/h,b200=4USD/h";
constexpr double least_price = 1e-6, most_price = 1e6;

struct Currency {
  std::string_view sign, code;
};
constexpr std::array<Currency, 4> currency_signs{{{"$", "USD"}, {"€", "EUR"}, {"£", "GBP"}, {"¥", "JPY"}}};

/// Removes a sign or a code of a currency from the beginning of a text, and returns the code.
std::string take_currency(std::string_view& text) {
  text = trimmed(text);
  for (const Currency& each : currency_signs) {
    if (!text.starts_with(each.sign)) continue;
    text = trimmed(text.substr(each.sign.size()));
    return std::string(each.code);
  }
  const auto is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
  const std::string_view code = text.substr(0, 3);
  if (code.size() < 3 || !std::ranges::all_of(code, is_letter)) return {};
  text = trimmed(text.substr(3));
  return std::string(code);
}

/// Whether the text is empty or an hour: `/h`, `/hour`, `/GPU-h`.
bool is_per_hour(std::string_view text) {
  static constexpr std::array<std::string_view, 6> hours{"", "/h", "/hour", "/gpu-h", "/gpuh", "/gpu-hour"};
  return contains(hours, lower_case(text));
}

/// The words of a name: `h100`, `sxm` of `H100-SXM`.
std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(name)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Whether all words of the price's device are words of the machine's or the device's name.
bool is_price_of(const DevicePrice& price, const Machine& machine) {
  if (lower_case(price.device) == lower_case(machine.name)) return true;
  std::vector<std::string> known = words_of_name(machine.name);
  for (std::string& word : words_of_name(machine.device.name)) known.push_back(std::move(word));
  const std::vector<std::string> asked = words_of_name(price.device);
  return !asked.empty() && std::ranges::all_of(asked, [&](const std::string& word) { return contains(known, word); });
}

}  // namespace

std::optional<std::vector<DevicePrice>> parse_prices(std::string_view text, UnitProblem& problem) {
  const auto refuse = [&](std::string message, const char* hint = price_hint) {
    problem = {std::move(message), hint};
    return std::nullopt;
  };
  std::vector<DevicePrice> prices;
  for (const std::string& part : comma_separated(text)) {
    DevicePrice price;
    std::string_view rest = part;
    if (const std::size_t equals = rest.find('='); equals != std::string_view::npos) {
      price.device = trimmed(rest.substr(0, equals));
      rest.remove_prefix(equals + 1);
      if (price.device.empty()) return refuse(fmt::format("{} names no device", quote(part)));
    }
    price.currency = take_currency(rest);
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), price.per_hour);
    if (error != std::errc{}) return refuse(fmt::format("{} is not a price per GPU and hour", quote(part)));
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    if (std::string code = take_currency(rest); !code.empty()) {
      if (!price.currency.empty()) return refuse(fmt::format("{} has two currencies", quote(part)));
      price.currency = std::move(code);
    }
    if (!price.currency.empty() && !is_currency(price.currency))
      return refuse(fmt::format("{} is not the code of a currency", quote(price.currency)),
                    "use a code of ISO 4217, such as USD, EUR or CNY");
    if (!is_per_hour(trimmed(rest))) return refuse(fmt::format("{} is not a price per GPU and hour", quote(part)));
    // This form of the condition is false for NaN, so NaN is refused.
    const bool within = price.per_hour >= least_price && price.per_hour <= most_price;
    if (!within) return refuse(fmt::format("{} is not from {:g} to {:g} an hour", quote(part), least_price, most_price));
    const auto is_same = [&](const DevicePrice& other) { return lower_case(other.device) == lower_case(price.device); };
    if (std::ranges::any_of(prices, is_same))
      return refuse(fmt::format("{} gives {} twice", quote(text), price.device.empty() ? "the price" : quote(price.device)));
    prices.push_back(std::move(price));
  }
  return prices;
}

void add_price_option(const Command& command, std::vector<DevicePrice>& prices) {
  add_parsed(
      command, "--price", prices, parse_prices, "", "PRICE",
      "price of a GPU for an hour, such as 2.5USD/h, or by device: h100=2.5USD/h,b200=4USD/h; default: the machine's");
}

const DevicePrice* price_for(std::span<const DevicePrice> prices, const Machine& machine) {
  const DevicePrice* found = nullptr;
  for (const DevicePrice& each : prices) {
    if (!each.device.empty() && is_price_of(each, machine)) return &each;
    if (each.device.empty()) found = &each;
  }
  return found;
}

void apply_price(std::span<const DevicePrice> prices, Machine& machine) {
  const DevicePrice* const price = price_for(prices, machine);
  if (price == nullptr) return;
  if (!price->currency.empty()) machine.currency = price->currency;
  machine.price_per_gpu_hour = price->per_hour;
  machine.rents_nodes = price->of_nodes;
}

void refuse_unused_prices(std::span<const DevicePrice> prices, std::span<const Machine> machines) {
  for (const DevicePrice& price : prices) {
    const bool is_used = price.device.empty() ||
                         std::ranges::any_of(machines, [&](const Machine& machine) { return is_price_of(price, machine); });
    if (is_used || machines.empty()) continue;
    throw Error(fmt::format("--price: no requested machine has the device {}", quote(price.device)),
                fmt::format("{} has the device {}", machines.front().name, quote(machines.front().device.name)));
  }
}

}  // namespace ddl
