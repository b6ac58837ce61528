#include "cli/documents/known_prices.hpp"

#include <map>
#include <string_view>

#include <fmt/format.h>

#include "calibration/inputs/machine_names.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "cli/report/figures.hpp"

namespace ddl {
namespace {

struct KnownPrice {
  std::string machine, currency;
  double per_gpu_hour = 0;
};

/// Returns the lowest list price of each device. The files are read once, when a machine without a price is first asked for.
const std::map<std::string, KnownPrice>& lowest_prices() {
  static const std::map<std::string, KnownPrice> prices = [] {
    std::map<std::string, KnownPrice> found;
    for (const MachineName& name : all_machine_names()) {
      if (name.is_alias || name.file->content.find("\nprice:") == std::string_view::npos) continue;
      const Machine machine = load_machine_sheet(name.name, KernelTables::left_out).machine;
      if (!machine.price_per_gpu_hour) continue;
      KnownPrice price{name.name, machine.currency, *machine.price_per_gpu_hour};
      const auto [entry, is_new] = found.try_emplace(machine.device.name, price);
      // Prices in different currencies cannot be compared.
      if (!is_new && entry->second.currency == price.currency && price.per_gpu_hour < entry->second.per_gpu_hour)
        entry->second = std::move(price);
    }
    return found;
  }();
  return prices;
}

}  // namespace

std::string missing_price_text(const Machine& machine) {
  const auto known = lowest_prices().find(machine.device.name);
  if (known == lowest_prices().end()) return fmt::format("{} has no price: add --price 2.5USD/h", machine.name);
  const KnownPrice& price = known->second;
  return fmt::format("{} has no price: add --price {}{}/h, as {}", machine.name, amount(price.per_gpu_hour), price.currency,
                     price.machine);
}

}  // namespace ddl
