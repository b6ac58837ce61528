#include <string>

#include <fmt/format.h>

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "cli/options/configurations/config_entry.hpp"

namespace ddl {
namespace {

std::string toml_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return {};
}

class TomlReader {
 public:
  TomlReader(const std::string& text, const std::string& origin)
      : source_(std::make_shared<const SourceText>(text, origin)) {
    const std::string& whole = source_->text();
    for (std::size_t at = 0; at < whole.size(); ++at) {
      if (whole[at] == '\n') starts_.push_back(at + 1);
    }
  }

  ConfigEntries read() {
    try {
      const toml::table table = toml::parse(source_->text(), source_->origin());
      read_table(table, "");
    } catch (const toml::parse_error& error) {
      throw source_->error(offset(error.source().begin), std::string(error.description()), "the file is read as TOML 1.0");
    }
    return std::move(settings_);
  }

 private:
  /// Converts a position to a byte offset. The TOML parser counts columns in characters, not in bytes.
  [[nodiscard]] std::size_t offset(const toml::source_position& place) const {
    const auto line = std::min<std::size_t>(place.line == 0 ? 0 : place.line - 1, starts_.size() - 1);
    std::size_t at = starts_[line];
    const std::string& whole = source_->text();
    for (toml::source_index column = 1; column < place.column && at < whole.size() && whole[at] != '\n'; ++column) {
      do ++at;
      while (at < whole.size() && (static_cast<unsigned char>(whole[at]) & 0xC0U) == 0x80U);
    }
    return at;
  }

  void read_table(const toml::table& table, const std::string& path) {
    for (const auto& [name, node] : table) {
      const std::string key = path.empty() ? std::string(name.str()) : path + "." + std::string(name.str());
      if (const toml::table* nested = node.as_table()) {
        read_table(*nested, key);
        continue;
      }
      std::string text;
      if (const toml::array* items = node.as_array()) {
        for (const toml::node& item : *items) {
          if (item.is_value()) text += (text.empty() ? "" : " ") + toml_text(item);
        }
      } else {
        text = toml_text(node);
      }
      add_setting(settings_, {.key = key,
                              .value = text,
                              .source = source_,
                              .key_offset = offset(name.source().begin),
                              .value_offset = offset(node.source().begin)});
    }
  }

  std::shared_ptr<const SourceText> source_;
  std::vector<std::size_t> starts_{0};
  ConfigEntries settings_;
};

}  // namespace

ConfigEntries toml_settings(const std::string& text, const std::string& origin) { return TomlReader(text, origin).read(); }

}  // namespace ddl
