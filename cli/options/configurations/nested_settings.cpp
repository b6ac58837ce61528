#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/expanded_yaml.hpp"
#include "core/json_source.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

void add_setting(ConfigEntries& settings, ConfigEntry setting) {
  if (settings.size() == most_settings)
    throw setting.error(fmt::format("a configuration of more than {} arguments", most_settings));
  settings.push_back(std::move(setting));
}

namespace {

using Json = nlohmann::ordered_json;

/// Converts lines and columns, which the readers of YAML and JSON report, to byte offsets.
class Lines {
 public:
  explicit Lines(const std::string& text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\n') starts_.push_back(at + 1);
    }
  }
  [[nodiscard]] std::size_t offset(int line, int column) const {
    const auto at = std::min(static_cast<std::size_t>(std::max(line, 1)) - 1, starts_.size() - 1);
    return starts_[at] + static_cast<std::size_t>(std::max(column, 1)) - 1;
  }

 private:
  std::vector<std::size_t> starts_{0};
};

class NestedReader {
 public:
  NestedReader(const std::string& text, const std::string& origin)
      : source_(std::make_shared<const SourceText>(text, origin)), lines_(source_->text()) {}

  void add(const std::string& key, std::string value, int line, int column) {
    const std::size_t offset = lines_.offset(line, column);
    add_setting(settings_,
                {.key = key, .value = std::move(value), .source = source_, .key_offset = offset, .value_offset = offset});
  }

  void read_yaml(const YamlNode& node, const std::string& path) {
    if (node.is_map()) {
      for (const auto& [key, value] : node.entries()) read_yaml(value, path.empty() ? key.text() : path + "." + key.text());
      return;
    }
    if (path.empty()) return;
    std::string text;
    if (node.is_sequence()) {
      add_items(text, node);
    } else if (!node.is_null()) {
      text = yaml_text(node);
    } else {
      text = "null";
    }
    add(path, text, node.line(), node.column());
  }

  void read_json(const JsonSource& source, const Json& value, const std::string& path, const std::string& name) {
    if (value.is_object()) {
      for (const auto& [key, each] : value.items())
        read_json(source, each, path.empty() ? key : path + "/" + key, name.empty() ? key : name + "." + key);
      return;
    }
    if (path.empty()) return;
    std::string text;
    if (value.is_array()) {
      for (const Json& item : value) text += (text.empty() ? "" : " ") + json_text(item);
    } else {
      text = json_text(value);
    }
    const Place place = source.error(path, "").place().value_or(Place{});
    add(name, text, place.line, place.column);
  }

  [[nodiscard]] ConfigEntries take() { return std::move(settings_); }

 private:
  /// Appends the scalars of a list and of its inner lists to `text`.
  static void add_items(std::string& text, const YamlNode& list) {
    for (const YamlNode& item : list.items()) {
      if (item.is_sequence()) add_items(text, item);
      if (item.is_scalar() && !item.is_null()) text += (text.empty() ? "" : " ") + yaml_text(item);
    }
  }

  static std::string yaml_text(const YamlNode& node) {
    try {
      return node.text();
    } catch (const Error&) {
      return {};  // an empty text has no arguments
    }
  }
  static std::string json_text(const Json& value) {
    return value.is_string()       ? value.get<std::string>()
           : value.is_structured() ? std::string()
                                   : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  std::shared_ptr<const SourceText> source_;
  Lines lines_;
  ConfigEntries settings_;
};

/// Replaces comments after `//` and between `/*` and `*/` by spaces, so that positions stay as they are.
std::string without_comments(std::string text) {
  bool in_quotes = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (in_quotes && text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      in_quotes = !in_quotes;
    } else if (!in_quotes && text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (!in_quotes && text[at] == '/' && at + 1 < text.size() && (text[at + 1] == '/' || text[at + 1] == '*')) {
      const bool is_line = text[at + 1] == '/';
      const std::size_t found = is_line ? text.find('\n', at) : text.find("*/", at + 2);
      const std::size_t end = found == std::string::npos ? text.size() : is_line ? found : found + 2;
      for (; at < end; ++at) {
        if (text[at] != '\n') text[at] = ' ';
      }
      --at;
    }
  }
  return text;
}

/// Returns the arguments of a configuration of DeepSpeed with comments, or with commas before closing brackets; empty if the
/// text is not such a configuration. DeepSpeed reads Hjson, which has both [deepspeedai/DeepSpeed,
/// deepspeed/runtime/config.py; hjson.github.io].
std::optional<ConfigEntries> hjson_settings(const std::string& text, const std::string& origin) {
  if (text.find("\"zero_optimization\"") == std::string::npos && text.find("\"train_batch_size\"") == std::string::npos &&
      text.find("\"train_micro_batch_size_per_gpu\"") == std::string::npos)
    return std::nullopt;
  try {
    // YAML's flow style also allows such commas, and comments after #. An entry without quotes is a placeholder of a
    // template, or a number.
    ConfigEntries settings = yaml_settings(without_comments(text), origin);
    const bool has_placeholders = std::ranges::any_of(settings, [](const ConfigEntry& setting) {
      const std::string& whole = setting.source->text();
      if (setting.value.empty() || setting.value_offset >= whole.size()) return false;
      const char first = whole[setting.value_offset], of_value = setting.value.front();
      return first != '"' && first != '[' && of_value >= 'A' && of_value <= 'Z';
    });
    // YAML reads a key without a value as null, which JSON writes as a word.
    const bool lacks_value = std::ranges::any_of(settings, [](const ConfigEntry& setting) {
      return setting.value == "null" && setting.source->text().compare(setting.value_offset, 4, "null") != 0;
    });
    return has_placeholders || lacks_value ? std::nullopt : std::optional(std::move(settings));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ConfigEntries json_settings(const std::string& text, const std::string& origin) {
  NestedReader reader(text, origin);
  try {
    const JsonSource source(text, origin,
                            "a configuration is one JSON object; the placeholders of a template have to be filled in");
    reader.read_json(source, source.root(), "", "");
  } catch (const Error&) {
    if (std::optional<ConfigEntries> settings = hjson_settings(text, origin)) return *std::move(settings);
    throw;
  }
  return reader.take();
}

ConfigEntries yaml_settings(const std::string& text, const std::string& origin) {
  NestedReader reader(text, origin);
  try {
    reader.read_yaml(YamlNode::parse(text, origin), "");
  } catch (const Error& error) {
    // Tools read anchors, aliases, tags, repeated keys and escaped control characters, which the files of this program do
    // not have.
    const std::string_view message = error.what();
    const bool is_repeating = message.find("duplicate key") != std::string_view::npos ||
                              message.find("is not allowed in text") != std::string_view::npos;
    if (!is_repeating && text.find_first_of("&!") == std::string::npos) throw;
    if (std::optional<ConfigEntries> all = expanded_yaml_settings(text, origin, is_repeating)) return *std::move(all);
    throw;
  }
  return reader.take();
}

}  // namespace ddl
