#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/script_arguments.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "core/lower_case.hpp"
#include "core/suggest.hpp"

namespace ddl {

std::string argument_key(std::string_view key) {
  const std::size_t colon = key.find(":-");
  const bool is_argument = key.starts_with("--") || colon != std::string_view::npos;
  if (!is_argument) return std::string(key);
  if (key.starts_with("--") && key.find('.') != std::string_view::npos) return std::string(key.substr(2));
  std::string same(key);
  std::replace(same.begin(), same.end(), '_', '-');
  return same;
}

namespace {

namespace fs = std::filesystem;

/// Files that contain the rest, in the order of reading.
constexpr std::array file_fields{ConfigField::accelerate_file, ConfigField::deepspeed_file, ConfigField::torchtitan_file};

/// Maximum length of a chain of files that include each other.
constexpr int most_configuration_files = 4;

bool says_nothing(std::string_view value) {
  const std::string word = lower_case(value);
  return word.empty() || word == "auto" || word == "null" || word == "none" || word == "~" || word == "???";
}

/// Values with which an argument has no effect.
bool is_neutral(std::string_view value) {
  const std::string word = lower_case(value);
  for (const std::string_view each :
       {"false", "no", "0", "1", "none", "null", "off", "uniform", "", "backward_pre", "core_attn"}) {
    if (word == each) return true;
  }
  return false;
}

const ArgumentRow* row_named(std::span<const ArgumentRow> rows, const std::string& key) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const ArgumentRow& row) { return argument_key(row.key) == key; });
  return found == rows.end() ? nullptr : &*found;
}

std::size_t known_arguments(const ConfigurationFormat& format, const std::vector<std::string>& keys) {
  std::set<std::string> known;
  for (const ArgumentRow& row : format.rows) known.insert(argument_key(row.key));
  return static_cast<std::size_t>(
      std::count_if(keys.begin(), keys.end(), [&](const std::string& key) { return known.contains(key); }));
}

/// Returns the language of a text.
ConfigurationLanguage language_of(const std::string& text) {
  bool is_first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (is_first && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if ((is_first && line.starts_with("#!")) || line.starts_with("#SBATCH")) return ConfigurationLanguage::script;
    is_first = false;
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '{') return ConfigurationLanguage::json;
    if (line.front() == '[' && (line.find(']') != std::string_view::npos) && !line.starts_with("[ ") &&
        !line.starts_with("[[ ")) {
      return ConfigurationLanguage::toml;
    }
    if (line == "---" || line.starts_with("defaults:")) return ConfigurationLanguage::yaml;
    const std::size_t word = line.find_first_of(" \t:=\"'$({");
    if (word == 0 || word == std::string_view::npos) return ConfigurationLanguage::script;
    const std::string_view rest = line.substr(word);
    if (rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t")) return ConfigurationLanguage::yaml;
    if (rest.starts_with(" = ") || rest.starts_with(" =")) return ConfigurationLanguage::toml;
    return ConfigurationLanguage::script;
  }
  return ConfigurationLanguage::script;
}

/// Replaces `${model.seq_length}` and `${.seq_length}` by the values that they refer to.
void resolve_references(ConfigEntries& settings) {
  const auto value_of = [&](const std::string& key) -> const ConfigEntry* {
    const auto found =
        std::find_if(settings.begin(), settings.end(), [&](const ConfigEntry& one) { return one.key == key; });
    return found == settings.end() ? nullptr : &*found;
  };
  for (ConfigEntry& setting : settings) {
    for (int step = 0; step < most_configuration_files && setting.value.find("${") != std::string::npos; ++step) {
      std::string path = setting.value.starts_with("${") && setting.value.ends_with("}")
                             ? setting.value.substr(2, setting.value.size() - 3)
                             : std::string();
      if (path.starts_with('.')) {
        std::string folder = setting.key;
        while (path.starts_with('.')) {
          folder = folder.substr(0, folder.rfind('.') == std::string::npos ? 0 : folder.rfind('.'));
          path.erase(0, 1);
        }
        if (!folder.empty()) path.insert(0, folder + ".");
      }
      const ConfigEntry* other = path.empty() || path == setting.key ? nullptr : value_of(path);
      if (other == nullptr) {
        setting.is_known = false;
        break;
      }
      setting.value = other->value;
    }
    if (setting.value.find("${") != std::string::npos) setting.is_known = false;
  }
}

/// Returns a value with its position and its meaning by the row; empty if the row gives it no meaning.
std::optional<std::string> meaning_of(const ArgumentRow& row, const ConfigEntry& setting) {
  if (!row.alone.empty() && (setting.value.empty() || row.words.empty())) return std::string(row.alone);
  if (!setting.is_known) return setting.value;  // reported when the value is used
  for (const ArgumentWord& word : row.words) {
    if (lower_case(word.word) == lower_case(setting.value)) {
      if (word.meaning.empty()) return std::nullopt;
      return std::string(word.meaning);
    }
  }
  if (says_nothing(setting.value)) {
    if (setting.value.empty() && setting.key.find("--") != std::string::npos && row.words.empty() &&
        row.field != ConfigField::deepspeed_file) {
      throw setting.error(fmt::format("{} has no value", setting.key), "write it after the argument");
    }
    return std::nullopt;
  }
  if (!row.words.empty()) {
    std::vector<std::string_view> known;
    for (const ArgumentWord& word : row.words) known.push_back(word.word);
    throw setting.error(fmt::format("{} does not support {}", setting.key, quote(setting.value)),
                        suggest(setting.value, known));
  }
  return setting.value;
}

class ConfigurationReader {
 public:
  ConfigurationReader(std::string path, int depth) : path_(std::move(path)), depth_(depth) {}

  std::optional<Configuration> read() {
    const std::string text = read_file(path_, max_configuration_file_bytes);
    language_ = language_of(text);
    if (!read_settings(text)) return std::nullopt;
    for (const ConfigEntry& setting : settings_) {
      keys_.push_back(argument_key(setting.key));
      result_.sections.insert(keys_.back().substr(0, keys_.back().find('.')));
    }
    choose_format();
    if (format_ == nullptr && !has_files()) return std::nullopt;
    result_.file = path_;
    result_.format = format_;
    read_launchers();
    if (format_ != nullptr) {
      find_kind();
      read_facts(format_->rows);
      if (language_ == ConfigurationLanguage::script) read_others();
    }
    merge_files();
    if (result_.format == nullptr) return std::nullopt;
    for (const UsualValue& usual : result_.format->usual) {
      if (!result_.says(usual.field)) result_.set(usual.field, {.value = std::string(usual.value)});
    }
    return std::move(result_);
  }

 private:
  /// False if the text is not in its language, and so has no known format.
  bool read_settings(const std::string& text) {
    switch (language_) {
      case ConfigurationLanguage::json:
        settings_ = json_settings(text, path_);
        break;
      case ConfigurationLanguage::toml:
        settings_ = toml_settings(text, path_);
        break;
      case ConfigurationLanguage::yaml:
        try {
          settings_ = yaml_settings(text, path_);
        } catch (const Error&) {
          // A job file has its own reader, which reports what is wrong with it.
          if (!looks_like_a_tools(text)) return false;
          throw;
        }
        resolve_references(settings_);
        break;
      case ConfigurationLanguage::script: {
        const ShellScript script = read_shell_script(text, path_);
        ScriptArguments arguments = script_arguments(script);
        settings_ = std::move(arguments.settings);
        result_.warnings = std::move(arguments.warnings);
        break;
      }
    }
    return true;
  }

  static bool looks_like_a_tools(const std::string& text) {
    for (const std::string_view word :
         {"distributed_type:", "tensor_model_parallel_size:", "trainer:", "micro_batch_size:"}) {
      if (text.find(word) != std::string::npos) return true;
    }
    return false;
  }

  /// The format that has most of the arguments.
  void choose_format() {
    std::size_t most = 0;
    for (const ConfigurationFormat* format : configuration_formats()) {
      const bool may_be = language_ == ConfigurationLanguage::script ? format->language != ConfigurationLanguage::json
                                                                     : format->language == language_;
      if (!may_be) continue;
      const std::size_t known = known_arguments(*format, keys_);
      if (known > most) {
        most = known;
        format_ = format;
      }
    }
    // A file of this program may share a key with files of another tool.
    const bool is_own =
        language_ == ConfigurationLanguage::yaml && std::find(keys_.begin(), keys_.end(), "format") != keys_.end();
    if (is_own) format_ = nullptr;
  }

  [[nodiscard]] bool has_files() const {
    return std::any_of(keys_.begin(), keys_.end(), [](const std::string& key) {
      const ArgumentRow* row = row_named(launcher_rows(), key);
      return row != nullptr && std::find(file_fields.begin(), file_fields.end(), row->field) != file_fields.end();
    });
  }

  void read_launchers() {
    if (language_ == ConfigurationLanguage::script) read_rows(launcher_rows());
  }

  /// Which part of a file of accelerate applies.
  void find_kind() {
    for (const ArgumentRow& row : format_->rows) {
      if (row.field != ConfigField::distributed_type) continue;
      for (const ConfigEntry& setting : settings_) {
        if (setting.key == row.key) kind_ = meaning_of(row, setting).value_or("");
      }
    }
  }

  void read_rows(std::span<const ArgumentRow> rows) {
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      for (const ArgumentRow& row : rows) {
        if (argument_key(row.key) == keys_[i]) take(row, settings_[i]);
      }
    }
  }

  void take(const ArgumentRow& row, const ConfigEntry& setting) {
    if (!row.only_with.empty() && row.only_with != kind_) return;
    std::optional<std::string> meaning = meaning_of(row, setting);
    if (!meaning) return;
    if (row.field == ConfigField::gpus_per_node && !is_gpus(*meaning)) return;  // --gres=nvme:1
    const Fact* before = result_.find(row.field);
    // If an argument is given twice, the last value is used. Two arguments for the same field must not contradict each
    // other.
    if (before != nullptr && before->from && before->value != *meaning &&
        argument_key(before->from->key) != argument_key(setting.key) && row.field != ConfigField::tokenizer &&
        setting.is_known && before->from->is_known) {
      const Place place = before->from->place();
      throw setting.error(
          fmt::format("'{}' contradicts '{}' in line {}", argument_text(setting), argument_text(*before->from), place.line),
          "leave one of them out");
    }
    result_.set(row.field, {.value = *std::move(meaning), .from = setting});
  }

  static bool is_gpus(const std::string& text) {
    return text.starts_with("gpu:") || text.find(':') == std::string::npos ||
           (text.find(':') == text.rfind(':') && !text.starts_with("nvme"));
  }

  static std::string argument_text(const ConfigEntry& setting) {
    return setting.value.empty() ? setting.key : setting.key + " " + setting.value;
  }

  void read_facts(std::span<const ArgumentRow> rows) {
    read_rows(rows);
    std::set<std::string> listed;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      const auto is_key = [&](std::string_view key) { return argument_key(key) == keys_[i]; };
      const auto& known = format_->not_modelled;
      if (std::any_of(known.begin(), known.end(), is_key)) {
        const bool is_alone = settings_[i].value.empty() && language_ == ConfigurationLanguage::script;
        if ((is_alone || !is_neutral(settings_[i].value)) && listed.insert(keys_[i]).second)
          result_.not_modelled.push_back(settings_[i]);
      } else if (row_named(rows, keys_[i]) == nullptr && row_named(launcher_rows(), keys_[i]) == nullptr) {
        warn_of_misspelling(settings_[i], keys_[i], rows);
      }
    }
    // If blocks are recomputed in groups (`uniform`), they are assumed to be recomputed one by one.
    const Fact* blocks = result_.find(ConfigField::recompute_layers);
    if (blocks != nullptr && blocks->from && result_.word(ConfigField::recompute_method) != "block" &&
        !is_neutral(blocks->value))
      result_.not_modelled.push_back(*blocks->from);
  }

  void warn_of_misspelling(const ConfigEntry& setting, const std::string& key, std::span<const ArgumentRow> rows) {
    constexpr std::size_t least_letters = 8, long_key = 16;
    const int most_edits = key.size() < long_key ? 1 : 2;
    if (key.size() < least_letters || key.size() > 64) return;
    for (const ArgumentRow& row : rows) {
      const std::string other = argument_key(row.key);
      const auto longer = std::max(other.size(), key.size()), shorter = std::min(other.size(), key.size());
      if (longer - shorter > static_cast<std::size_t>(most_edits) || edit_distance(key, other) > most_edits) continue;
      const Place place = setting.source->place(setting.key_offset);
      result_.warnings.push_back(
          fmt::format("{}:{}: {} is ignored: did you mean '{}'?", place.file, place.line, quote(setting.key), row.key));
      return;
    }
  }

  /// A command line may have arguments of a second tool, such as those of transformers in addition to those of accelerate.
  void read_others() {
    for (const ConfigurationFormat* format : configuration_formats()) {
      if (format == format_ || format->language != ConfigurationLanguage::script) continue;
      for (std::size_t i = 0; i < settings_.size(); ++i) {
        if (row_named(format_->rows, keys_[i]) != nullptr) continue;
        for (const ArgumentRow& row : format->rows) {
          if (argument_key(row.key) == keys_[i] && !result_.says(row.field)) take(row, settings_[i]);
        }
      }
    }
  }

  /// Reads the files that the configuration names. Its own values take precedence.
  void merge_files() {
    for (const ConfigField field : file_fields) {
      const Fact* named = result_.find(field);
      if (named == nullptr || !named->from || !named->from->is_known) continue;
      if (depth_ == most_configuration_files)
        throw named->from->error(fmt::format("more than {} files that include each other", most_configuration_files));
      const std::optional<std::string> path = found(named->value);
      if (!path) {
        result_.warnings.push_back(fmt::format("{}:{}: there is no file {}: its contents are unknown", path_,
                                               named->from->place().line, quote(named->value)));
        continue;
      }
      std::optional<Configuration> other = ConfigurationReader(*path, depth_ + 1).read();
      if (!other) continue;
      const bool is_primary = result_.format == nullptr || result_.format->language == ConfigurationLanguage::script ||
                              field == ConfigField::deepspeed_file;
      other->override_by(result_);
      if (!is_primary || result_.format == &megatron_arguments) other->format = result_.format;
      if (field == ConfigField::deepspeed_file && result_.format != nullptr)
        other->set(ConfigField::distributed_type, {.value = "deepspeed"});
      other->file = path_;
      result_ = *std::move(other);
    }
  }

  /// Relative to the folder of this file, or to the working directory.
  [[nodiscard]] std::optional<std::string> found(const std::string& name) const {
    // The author of the script must not choose which other files of this machine are quoted in an error.
    const bool is_configuration =
        name.ends_with(".json") || name.ends_with(".toml") || name.ends_with(".yaml") || name.ends_with(".yml");
    if (!is_configuration) return std::nullopt;
    std::error_code error;
    const fs::path beside = fs::path(path_).parent_path() / name;
    if (fs::is_regular_file(beside, error)) return beside.lexically_normal().string();
    if (fs::is_regular_file(name, error)) return name;
    return std::nullopt;
  }

  std::string path_;
  int depth_;
  ConfigurationLanguage language_ = ConfigurationLanguage::script;
  ConfigEntries settings_;
  std::vector<std::string> keys_;
  const ConfigurationFormat* format_ = nullptr;
  std::string kind_;  ///< its distributed_type
  Configuration result_;
};

}  // namespace

std::optional<Configuration> recognise_configuration(const std::string& path) { return ConfigurationReader(path, 0).read(); }

namespace {

/// If the file belongs to this program, or launches the file with the arguments, returns how to read it.
std::string hint_of_another(const std::string& path) {
  const std::string text = read_file(path, max_configuration_file_bytes);
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  switch (language_of(text)) {
    case ConfigurationLanguage::yaml:
      if (says("format:") && says("plan:"))
        return fmt::format("it is a job file: 'ddl-oracle check {}' reads it", visible(path));
      break;
    case ConfigurationLanguage::json:
      if (says("\"schema\"") && says("\"inputs\""))
        return fmt::format("it is an answer of this program: 'ddl-oracle explain --plan {}' reads it", visible(path));
      break;
    case ConfigurationLanguage::script:
      for (const ScriptCommand& command : read_shell_script(text, path).commands) {
        for (const PlacedText& word : command.words) {
          if (word.text.ends_with(".sh")) return fmt::format("it launches {}: give that file instead", quote(word.text));
        }
      }
      break;
    case ConfigurationLanguage::toml:
      break;
  }
  return {};
}

}  // namespace

Configuration read_configuration(const std::string& path) {
  if (std::optional<Configuration> configuration = recognise_configuration(path)) return *std::move(configuration);
  if (std::string hint = hint_of_another(path); !hint.empty())
    throw Error(fmt::format("{} is not a configuration of a known tool", quote(path)), std::move(hint));
  std::vector<std::string_view> known;
  for (const ConfigurationFormat* format : configuration_formats()) known.push_back(format->name);
  throw Error(fmt::format("{} is not a configuration of a known tool", quote(path)),
              fmt::format("known: {}", fmt::join(known, ", ")));
}

}  // namespace ddl
