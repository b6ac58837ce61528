#include <map>
#include <string>

#include "calibration/files/bundled_files.hpp"
#include "calibration/inputs/host_tools/tools.hpp"
#include "core/lower_case.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

std::string_view device_of_pci_number(std::string_view number) {
  static constexpr std::string_view file_name = "pci-numbers", prefix = "0x";
  static const std::map<std::string, std::string, std::less<>> names = [] {
    std::map<std::string, std::string, std::less<>> read;
    for (const EmbeddedFile& file : device_files()) {
      if (file.name != file_name) continue;
      const YamlNode root = YamlNode::parse(std::string(file.content), std::string(file.path));
      root.only_keys({"format", "source", "devices"});
      for (const YamlNode& device : root.at("devices").items()) {
        device.only_keys({"number", "name"});
        read[device.at("number").text()] = device.at("name").name();
      }
    }
    return read;
  }();
  if (!lower_case(number).starts_with(prefix)) return {};
  const auto found = names.find(lower_case(number));
  return found == names.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace ddl
