#include "core/bundled_yaml.hpp"

#include <map>
#include <mutex>
#include <string>

namespace ddl {

YamlNode bundled_yaml(const EmbeddedFile& file) {
  static std::mutex mutex;
  static std::map<const char*, YamlNode> parsed;  // keyed by the address of the content
  const std::lock_guard lock(mutex);
  const char* const place = file.content.data();
  const auto known = parsed.find(place);
  if (known != parsed.end()) return known->second;
  return parsed.emplace(place, YamlNode::parse(std::string(file.content), std::string(file.path))).first->second;
}

}  // namespace ddl
