#include "model_zoo/files/canonical_name.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/embedded.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/files/published_names.hpp"

namespace ddl {

// This function is generated from the files in models/.
std::span<const EmbeddedFile> bundled_models();

namespace {

/// Returns the key of name_key, but with the dots inside numbers: `gpt31.3b` for `gpt3-1.3B`.
std::string number_key(std::string_view name) {
  const auto is_digit = [&name](std::size_t at) { return at < name.size() && name[at] >= '0' && name[at] <= '9'; };
  std::string key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    key += name_key(name.substr(i, 1));
    if (name[i] == '.' && i > 0 && is_digit(i - 1) && is_digit(i + 1)) key += '.';
  }
  return key;
}

/// Returns the key of number_key, but with a '-' between two numbers: `qwen3-30b` for `Qwen3 30B`, `qwen330b` for `Qwen
/// 330B`.
std::string spelled_key(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string key;
  bool is_apart = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_point = name[i] == '.' && i > 0 && i + 1 < name.size() && is_digit(name[i - 1]) && is_digit(name[i + 1]);
    const std::string letter = is_point ? "." : name_key(name.substr(i, 1));
    if (is_apart && !letter.empty() && !key.empty() && is_digit(key.back()) && is_digit(letter.front())) key += '-';
    is_apart = letter.empty();
    key += letter;
  }
  return key;
}

/// A published spelling of a bundled model's name.
struct Alias {
  std::string spelling;
  std::string_view model;
};

std::vector<Alias> read_aliases() {
  std::vector<Alias> aliases;
  for (const CatalogueEntry& entry : model_catalogue()) {
    for (const std::string& alias : entry.aliases) aliases.push_back({alias, entry.name});
  }
  return aliases;
}

const std::vector<Alias>& known_aliases() {
  static const std::vector<Alias> aliases = read_aliases();
  return aliases;
}

bool is_bundled(std::string_view name) {
  return std::any_of(bundled_models().begin(), bundled_models().end(),
                     [name](const EmbeddedFile& file) { return file.name == name; });
}

/// The bundled models by the keys of their names and published spellings.
using ModelsByKey = std::unordered_map<std::string, std::string_view>;
ModelsByKey models_by(std::string (*key_of)(std::string_view)) {
  ModelsByKey models;
  for (const EmbeddedFile& file : bundled_models()) models.emplace(key_of(file.name), file.name);
  for (const Alias& alias : known_aliases()) models.emplace(key_of(alias.spelling), alias.model);
  return models;
}

/// Returns the bundled model of the first of these spellings that names one; nothing if none of them does.
std::optional<std::string> model_spelled(const std::vector<std::string>& spellings) {
  // Keys with dots are compared first, because `GPT-3 13B` is not `gpt3-1.3b`.
  static const std::pair<std::string (*)(std::string_view), ModelsByKey> keys[] = {{number_key, models_by(number_key)},
                                                                                   {name_key, models_by(name_key)}};
  for (const auto& [key_of, models] : keys) {
    for (const std::string& spelling : spellings) {
      if (const auto found = models.find(key_of(spelling)); found != models.end()) return std::string(found->second);
    }
  }
  return std::nullopt;
}

/// Returns the bundled model for a name that consists of the bundled name and the model's number of parameters: `DeepSeek V3
/// 671B`. Published sizes are rounded, and some exclude embeddings.
std::optional<std::string> model_of_size(const std::vector<std::string>& spellings) {
  constexpr double most_rounding = 0.05;
  for (const std::string& spelling : spellings) {
    const std::size_t at = spelling.find_last_of(" -_");
    if (at == std::string::npos || at == 0) continue;
    char* end = nullptr;
    const double number = std::strtod(spelling.c_str() + at + 1, &end);
    const std::string_view unit = end;
    const double size = number * (unit == "t" ? 1e12 : unit == "b" ? 1e9 : unit == "m" ? 1e6 : 0);
    if (size <= 0) continue;
    const std::optional<std::string> model = model_spelled({spelling.substr(0, at)});
    if (!model) continue;
    for (const CatalogueEntry& entry : model_catalogue()) {
      if (entry.name == *model && std::abs(static_cast<double>(entry.parameters) / size - 1) <= most_rounding) return model;
    }
  }
  return std::nullopt;
}

/// Returns the bundled mixture of experts whose name is a spelling followed by its active parameters: `qwen3-vl-30b-a3b` for
/// `qwen3-vl-30b`. Returns nothing if several bundled names fit.
std::optional<std::string> model_of_mixture(const std::vector<std::string>& spellings) {
  const auto is_active = [](std::string_view rest) {
    return rest.size() > 2 && rest.front() == 'a' && rest.back() == 'b' &&
           rest.find_first_not_of("0123456789.", 1) == rest.size() - 1;
  };
  for (const std::string& spelling : spellings) {
    const std::string key = spelled_key(spelling);
    if (key.size() < 2 || key.back() != 'b' || key[key.size() - 2] < '0' || key[key.size() - 2] > '9') continue;
    std::vector<std::string> found;
    for (const EmbeddedFile& file : bundled_models()) {
      const std::string other = spelled_key(file.name);
      if (other.starts_with(key) && is_active(std::string_view(other).substr(key.size()))) found.emplace_back(file.name);
    }
    if (found.size() == 1) return found.front();
  }
  return std::nullopt;
}

}  // namespace

bool is_published_spelling(std::string_view name) {
  return std::any_of(known_aliases().begin(), known_aliases().end(),
                     [name](const Alias& alias) { return alias.spelling == name; });
}

std::string canonical_model_name(std::string_view name) {
  if (is_bundled(name)) return std::string(name);
  if (name.empty() || name.size() > YamlNode::max_name) return std::string(name);
  std::vector<std::string> spellings = plainer_spellings(name);
  spellings.emplace(spellings.begin(), name);
  if (std::optional<std::string> model = model_spelled(spellings)) return *std::move(model);
  if (std::optional<std::string> model = model_of_size(spellings)) return *std::move(model);
  return model_of_mixture(spellings).value_or(std::string(name));
}

}  // namespace ddl
