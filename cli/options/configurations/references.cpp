#include "cli/options/configurations/references.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/words.hpp"

namespace ddl {
namespace {

/// Maximum number of references that are replaced in one value, and maximum length of the value.
constexpr int most_references = 64;
constexpr std::size_t most_letters = 10'000;

class References {
 public:
  References(ConfigEntries& settings, const ScriptValues& environment) : settings_(settings), environment_(environment) {
    for (ConfigEntry& setting : settings_) {
      make_absolute(setting);
      values_.insert_or_assign(setting.key, setting.value);
    }
  }

  void resolve() {
    for (ConfigEntry& setting : settings_) {
      for (int step = 0; step < most_references; ++step) {
        // The last `${` is the innermost reference of its kind: its text contains no other.
        const std::size_t from = setting.value.rfind("${");
        const std::size_t end = from == std::string::npos ? from : setting.value.find('}', from);
        if (end == std::string::npos) break;
        const auto text = value_of(setting.key, setting.value.substr(from + 2, end - from - 2));
        if (!text || setting.value.size() + text->size() > most_letters) break;
        setting.value.replace(from, end + 1 - from, *text);
      }
      if (setting.value.find("${") != std::string::npos) setting.is_known = false;
    }
  }

 private:
  /// Replaces references relative to the folder of a key, `${.hidden_size}` and `${..size}`, by absolute references.
  static void make_absolute(ConfigEntry& setting) {
    for (std::size_t at = setting.value.find("${."); at != std::string::npos; at = setting.value.find("${.", at + 1)) {
      std::string folder = setting.key;
      std::size_t dots = 0;
      for (; setting.value[at + 2 + dots] == '.'; ++dots)
        folder = folder.substr(0, folder.rfind('.') == std::string::npos ? 0 : folder.rfind('.'));
      if (setting.value.size() + folder.size() > most_letters) return;
      setting.value.replace(at + 2, dots, folder.empty() ? folder : folder + ".");
    }
  }

  [[nodiscard]] std::optional<std::string> value_of(const std::string& key, const std::string& reference) const {
    const std::size_t colon = reference.find(':');
    if (colon != std::string::npos) return result_of(reference.substr(0, colon), reference.substr(colon + 1));
    const std::string path(trimmed(reference));
    if (path == key) return std::nullopt;
    if (const auto found = values_.find(path); found != values_.end()) return found->second;
    // A file of a group, such as `peft`, refers to its own keys by the name of the group.
    const std::size_t group = path.find('.');
    const auto found = group == std::string::npos ? values_.end() : values_.find(path.substr(group + 1));
    if (found == values_.end() || found->first == key) return std::nullopt;
    return found->second;
  }

  /// Returns the result of a function [NVIDIA/NeMo-Framework-Launcher, launcher_scripts/main.py; OmegaConf, oc.env and
  /// oc.decode; mlcommons/training_results_v4.0, NVIDIA's resolvers for GPT-3].
  [[nodiscard]] std::optional<std::string> result_of(std::string_view function, std::string_view arguments) const {
    if (function == "oc.decode") return std::string(trimmed(arguments));
    const std::size_t comma = arguments.find(',');
    const bool has_two = comma != std::string_view::npos;
    if (function == "oc.env" || function == "env") {
      const std::string_view name = trimmed(arguments.substr(0, comma));
      const auto given =
          std::find_if(environment_.rbegin(), environment_.rend(), [&](const auto& each) { return each.first == name; });
      if (given != environment_.rend()) return given->second;
      return has_two ? std::optional(std::string(trimmed(arguments.substr(comma + 1)))) : std::nullopt;
    }
    if (!has_two) return std::nullopt;
    const auto a = number_in(trimmed(arguments.substr(0, comma))), b = number_in(trimmed(arguments.substr(comma + 1)));
    if (!a || !b || *a < 0 || *b < 0) return std::nullopt;
    std::int64_t product = 0;
    if (function == "multiply")
      return __builtin_mul_overflow(*a, *b, &product) ? std::nullopt : std::optional(std::to_string(product));
    if (*b == 0) return std::nullopt;
    if (function == "divide_ceil" || function == "ceil_div") return std::to_string(*a / *b + (*a % *b > 0 ? 1 : 0));
    if (function == "divide_floor" || function == "floor_div") return std::to_string(*a / *b);
    return std::nullopt;
  }

  ConfigEntries& settings_;
  const ScriptValues& environment_;
  std::unordered_map<std::string, std::string> values_;
};

}  // namespace

void resolve_references(ConfigEntries& settings, const ScriptValues& values) { References(settings, values).resolve(); }

}  // namespace ddl
