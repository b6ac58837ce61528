#include "calibration/inputs/captured_host.hpp"

#include <string>

#include "calibration/inputs/host_tools/gpu_tools.hpp"
#include "calibration/inputs/host_tools/host_outputs.hpp"
#include "calibration/inputs/tool_text.hpp"
#include "core/source_text.hpp"

namespace ddl {

std::optional<DetectedNodes> nodes_in_output(std::string_view text, const std::optional<DetectedGpus>& gpus) {
  return slurm_nodes_in(tool_parts(text, '\n'), gpus);
}

namespace {

/// Replaces each character that a machine file must not contain by a question mark. Names of devices are written there.
std::string with_text_alone(const std::string& text) {
  std::string clean;
  std::string_view rest = text;
  while (const auto bad = find_unprintable(rest)) {
    clean += rest.substr(0, static_cast<std::size_t>(bad->data() - rest.data()));
    clean += *bad == "\r" ? '\r' : '?';
    rest = rest.substr(static_cast<std::size_t>(bad->data() - rest.data()) + bad->size());
  }
  return clean.append(rest);
}

}  // namespace

HostFacts facts_in_outputs(std::string_view text) {
  const std::string plain = with_text_alone(without_escape_codes(text));
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
