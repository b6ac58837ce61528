#include "calibration/learning/learned_file.hpp"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/software_file.hpp"
#include "core/yaml_node.hpp"
#include "core/yaml_section.hpp"

namespace ddl {
namespace {

constexpr const char* source_name = "learned-runs";

/// Returns a line of the coefficients file: `key: {value: ..., source: learned-runs}`.
std::string sourced(const std::string& key, const std::string& value) {
  YAML::Emitter out;
  out << YAML::BeginMap << key << YAML::Flow << YAML::BeginMap << "value" << value << "source" << source_name << YAML::EndMap
      << YAML::EndMap;
  return out.c_str();
}

std::string cited(std::string_view citation) {
  YAML::Emitter out;
  out << YAML::BeginMap << source_name << YAML::DoubleQuoted << std::string(citation) << YAML::EndMap;
  return out.c_str();
}

}  // namespace

std::string with_learned(const std::string& text, const RunFit& fit, std::string_view citation) {
  const bool names_software = YamlNode::parse(text, "the coefficients to be extended").find("software").has_value();
  std::string extended = replace_section(text, {"sources", source_name}, cited(citation));
  bool chosen = false;
  for (const LearnedChoice& choice : fit.choices) {
    if (choice.before == choice.after) continue;
    extended = replace_section(extended, {"software", choice.key}, sourced(choice.key, choice.after));
    chosen = true;
  }
  if (chosen && !names_software) {
    extended = replace_section(extended, {"software", "name"}, sourced("name", std::string(unnamed_software)));
  }
  extended = replace_section(extended, {"learned"}, learned_section(fit, source_name));
  // The written file is parsed again, because the next command must accept it.
  static_cast<void>(parse_coefficients(extended, "the coefficients to be written"));
  return extended;
}

}  // namespace ddl
