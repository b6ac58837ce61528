#include "calibration/inputs/machine_software.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_chain.hpp"
#include "calibration/inputs/machine_names.hpp"
#include "calibration/inputs/software_file.hpp"
#include "core/bundled_yaml.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

MachineChain chain_of(const std::string& name_or_path) {
  if (is_path(name_or_path)) return MachineChain(YamlNode::load(name_or_path));
  const EmbeddedFile& file = bundled_machine(name_or_path);
  return MachineChain(bundled_yaml(file), file.name);
}

}  // namespace

std::string machine_software(const std::string& name_or_path) {
  const std::optional<SourcedPart> found = chain_of(name_or_path).find_whole("software");
  if (!found) return {};
  std::string name = found->node.name();
  const std::vector<std::string> known = software_names();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::vector<std::string_view> names(known.begin(), known.end());
    found->node.fail(fmt::format("unknown software {}", quote(name)), suggest(name, names));
  }
  return name;
}

}  // namespace ddl
