#include "model_zoo/files/unknown_model.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/published_names.hpp"

namespace ddl {
namespace {

constexpr std::size_t relatives_shown = 6;
/// A shorter beginning of a name does not identify a family.
constexpr std::size_t shortest_stem = 3;

/// Returns the letters with which a name begins: `qwen` of `Qwen4-9B`.
std::string stem_of(std::string_view name) {
  std::string stem;
  for (const char c : lower_case(name)) {
    if (c < 'a' || c > 'z') break;
    stem += c;
  }
  return stem;
}

/// Returns the bundled models whose names, or published spellings, begin like a name.
std::vector<std::string> relatives_of(std::string_view name) {
  const std::string stem = stem_of(name);
  std::vector<std::string> relatives;
  if (stem.size() < shortest_stem) return relatives;
  for (const CatalogueEntry& entry : model_catalogue()) {
    const auto begins = [&stem](std::string_view spelling) { return stem_of(spelling) == stem; };
    if (begins(entry.name) || std::any_of(entry.aliases.begin(), entry.aliases.end(), begins))
      relatives.push_back(entry.name);
  }
  return relatives;
}

/// Returns the bundled architecture of a name of timm with a tag, `resnet50.a1_in21k`; else nothing.
std::string architecture_of(std::string_view name) {
  const std::string_view architecture = name.substr(0, name.find('.'));
  if (architecture.size() == name.size() || architecture.empty()) return {};
  // A digit behind the dot continues a version: `DeepSeek-V3.2` has no tag.
  const std::string_view tag = name.substr(architecture.size() + 1);
  if (tag.empty() || (tag.front() >= '0' && tag.front() <= '9')) return {};
  const std::string model = canonical_model_name(architecture);
  const std::vector<std::string> names = model_names();
  return std::find(names.begin(), names.end(), model) != names.end() ? model : std::string();
}

}  // namespace

std::string unknown_model_hint(std::string_view name) {
  const bool is_repository = is_hub_name(name);
  if (is_repository) name.remove_prefix(name.find('/') + 1);
  const std::string import = is_repository
                                 ? "download its config.json and run: ddl-oracle models import config.json -o net.yaml"
                                 : "import its config.json: ddl-oracle models import config.json -o net.yaml";
  if (const std::string model = architecture_of(name); !model.empty()) {
    return fmt::format("its architecture is {0}; give other classes or sizes after the name: {0}@classes=21843", model);
  }
  const std::vector<std::string> names = model_names();
  const std::string known = suggest(name, names);
  const bool is_close = known.starts_with("did you mean");
  const std::optional<std::string> meant = nearest(name, names);
  if (!is_repository && meant && edit_distance(lower_case(name), lower_case(*meant)) <= 1) return known;
  std::vector<std::string> relatives = relatives_of(name);
  if (is_close) return fmt::format("{} or {}", known, import);
  if (relatives.empty())
    return fmt::format("see 'models list' for bundled models, or {}; a file of your own ends in '.yaml'", import);
  const bool is_long = relatives.size() > relatives_shown;
  if (is_long) relatives.resize(relatives_shown);
  return fmt::format("models that begin alike: {}{}; or {}", fmt::join(relatives, ", "), is_long ? ", ..." : "", import);
}

}  // namespace ddl
