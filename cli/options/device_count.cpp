#include "cli/options/device_count.hpp"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

/// Returns the smallest bundled machine with this many of the same devices whose name begins with the same word, such as
/// `lambda-h100` for `lambda-h100-2x`; empty if there is none.
std::string larger_machine(const Machine& machine, std::int64_t gpus) {
  const std::string_view first_word = std::string_view(machine.name).substr(0, machine.name.find('-') + 1);
  std::string larger;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const std::string& name : machine_names()) {
    if (first_word.empty() || !name.starts_with(first_word)) continue;
    const Machine other = load_machine(name);
    if (other.name != name || other.device.name != machine.device.name) continue;
    if (other.devices() < gpus || other.devices() >= fewest) continue;
    fewest = other.devices();
    larger = name;
  }
  return larger;
}

}  // namespace

void refuse_more_than(const Machine& machine, std::int64_t gpus) {
  if (gpus <= machine.devices()) return;
  const bool can_grow = !machine.device.is_processor && contains(machine_names(), machine.name);
  const std::int64_t per_node = machine.devices_per_node(), nodes = (gpus + per_node - 1) / per_node;
  // A machine of one node has no network between nodes, so the command sets one.
  const bool has_network = machine.devices() > per_node;
  const std::string grown =
      has_network ? fmt::format("--like {} --nodes {} --assume-gpus", machine.name, nodes)
                  : fmt::format("--gpu {} --per-node {} --nodes {} --network 100Gb/s", machine.name, per_node, nodes);
  const std::string larger = larger_machine(machine, gpus);
  throw Error(
      fmt::format("--gpus is {}, but {} has {}", gpus, machine.name, count_text(machine.devices(), "device")),
      fmt::format("use at most {}, {}or {}", machine.devices(), larger.empty() ? "" : fmt::format("--machine {}, ", larger),
                  can_grow ? fmt::format("write a file for more nodes: ddl-oracle machines new ours {} -o ours.yaml", grown)
                           : "a larger machine with --machine"));
}

}  // namespace ddl
