#include "cli/documents/known_prices.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

/// Returns the text of a top-level key of a machine file, up to the next key; empty if the file has no such key.
std::string_view section_of(std::string_view content, std::string_view key) {
  const std::size_t start = content.find(fmt::format("\n{}:", key));
  if (start == std::string_view::npos) return {};
  content.remove_prefix(start + key.size() + 2);
  const auto goes_on = [&](std::size_t end) { return end + 1 < content.size() && content[end + 1] == ' '; };
  std::size_t end = content.find('\n');
  while (end != std::string_view::npos && goes_on(end)) end = content.find('\n', end + 1);
  return content.substr(0, end);
}

std::string_view first_line(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, std::min(text.find('\n'), text.find(" #")));
}

/// Whether a bundled machine may have this device. To parse all files would take longer than most answers.
bool may_have(const EmbeddedFile& file, std::string_view device) {
  constexpr std::string_view key = "\n  name:";
  constexpr int most_files = 16;  // maximum number of files of a chain in which each file extends the next
  const EmbeddedFile* each = &file;
  for (int i = 0; i < most_files; ++i) {
    const std::string_view own = section_of(each->content, "device");
    if (const std::size_t at = own.find(key); at != std::string_view::npos)
      return first_line(own.substr(at + key.size())) == device;
    const std::string_view extended = first_line(section_of(each->content, "extends"));
    const auto& names = all_machine_names();
    const auto found = std::ranges::find(names, extended, &MachineName::name);
    if (found == names.end()) return true;
    each = found->file;
  }
  return true;
}

/// Returns the lowest list price of a device, if there is one.
std::optional<KnownPrice> lowest_price(const std::string& device) {
  std::optional<KnownPrice> lowest;
  for (const MachineName& name : all_machine_names()) {
    if (name.is_alias || first_line(section_of(name.file->content, "price")).find('{') == std::string_view::npos) continue;
    if (!may_have(*name.file, device)) continue;
    const Machine machine = load_machine_sheet(name.name, KernelTables::left_out).machine;
    if (machine.device.name != device || !machine.price_per_gpu_hour) continue;
    KnownPrice price{name.name, machine.currency, *machine.price_per_gpu_hour};
    // Prices in different currencies cannot be compared.
    if (!lowest || (lowest->currency == price.currency && price.per_gpu_hour < lowest->per_gpu_hour))
      lowest = std::move(price);
  }
  return lowest;
}

}  // namespace

std::string missing_price_text(const Machine& machine) {
  const std::optional<KnownPrice> price = lowest_price(machine.device.name);
  if (!price) return fmt::format("{} has no price: add --price 2.5USD/h", machine.name);
  return fmt::format("{} has no price: add --price {}{}/h, as {}", machine.name, amount(price->per_gpu_hour),
                     price->currency, price->machine);
}

}  // namespace ddl
