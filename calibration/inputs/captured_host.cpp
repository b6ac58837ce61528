#include "calibration/inputs/captured_host.hpp"

#include <string>

#include "calibration/inputs/host_tools/gpu_tools.hpp"
#include "calibration/inputs/host_tools/host_outputs.hpp"
#include "calibration/inputs/tool_text.hpp"

namespace ddl {

std::optional<DetectedNodes> nodes_in_output(std::string_view text, const std::optional<DetectedGpus>& gpus) {
  return slurm_nodes_in(tool_parts(text, '\n'), gpus);
}

HostFacts facts_in_outputs(std::string_view text) {
  const std::string plain = without_escape_codes(text);
  const ToolLines lines = tool_parts(std::string_view(plain), '\n');
  HostFacts facts;
  facts.gpus = gpus_of_saved(lines);
  facts.links = links_in(plain, plain);
  facts.processor = processor_in(lines);
  facts.ports = ports_in(lines);
  facts.nodes = slurm_nodes_in(lines, facts.gpus);
  return facts;
}

}  // namespace ddl
