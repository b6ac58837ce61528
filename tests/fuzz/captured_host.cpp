// Fuzzes saved outputs of the tools that describe a host. Counts are above zero, and rates are finite.

#include "calibration/inputs/captured_host.hpp"

#include <cmath>

#include "tests/fuzz/fuzzer.hpp"

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
  return 0;
}
