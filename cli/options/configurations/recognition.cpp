#include "cli/options/configurations/recognition.hpp"

#include <algorithm>
#include <set>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/scripts_in_files.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"

namespace ddl {

std::string argument_key(std::string_view key) {
  if (key.starts_with("--")) key.remove_prefix(2);
  std::string same(key);
  std::ranges::replace(same, '_', '-');
  return same;
}

ConfigurationLanguage language_of(const std::string& text, const std::string& path) {
  if (is_makefile(path) || lower_case(last_step(path)) == "justfile") return ConfigurationLanguage::script;
  if (is_markdown(path) || script_of_job(text, path)) return ConfigurationLanguage::script;
  bool is_first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (is_first && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if ((is_first && line.starts_with("#!")) || line.starts_with("#SBATCH")) return ConfigurationLanguage::script;
    is_first = false;
    line = trimmed(line, " \t\r");
    if (line.empty() || line.front() == '#' || line.starts_with("//")) continue;
    if (line.starts_with("/*")) {  // a comment of JSON, which may have several lines
      const std::size_t closing = text.find("*/", static_cast<std::size_t>(line.data() - text.data()));
      if (closing == std::string::npos) return ConfigurationLanguage::script;
      at = closing + 2;
      continue;
    }
    // A template of YAML, such as one of Helm, may begin with a placeholder.
    if (line.starts_with("{{")) return ConfigurationLanguage::yaml;
    if (line.front() == '{') return ConfigurationLanguage::json;
    if (line.front() == '[' && (line.find(']') != std::string_view::npos) && !line.starts_with("[ ") &&
        !line.starts_with("[[ ")) {
      return ConfigurationLanguage::toml;
    }
    if (line == "---" || line.starts_with("- ") || line.starts_with("defaults:")) return ConfigurationLanguage::yaml;
    const std::size_t word = line.find_first_of(" \t:=\"'$({");
    if (word == 0 || word == std::string_view::npos) return ConfigurationLanguage::script;
    const std::string_view rest = line.substr(word);
    if (rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t")) return ConfigurationLanguage::yaml;
    if (rest.starts_with(" = ") || rest.starts_with(" =")) return ConfigurationLanguage::toml;
    return ConfigurationLanguage::script;
  }
  return ConfigurationLanguage::script;
}

const ArgumentRow* row_named(std::span<const ArgumentRow> rows, const std::string& key) {
  return find_where(rows, [&](const ArgumentRow& row) { return argument_key(row.key) == key; });
}

const ArgumentRow* misspelled_row(std::span<const ArgumentRow> rows, const std::string& key) {
  constexpr std::size_t least_letters = 8, most_letters = 64, long_key = 16;
  const int most_edits = key.size() < long_key ? 1 : 2;
  if (key.size() < least_letters || key.size() > most_letters) return nullptr;
  return find_where(rows, [&](const ArgumentRow& row) {
    const std::string other = argument_key(row.key);
    const auto longer = std::max(other.size(), key.size()), shorter = std::min(other.size(), key.size());
    return longer - shorter <= static_cast<std::size_t>(most_edits) && edit_distance(key, other) <= most_edits;
  });
}

bool is_among(std::span<const std::string_view> patterns, const std::string& key) {
  return std::ranges::any_of(patterns, [&](std::string_view each) { return is_named(argument_key(each), key); });
}

bool is_part_of_mark(std::span<const std::string_view> marks, const std::string& key) {
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return is_named(argument_key(mark.substr(0, mark.find('+'))), key); });
}

bool has_part_of_mark(const ConfigurationFormat& format, const std::vector<std::string>& keys) {
  return std::ranges::any_of(keys, [&](const std::string& key) { return is_part_of_mark(format.marks, key); });
}

namespace {

std::size_t known_arguments(const ConfigurationFormat& format, const std::vector<std::string>& keys) {
  std::set<std::string> known;
  for (const ArgumentRow& row : format.rows) {
    if (row.field != ConfigField::deepspeed_file && !row.is_weak) known.insert(argument_key(row.key));
  }
  return static_cast<std::size_t>(std::ranges::count_if(keys, [&](const std::string& key) { return known.contains(key); }));
}

/// Whether a text in the language `text` can be a file in the language `format`. JSON and YAML
/// match, because JSON is a part of YAML.
bool is_nested(ConfigurationLanguage text, ConfigurationLanguage format) {
  const auto kind = [](ConfigurationLanguage one) {
    return one == ConfigurationLanguage::json ? ConfigurationLanguage::yaml : one;
  };
  return kind(text) == kind(format);
}

/// Whether the keys have one of the marks. A mark such as `batch+length` stands for keys that only occur together.
bool has_mark(std::span<const std::string_view> marks, const std::vector<std::string>& keys) {
  const auto has = [&](std::string_view part) {
    const std::string name = argument_key(part);
    return std::ranges::any_of(keys, [&](const std::string& key) { return is_named(name, key); });
  };
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return !mark.empty() && std::ranges::all_of(split(mark, "+"), has); });
}

/// Whether the keys contain so many marks of a format that another program is unlikely to have them by chance.
bool has_several_marks(std::span<const std::string_view> marks, const std::vector<std::string>& keys) {
  constexpr std::ptrdiff_t several = 3;
  return std::ranges::count_if(marks, [&](const std::string_view& mark) { return has_mark(std::span(&mark, 1), keys); }) >=
         several;
}

/// Whether most keys of a file that have a value are in no table of the format, most of its sections have no other keys, and
/// the file names no model. Then the file belongs to another program, which happens to share a key with the format. Keys
/// that begin with `_` are comments. A file that another file names is always a configuration.
bool is_mostly_unknown(const ConfigurationFormat& format, const ConfiguredText& text) {
  if (!text.is_given || has_several_marks(format.marks, text.keys)) return false;
  std::set<std::string> different;
  for (std::size_t i = 0; i < text.keys.size(); ++i) {
    const ConfigEntry& setting = text.settings[i];
    const bool has_value = !says_nothing(setting.value) && !is_neutral(setting.value) && !setting.key.starts_with('_');
    if (has_value) different.insert(text.keys[i]);
  }
  const auto is_known = [&](const std::string& key) {
    const auto is_refused = [&](const RefusedArgument& each) { return is_named(argument_key(each.key), key); };
    const auto is_inner = [&](const ArgumentRow& row) {
      return row.field == ConfigField::deepspeed_file && key.starts_with(argument_key(row.key) + ".");
    };
    return row_named(format.rows, key) != nullptr || is_among(format.harmless, key) || is_among(format.marks, key) ||
           is_among(format.not_modeled, key) || std::ranges::any_of(format.refused, is_refused) ||
           std::ranges::any_of(format.rows, is_inner) ||
           (format.is_trainer && is_among(transformers_arguments.harmless, key)) ||
           row_named(transformers_arguments.rows, key) != nullptr;
  };
  const bool names_model = std::ranges::any_of(format.rows, [&](const ArgumentRow& row) {
    return (row.field == ConfigField::model || row.field == ConfigField::layers) &&
           different.contains(argument_key(row.key));
  });
  if (names_model) return false;
  std::size_t known = 0;
  std::set<std::string> sections, known_sections, unknown;
  for (const std::string& key : different) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    sections.insert(key.substr(0, dot));
    if (is_known(key)) {
      known_sections.insert(key.substr(0, dot));
      ++known;
    } else {
      unknown.insert(key.substr(0, key.find('.', dot + 1)));  // an inner section counts once
    }
  }
  return unknown.size() > known && 2 * known_sections.size() < sections.size();
}

/// Whether the text is a file of this program, which may share a key with the files of a tool.
bool is_own(const ConfiguredText& text) {
  const std::string_view mark = text.language == ConfigurationLanguage::json ? "schema" : "format";
  return text.language != ConfigurationLanguage::script && contains(text.keys, mark);
}

}  // namespace

void list_unknown(const ConfigEntries& settings, const std::vector<std::string>& keys, const ConfigurationFormat& format,
                  std::vector<ConfigEntry>& listed) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const bool is_launchers =
        settings[i].key.find(":-") != std::string::npos || row_named(launcher_rows(), keys[i]) != nullptr;
    if (is_launchers || gives_length(keys[i]) || is_among(transformers_arguments.harmless, keys[i]) ||
        is_among(format.harmless, keys[i]))
      continue;
    if (seen.insert(keys[i]).second) listed.push_back(settings[i]);
  }
}

bool lends_arguments(const ConfigurationFormat& format) {
  return format.language == ConfigurationLanguage::script && format.programs.empty();
}

std::string argument_text(const ConfigEntry& setting) {
  if (setting.key == "tool:-command") return setting.value;
  if (setting.key.starts_with("environment:-")) return setting.key.substr(setting.key.find('-') + 1);
  const std::size_t launcher = setting.key.find(":-");
  const std::string key = launcher == std::string::npos ? setting.shown_key() : setting.key.substr(launcher + 1);
  return setting.value.empty() ? key : key + " " + setting.value;
}

void put_commands_first(std::span<Refusal> refusals) {
  std::ranges::stable_partition(refusals, [](const Refusal& refusal) { return refusal.at.key == "tool:-command"; });
}

ConfigEntries take_inner(const ConfigurationFormat& format, ConfigEntries& settings, std::vector<std::string>& keys) {
  ConfigEntries own, inner;
  std::vector<std::string> own_keys;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto contains = [&](const ArgumentRow& row) {
      return row.field == ConfigField::deepspeed_file && keys[i].starts_with(argument_key(row.key) + ".");
    };
    const auto row = std::ranges::find_if(format.rows, contains);
    if (row == format.rows.end()) {
      own.push_back(std::move(settings[i]));
      own_keys.push_back(std::move(keys[i]));
    } else {
      const std::size_t length = keys[i].size() - argument_key(row->key).size() - 1;
      settings[i].key.erase(0, settings[i].key.size() - length);
      inner.push_back(std::move(settings[i]));
    }
  }
  settings = std::move(own);
  keys = std::move(own_keys);
  return inner;
}

bool looks_like_a_tools(const std::string& text) {
  for (const ConfigurationFormat* format : configuration_formats()) {
    if (format->language != ConfigurationLanguage::yaml && format->also != ConfigurationLanguage::yaml) continue;
    for (const std::string_view mark : format->marks) {
      const std::string_view first = mark.substr(0, mark.find('+'));
      const std::string_view last = first.substr(first.rfind('.') + 1);
      if (!last.empty() && last != "*" && text.find(std::string(last) + ":") != std::string::npos) return true;
    }
  }
  return text.find("trainer:") != std::string::npos;
}

const ConfigurationFormat* format_of(const ConfiguredText& text) {
  const bool is_script = text.language == ConfigurationLanguage::script;
  const auto& keys = text.keys;
  if (is_own(text)) return nullptr;
  const ConfigurationFormat* best = nullptr;
  std::size_t most = 0;
  for (const ConfigurationFormat* format : configuration_formats()) {
    for (const std::string& program : text.programs) {
      if (is_script && is_among(format->programs, program)) return format;
    }
    const bool is_of_arguments = format->language == ConfigurationLanguage::script;
    if (!text.has_arguments) {
      const bool is_written_so =
          is_nested(text.language, format->language) || (format->also && is_nested(text.language, *format->also));
      if (is_written_so && has_mark(format->marks, keys) && !is_mostly_unknown(*format, text)) return format;
      continue;
    }
    if (format->language == ConfigurationLanguage::json) continue;
    // Programs of other tools may have arguments with the same names, so a format needs one of its marks, which may also be
    // the name of a program.
    if (!has_mark(format->marks, keys) && !has_mark(format->marks, text.programs)) continue;
    if (is_of_arguments && !format->programs.empty()) return format;
    // Arguments on a command line may belong to several tools, so the format that knows most of the arguments is chosen.
    const std::size_t known = known_arguments(*format, keys);
    if (known > most) {
      most = known;
      best = format;
    }
  }
  return best;
}

const ForeignTool* foreign_tool_of(const ConfiguredText& text) {
  if (is_own(text)) return nullptr;
  for (const ForeignTool& tool : foreign_tools()) {
    for (const std::string& program : text.programs) {
      if (is_among(tool.programs, program)) return &tool;
    }
    if (has_mark(tool.marks, text.keys)) return &tool;
  }
  return nullptr;
}

std::string script_of(const std::string& text, const std::string& path) {
  if (is_markdown(path)) return script_of_page(text, path);
  if (is_makefile(path)) return script_of_makefile(text);
  return script_of_job(text, path).value_or(text);
}

}  // namespace ddl
