#include <array>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/host_tools/host_outputs.hpp"
#include "calibration/inputs/tool_text.hpp"
#include "core/lower_case.hpp"

namespace ddl {
namespace {

/// The active ports that one tool lists. If an adapter appears again, the list of another host begins, and the list is over.
struct PortList {
  std::string_view tool, head;            ///< `head`: the start of the first line of an adapter
  std::set<std::string_view> adapters{};  ///< first lines of the listed adapters
  bool is_over = false;
  std::vector<PortRate> ports{};
};

}  // namespace

/// The ports of the first tool that lists some, because several tools list the same ports.
std::optional<DetectedPorts> ports_in(const ToolLines& lines) {
  std::array<PortList, 3> lists{PortList{"ibstat", "CA '"}, {"ibstatus", "Infiniband device '"}, {"ibv_devinfo", "hca_id:"}};
  PortList* list = nullptr;
  bool is_active = false;
  const auto add = [&](double gigabits, const std::string& text) {
    if (is_active && list != nullptr && !list->is_over) list->ports.push_back({gigabits, text});
    is_active = false;
  };
  double lanes = 0;
  for (const std::string_view line : lines) {
    for (PortList& each : lists) {
      if (!line.starts_with(each.head)) continue;
      list = &each;
      each.is_over = each.is_over || !each.adapters.insert(line).second;
      is_active = false;
      lanes = 0;
    }
    const std::string state = lower_case(std::string(after_key(line, "State")) + std::string(after_key(line, "state")));
    if (!state.empty()) is_active = state.find("active") != std::string::npos && state.find("inactive") == std::string::npos;
    for (const std::string_view key : {"Rate", "rate"}) {
      const std::string_view rate = after_key(line, key);
      if (const auto gigabits = tool_number(rate))
        add(*gigabits, rate.find(' ') == rate.npos ? std::string(rate) + " Gb/s" : std::string(rate));
    }
    if (const auto width = tool_number(after_key(line, "active_width"))) lanes = *width;
    if (const auto speed = tool_number(after_key(line, "active_speed")))
      add(*speed * lanes, fmt::format("{:g} lanes of {:g} Gb/s", lanes, *speed));
  }
  for (const PortList& each : lists) {
    if (auto ports = fastest_port(each.ports, each.tool)) return ports;
  }
  return std::nullopt;
}

}  // namespace ddl
