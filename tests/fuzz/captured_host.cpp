// Fuzzes saved outputs of the tools that describe a host. Counts are above zero, and rates are finite. A machine file that
// is drafted from the outputs can be parsed.

#include "calibration/inputs/captured_host.hpp"

#include <array>
#include <cmath>
#include <optional>

#include "calibration/inputs/machine_draft.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "tests/fuzz/fuzzer.hpp"
#include "tests/fuzz/reports.hpp"

namespace ddl {
namespace {

/// Drafts machines that extend one of several nodes, and one of a single node.
void draft(const HostFacts& facts) {
  static const std::array<SourcedMachine, 2> machines{load_sourced_machine("dgx-a100"),
                                                      load_sourced_machine("dgx-station-a100")};
  for (const SourcedMachine& like : machines) {
    for (const std::optional<int> nodes : {std::optional<int>(), std::optional<int>(3)}) {
      const auto drafted = result_of([&] {
        return draft_machine({.name = "ours", .extends = like.machine.name, .like = like, .nodes = nodes, .host = facts});
      });
      if (drafted) static_cast<void>(parse_sourced_machine(drafted->text, "ours.yaml"));
    }
  }
}

}  // namespace
}  // namespace ddl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::text_of(data, size);
  const auto facts = ddl::result_of([&] { return ddl::facts_in_outputs(text); });
  if (!facts) return 0;
  if (facts->gpus) {
    ddl::require(facts->gpus->count > 0 && !facts->gpus->name.empty(), "GPUs without a number or a name");
    ddl::require(ddl::is_same_gpu(facts->gpus->name, facts->gpus->name), "a GPU that differs from itself");
    ddl::require(facts->gpus->memory_mib.value_or(0) >= 0, "a negative memory");
  }
  if (facts->links) ddl::require(facts->links->links >= 0, "a negative number of links");
  if (facts->links && facts->links->link_gb)
    ddl::require(std::isfinite(*facts->links->link_gb) && *facts->links->link_gb > 0, "a rate that is none");
  if (facts->processor) ddl::require(facts->processor->sockets > 0, "a host without sockets");
  if (facts->ports)
    ddl::require(facts->ports->count > 0 && std::isfinite(facts->ports->gigabits), "ports without a number or a rate");
  if (facts->nodes) ddl::require(facts->nodes->count > 0, "no nodes");
  // Reading a machine takes much longer than reading an output.
  if (ddl::is_reported(text)) ddl::draft(*facts);
  return 0;
}
