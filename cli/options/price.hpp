#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_line.hpp"
#include "core/units.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// The price of a device for an hour, as the user gave it.
struct DevicePrice {
  std::string device;  ///< a word of the name of a device or a machine: `h100`; empty: every device
  double per_hour = 0;
  std::string currency{};  ///< an ISO 4217 code; empty: the currency of the machine's price, else USD
  bool of_nodes = false;   ///< whether the price is a part of the price of a node, which is rented as a whole
};

/// Parses `2.5USD/h`, `2.5`, `$2.50/h`, or prices of several devices: `h100=2.5,b200=4EUR/h`. Returns empty and sets
/// `problem` for any other text, and for prices that are not from 1e-6 to 1e6.
[[nodiscard]] std::optional<std::vector<DevicePrice>> parse_prices(std::string_view text, UnitProblem& problem);

void add_price_option(const Command& command, std::vector<DevicePrice>& prices);

/// Returns the price that applies to the machine: the price of its device, else the price of every device; null if none.
[[nodiscard]] const DevicePrice* price_for(std::span<const DevicePrice> prices, const Machine& machine);
/// Replaces the machine's price by the price that applies to it, if any.
void apply_price(std::span<const DevicePrice> prices, Machine& machine);
/// Throws Error if a price names a device that none of the machines has.
void refuse_unused_prices(std::span<const DevicePrice> prices, std::span<const Machine> machines);

}  // namespace ddl
