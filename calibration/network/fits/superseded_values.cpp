#include "calibration/network/fits/superseded_values.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "core/yaml_section.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 2> route_keys{"gradient_route", "layer_route"};
constexpr std::array<std::string_view, 2> algorithm_keys{"gradient_algorithm", "layer_algorithm"};
constexpr std::array<std::string_view, 4> factor_keys{"gradient_alpha", "gradient_beta", "layer_alpha", "layer_beta"};

bool is_collective_on(const MeasuredCurve& curve, bool inside) {
  return curve.operation != Collective::point_to_point && (curve.nodes == 1) == inside;
}

bool has_collective(std::span<const MeasuredCurve> curves, bool inside) {
  return std::any_of(curves.begin(), curves.end(),
                     [&](const MeasuredCurve& curve) { return is_collective_on(curve, inside); });
}

/// Whether the collectives of a level are measured for the first time, or replace collectives of another network.
bool is_first(std::span<const MeasuredCurve> before, std::span<const MeasuredCurve> measured,
              std::span<const MeasuredCurve> joined, bool inside) {
  if (!has_collective(measured, inside)) return false;
  if (!has_collective(before, inside)) return true;
  return std::any_of(before.begin(), before.end(), [&](const MeasuredCurve& old) {
    return is_collective_on(old, inside) && std::none_of(joined.begin(), joined.end(), [&](const MeasuredCurve& curve) {
             return curve.operation == old.operation && curve.ranks == old.ranks && curve.nodes == old.nodes;
           });
  });
}

/// The text of one section, as replace_section() expects it.
std::string section_text(const char* key, const YAML::Node& value) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << key << YAML::Value << value << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

/// Removes an entry from a map, and adds `key value` to `removed`. Values that have no effect are kept.
void remove_entry(YAML::Node map, std::string_view key, std::string_view no_effect, std::vector<std::string>& removed) {
  const std::string name(key);
  const YAML::Node entry = map[name];
  if (!entry || !entry.IsMap() || !entry["value"] || !entry["value"].IsScalar()) return;
  const std::string value = entry["value"].Scalar();
  if (value == no_effect) return;
  removed.push_back(fmt::format("{} {}", key, value));
  map.remove(name);
}

}  // namespace

std::string without_superseded_values(const std::string& file, std::span<const MeasuredCurve> before,
                                      std::span<const MeasuredCurve> measured, std::span<const MeasuredCurve> joined,
                                      std::vector<std::string>& warnings) {
  const bool between = is_first(before, measured, joined, false);
  if (!between && !is_first(before, measured, joined, true)) return file;
  const YAML::Node root = YAML::Load(file);
  std::string text = file;
  std::vector<std::string> removed;
  if (YAML::Node software = root["software"]; software && software.IsMap()) {
    if (between) {
      for (const std::string_view key : route_keys) remove_entry(software, key, "direct", removed);
    }
    for (const std::string_view key : algorithm_keys) remove_entry(software, key, "", removed);
    if (!removed.empty()) text = replace_section(text, {"software"}, section_text("software", software));
  }
  bool has_factors = false;
  std::vector<std::string> families;
  if (YAML::Node learned = root["learned"]; learned && learned.IsSequence()) {
    for (YAML::Node family : learned) {
      std::vector<std::string> factors;
      for (const std::string_view key : factor_keys) remove_entry(family, key, "1", factors);
      if (factors.empty()) continue;
      has_factors = true;
      family.remove("misfit");  // the error of a fit that included these factors
      families.push_back(family["family"].Scalar());
    }
    if (has_factors) removed.push_back(fmt::format("the fitted factors on α and β of {}", fmt::join(families, ", ")));
    if (has_factors) text = replace_section(text, {"learned"}, section_text("learned", learned));
  }
  if (removed.empty()) return file;
  warnings.push_back(fmt::format(
      "dropped, because collectives are measured now, and these values describe the communication of other runs: {}{}",
      fmt::join(removed, ", "), has_factors ? "; calibrate runs fits such factors to your own runs" : ""));
  return text;
}

}  // namespace ddl
