#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/configurations/accelerate_options.hpp"
#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/batch_directives.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/expanded_yaml.hpp"
#include "cli/options/configurations/named_files.hpp"
#include "cli/options/configurations/notebook.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/options/configurations/references.hpp"
#include "cli/options/configurations/script_arguments.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "cli/options/configurations/unsupported_files.hpp"
#include "cli/options/configurations/wrapped_settings.hpp"

namespace ddl {
namespace {

constexpr int most_configuration_files = 4;  ///< maximum length of a chain of files in which each names the next

class ConfigurationReader {
 public:
  /// `kind`: the distributed_type of the configuration that names this file; empty for the first file.
  ConfigurationReader(std::string path, int depth, const ScriptValues& values, std::string kind = {})
      : path_(std::move(path)), depth_(depth), values_(values), kind_(std::move(kind)) {}

  /// Reads a configuration. `text`: the contents of the file, or a here-document from which a script writes the file.
  std::optional<Configuration> read(const std::string& text) {
    language_ = language_of(text, path_);
    // A list in JSON looks like TOML or a script.
    if (path_.ends_with(".json") && language_ != ConfigurationLanguage::json) return std::nullopt;
    if (!read_settings(text)) return std::nullopt;
    override_settings(settings_, overriding_);
    return interpret();
  }

  /// Interprets the arguments of one tool that a file of another tool contains.
  std::optional<Configuration> read(ConfigEntries settings) {
    language_ = ConfigurationLanguage::yaml;
    settings_ = std::move(settings);
    return interpret();
  }

  std::optional<Configuration> read(NotebookTraining training) {
    settings_ = std::move(training.settings);
    if (!training.program.empty()) programs_.push_back(std::move(training.program));
    if (const auto& four = training.double_quantized) result_.set(ConfigField::base, {.value = "nf4-double", .from = four});
    result_.refusals = std::move(training.refusals);
    result_.warnings = std::move(training.warnings);
    return interpret();
  }

 private:
  std::optional<Configuration> interpret() {
    if (language_ == ConfigurationLanguage::yaml) result_.warnings = repeated_settings(settings_);
    join_meshes(settings_);
    drop_image_length(settings_);
    include_named_sections(settings_, path_);
    bool has_arguments = language_ == ConfigurationLanguage::script;
    for (const ConfigEntry& setting : settings_) {
      // For example, in `MODEL_ARGS: {--num-layers: 12}`, the argument is the last part of the key.
      const std::size_t argument = language_ == ConfigurationLanguage::script ? std::string::npos : setting.key.rfind(".--");
      has_arguments = has_arguments || argument != std::string::npos;
      keys_.push_back(argument_key(argument == std::string::npos ? setting.key : setting.key.substr(argument + 1)));
      result_.sections.insert(keys_.back().substr(0, keys_.back().find('.')));
    }
    const ConfiguredText marked{language_, keys_, programs_, has_arguments, settings_, depth_ == 0};
    // A command line of a foreign tool may contain arguments of a known tool, so foreign tools are refused first.
    if (language_ == ConfigurationLanguage::script) refuse_foreign(marked, path_);
    format_ = format_of(marked);
    if (format_ == nullptr && language_ != ConfigurationLanguage::script) refuse_foreign(marked, path_);
    if (format_ == nullptr && (language_ != ConfigurationLanguage::script || !names_a_file(keys_))) {
      if (!result_.refusals.empty()) result_.refuse({});
      return std::nullopt;
    }
    result_.file = path_;
    result_.format = format_;
    if (language_ == ConfigurationLanguage::script) read_rows(launcher_rows());
    if (format_ != nullptr) {
      inner_ = take_inner(*format_, settings_, keys_);
      find_kind();
      read_facts(format_->rows);
      if (language_ == ConfigurationLanguage::script || format_->language == ConfigurationLanguage::script) read_others();
      list_others();
      add_usual();  // adds defaults of this format before files of other tools are merged
    }
    if (format_ == nullptr) read_others();
    merge_files();
    if (depth_ == 0) result_.warnings.insert(result_.warnings.end(), result_.skipped.begin(), result_.skipped.end());
    if (result_.format == nullptr) {
      refuse_unrecognized(result_, depth_ == 0);
      return std::nullopt;
    }
    if (format_ == nullptr) list_unknown(settings_, keys_, *result_.format, result_.not_modeled);
    result_.has_unknown_program = depth_ == 0 && format_ == nullptr && !programs_.empty();
    if (depth_ == 0 && !result_.format->note.empty()) result_.warnings.emplace_back(result_.format->note);
    add_usual();
    return std::move(result_);
  }

  void add_usual() {
    for (const UsualValue& usual : result_.format->usual) {
      const Fact* kind = result_.find(ConfigField::distributed_type);
      const bool applies = usual.only_with.empty() || (kind != nullptr && kind->value == usual.only_with);
      if (applies && !result_.says(usual.field) && !is_left_open(usual.field))
        result_.set(usual.field, {.value = std::string(usual.value)});
    }
  }

  /// Whether this file, which no other file names, has `auto` for a field. The program that reads the file sets the value.
  [[nodiscard]] bool is_left_open(RunField field) const {
    return depth_ == 0 && std::ranges::any_of(settings_, [&](const ConfigEntry& setting) {
             // A file that this file names may have given another format.
             const auto& rows = (format_ != nullptr ? format_ : result_.format)->rows;
             const ArgumentRow* row = setting.value == "auto" ? row_named(rows, argument_key(setting.key)) : nullptr;
             return row != nullptr && row->field == field;
           });
  }

  /// Parses the text. Returns false if the text is not valid YAML and contains no keys of a known tool.
  bool read_settings(const std::string& text) {
    switch (language_) {
      case ConfigurationLanguage::json:
        // A text in braces is read as JSON, unless the file's name says that it is YAML. YAML may contain comments.
        if (path_.ends_with(".yml") || path_.ends_with(".yaml")) {
          language_ = ConfigurationLanguage::yaml;
          settings_ = yaml_settings(text, path_);
        } else {
          settings_ = json_settings(text, path_);
        }
        break;
      case ConfigurationLanguage::toml:
        settings_ = toml_settings(text, path_);
        break;
      case ConfigurationLanguage::yaml:
        try {
          settings_ = yaml_settings(text, path_);
        } catch (const Error&) {
          refuse_unparsed(text, path_);
          // A text that looks like no tool's configuration may be a job file. The reader of job
          // files then reports the errors.
          if (!looks_like_a_tools(text)) return false;
          throw;
        }
        if (const std::optional<WrappedModel> wrapped = unwrap_settings(settings_)) take_wrapped(*wrapped);
        resolve_references(settings_, values_);
        break;
      case ConfigurationLanguage::script:
        read_script(text);
        break;
    }
    return true;
  }

  void take_wrapped(const WrappedModel& wrapped) {
    result_.set(ConfigField::model, {.value = wrapped.name.value, .from = wrapped.name});
    if (!wrapped.flavor.empty()) result_.set(ConfigField::flavor, {.value = wrapped.flavor, .from = wrapped.name});
    if (wrapped.resized)
      result_.refusals.push_back({.at = *wrapped.resized,
                                  .message = "this changes the model that the file names",
                                  .hint = "name the trained model with --model; the other keys of the file are used",
                                  .is_of_model = true});
  }

  void read_script(const std::string& text) {
    ShellScript script =
        read_shell_script(script_of(text, path_), path_,
                          {.values = values_,
                           .load = [&](const std::string& name) { return named_script(path_, name); },
                           .load_configuration = [&](const std::string& name) -> std::optional<std::string> {
                             const std::optional<std::string> path = named_configuration(path_, name);
                             return path ? std::optional(read_file(*path, max_configuration_file_bytes)) : std::nullopt;
                           }});
    ScriptArguments arguments = script_arguments(script);
    settings_ = std::move(arguments.settings);
    result_.warnings = std::move(arguments.warnings);
    result_.skipped = std::move(script.skipped);
    documents_ = std::move(script.documents);
    for (const PlacedText& program : arguments.programs) programs_.push_back(program.text);
    for (const PlacedText& program : arguments.refused_programs) {
      const OtherProgram& other = *other_program(program.text);
      const ConfigEntry entry{.key = program.text,
                              .source = script.sources[program.origin().file],
                              .key_offset = program.offset(),
                              .value_offset = program.offset()};
      if (!other.family.empty() && program.is_known()) {
        result_.set(ConfigField::family, {.value = std::string(other.family), .from = entry});
        continue;
      }
      result_.refusals.push_back(refusal_of(program, other, entry));
    }
  }

  /// Finds the distributed_type, which determines the arguments that apply: that of the file, of its base, or the default.
  void find_kind() {
    if (!kind_.empty()) return;
    for (const ArgumentRow& row : format_->rows) {
      if (row.field != ConfigField::distributed_type) continue;
      for (const ConfigEntry& setting : settings_) {
        if (setting.key == row.key && kind_.empty()) kind_ = meaning_of(row, setting).value_or(Fact{}).value;
      }
    }
    if (kind_.empty()) kind_ = kind_of_base();
    for (const UsualValue& usual : format_->usual) {
      if (usual.field == ConfigField::distributed_type && kind_.empty()) kind_ = usual.value;
    }
  }

  /// Returns the distributed_type of the file that this file is based on; empty if there is none.
  [[nodiscard]] std::string kind_of_base() const {
    if (language_ == ConfigurationLanguage::script || depth_ == most_configuration_files) return {};
    for (const ConfigEntry& setting : settings_) {
      const ArgumentRow* row = row_named(format_->rows, argument_key(setting.key));
      if (row == nullptr || row->field != ConfigField::trainer_file) continue;
      const std::optional<std::string> path = named_configuration(path_, setting.value);
      if (!path) continue;
      const auto base = ConfigurationReader(*path, depth_ + 1, values_).read(read_file(*path, max_configuration_file_bytes));
      const Fact* kind = base ? base->find(ConfigField::distributed_type) : nullptr;
      if (kind != nullptr && kind->problem.empty()) return kind->value;
    }
    return {};
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
    std::optional<Fact> fact = meaning_of(row, setting);
    if (!fact) return;
    if (row.field == ConfigField::gpus_per_node && !names_gpus(fact->value)) return;  // for example --gres=nvme:1
    if (is_file_field(row.field) && !named_configuration(path_, fact->value)) fact->value = first_file_in(fact->value);
    const Fact* before = result_.find(row.field);
    fact->is_weak = row.is_weak || (setting.key.find(":-") != std::string::npos && starts_ray(format_));
    if (before != nullptr && before->from && keeps_value(row, *before, *fact, setting)) return;
    if (before != nullptr && before->from && row.field == ConfigField::gpus_per_node) {
      if (const auto fewer = fewer_started(settings_, before->value, *before->from, setting)) {
        result_.warnings.push_back(fewer->warning);
        fact->value = fewer->value;
        return result_.set(row.field, *std::move(fact));
      }
    }
    // Some tools have a key for each kind of matrix with adapters, instead of one list.
    const bool is_part = before != nullptr && before->from && row.field == ConfigField::adapter_layers;
    if (is_part && argument_key(before->from->key) != argument_key(setting.key))
      fact->value = before->value + " " + fact->value;
    // If an argument is given twice, the last value counts. If two arguments set one field, their values must be equal.
    if (before != nullptr && before->from && !before->is_weak && !is_same_value(row.field, before->value, fact->value) &&
        argument_key(before->from->key) != argument_key(setting.key) && row.field != ConfigField::tokenizer && !is_part &&
        setting.is_known && before->from->is_known && before->problem.empty() && fact->problem.empty()) {
      fact->problem = fmt::format("'{}' contradicts '{}' in line {}", argument_text(setting), argument_text(*before->from),
                                  before->from->place().line);
      fact->hint = "leave one of them out";
    }
    // A value with a device name, such as `a100:8`, is not replaced by a later value without a device name.
    if (before != nullptr && row.field == ConfigField::gpus_per_node && fact->problem.empty() && before->from &&
        before->value.find(':') != std::string::npos && fact->value.find(':') == std::string::npos && setting.is_known &&
        before->from->is_known && (!before->is_weak || is_same_value(row.field, before->value, fact->value)))
      return;
    result_.set(row.field, *std::move(fact));
  }

  void read_facts(std::span<const ArgumentRow> rows) {
    const std::size_t programs = result_.refusals.size();
    read_rows(rows);
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      for (const RefusedArgument& refused : format_->refused) {
        if (is_named(argument_key(refused.key), keys_[i]) && asks_for(refused, settings_[i]))
          result_.refusals.push_back(refusal_of(refused, settings_[i]));
      }
    }
    put_commands_first(std::span(result_.refusals).subspan(programs));
    // Recomputing blocks in groups (`uniform`) is predicted as recomputing each block on its own, so it is not modeled.
    const Fact* blocks = result_.find(ConfigField::recompute_layers);
    if (blocks != nullptr && blocks->from && result_.word(ConfigField::recompute_method) != "block" &&
        !is_neutral(blocks->value))
      result_.not_modeled.push_back(*blocks->from);
    // If a script does not set which layers have experts, all have.
    const Fact* layers = result_.find(ConfigField::expert_layers);
    if (layers != nullptr && layers->from && !layers->from->is_known) result_.not_modeled.push_back(*layers->from);
  }

  [[nodiscard]] bool asks_for(const RefusedArgument& refused, const ConfigEntry& setting) const {
    const auto is_present = [&](const std::string& key) { return is_word_of(refused.without, "--" + key); };
    if (!refused.without.empty() && std::ranges::any_of(keys_, is_present)) return false;
    // The end of a path shows its kind, even if its beginning is an unknown variable.
    const bool counts_unknown = refused.values.starts_with('*');
    if ((!setting.is_known && !counts_unknown) || is_word_of(refused.allowed, setting.value)) return false;
    // Values that show an encoder are as expected if the program trains one.
    if (refused.is_of_model && !refused.values.empty() && result_.says(ConfigField::family)) return false;
    if (refused.values.empty()) {
      const bool is_flag = setting.value.empty() && language_ == ConfigurationLanguage::script;
      return is_flag || !(is_neutral(setting.value) || says_nothing(setting.value)) || setting.value == "1";
    }
    return has_word_of(refused.values, row_named(format_->rows, argument_key(setting.key)), setting.value);
  }

  /// Adds arguments to `not_modeled` that no table contains, except arguments that change neither time nor memory.
  void list_others() {
    std::set<std::string> listed;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      const ConfigEntry& setting = settings_[i];
      const bool is_alone = setting.value.empty() && language_ == ConfigurationLanguage::script;
      const bool is_launchers = setting.key.find(":-") != std::string::npos;
      const bool is_refused = std::ranges::any_of(format_->refused, [&](const RefusedArgument& each) {
        return is_named(argument_key(each.key), keys_[i]) && asks_for(each, setting);
      });
      const bool is_known = is_refused || is_among(format_->not_modeled, keys_[i]);
      if (!is_known) {
        if (is_launchers || is_read(keys_[i]) || is_among(format_->harmless, keys_[i])) continue;
        if (warn_of_misspelling(setting, keys_[i], format_->rows)) continue;
      }
      const bool asks =
          is_alone || is_refused || (!is_as_modeled(keys_[i], setting.value) && (is_known || !says_nothing(setting.value)));
      if (asks && listed.insert(keys_[i]).second) result_.not_modeled.push_back(setting);
    }
  }

  /// Whether the argument is known: it is in the table of this format, of launchers, or of a tool
  /// such as transformers, on which other tools are based.
  [[nodiscard]] bool is_read(const std::string& key) const {
    if (row_named(format_->rows, key) != nullptr || row_named(launcher_rows(), key) != nullptr) return true;
    return format_->language == ConfigurationLanguage::script &&
           std::any_of(configuration_formats().begin(), configuration_formats().end(), [&](const ConfigurationFormat* each) {
             return lends_arguments(*each) && row_named(each->rows, key) != nullptr;
           });
  }

  bool warn_of_misspelling(const ConfigEntry& setting, const std::string& key, std::span<const ArgumentRow> rows) {
    const ArgumentRow* meant = misspelled_row(rows, key);
    if (meant == nullptr) return false;
    const Place place = setting.source->place(setting.key_offset);
    result_.warnings.push_back(
        fmt::format("{}:{}: {} is ignored: did you mean '{}'?", place.file, place.line, quote(setting.key), meant->key));
    return true;
  }

  /// Reads arguments of a second tool on the command line, such as those of transformers on a command line of accelerate. Of
  /// an unknown program, only the length of its sequences is read.
  void read_others() {
    for (const ConfigurationFormat* format : configuration_formats()) {
      if (format == format_ || !lends_arguments(*format)) continue;
      const bool is_marked = has_part_of_mark(*format, keys_);
      for (std::size_t i = 0; i < settings_.size(); ++i) {
        if (format_ != nullptr ? row_named(format_->rows, keys_[i]) != nullptr : !gives_length(keys_[i])) continue;
        for (const ArgumentRow& row : format->rows) {
          const bool counts = !row.is_weak || is_marked;  // many programs have names such as `--model_name`
          if (counts && argument_key(row.key) == keys_[i] && !result_.says(row.field)) take(row, settings_[i]);
        }
      }
    }
  }

  /// Reads the files that the configuration names. Values in the configuration itself take
  /// precedence over values in these files.
  void merge_files() {
    const bool gives_kind = format_ != nullptr && language_ != ConfigurationLanguage::script;
    for (const ConfigField field : file_fields) {
      if (field == ConfigField::deepspeed_file && !inner_.empty()) {
        std::optional<Configuration> other = ConfigurationReader(path_, depth_ + 1, values_).read(inner_);
        if (!other) result_.not_modeled.insert(result_.not_modeled.end(), inner_.begin(), inner_.end());
        merge(field, std::move(other));
      }
      const Fact* named = result_.find(field);
      ConfigEntries options = field == ConfigField::accelerate_file ? accelerate_options(settings_) : ConfigEntries();
      if (named == nullptr || !named->from) {
        if (start_training(options)) merge(field, ConfigurationReader(path_, depth_ + 1, values_).read(std::move(options)));
        continue;
      }
      const auto document =
          std::ranges::find_if(documents_, [&](const ShellDocument& each) { return each.name == named->value; });
      std::optional<std::string> path;
      if (document == documents_.end() && named->from->is_known) path = named_configuration(path_, named->value);
      if (document == documents_.end() && !named->from->is_known && !named->from->is_of_branches)
        path = configuration_behind_variable(path_, named->value);
      if (document == documents_.end() && !named->from->is_known && !path) {
        skip_file(*named, fmt::format("this file does not set {}, which names a file", quote(named->value)));
        continue;
      }
      // The value may be a name that the tool knows, such as zero3, instead of a file name.
      if (named->value.find_first_of("./") == std::string::npos) continue;
      if (document != documents_.end() && document->differs) {
        Fact differing = *named;
        differing.from->is_of_branches = true;
        skip_file(differing, fmt::format("branches of this script write different texts into {}", quote(named->value)));
        continue;
      }
      if (depth_ == most_configuration_files)
        throw named->from->error(fmt::format("more than {} files that include each other", most_configuration_files));
      if (document != documents_.end()) {
        try {
          std::optional<Configuration> other = read_other(document->name, document->text, std::move(options));
          warn_unless_read(*named, document->name, other);
          merge(field, std::move(other));
        } catch (const Error&) {
          if (document->written.is_known()) throw;
          skip_file(*named, fmt::format("the script does not set a part of {}", quote(named->value)));
        }
      } else if (path) {
        warn_of_container(*named, *path);
        std::optional<Configuration> other = read_other(*path, read_file(*path, max_configuration_file_bytes),
                                                        std::move(options), gives_kind ? kind_ : std::string());
        warn_unless_read(*named, *path, other);
        merge(field, std::move(other));
      } else {
        skip_file(*named, fmt::format("there is no file {}", quote(named->value)));
        refuse_default_sizes(result_, *named);
        if (start_training(options)) merge(field, ConfigurationReader(path_, depth_ + 1, values_).read(std::move(options)));
      }
    }
  }

  [[nodiscard]] std::optional<Configuration> read_other(const std::string& path, const std::string& text,
                                                        ConfigEntries options, std::string kind = {}) const {
    ConfigurationReader other(path, depth_ + 1, values_, std::move(kind));
    other.overriding_ = std::move(options);
    return other.read(text);
  }

  void skip_file(const Fact& named, const std::string& reason) {
    result_.unread_files.push_back(*named.from);
    warn_of_file(named, reason);
  }

  void warn_unless_read(const Fact& named, const std::string& path, const std::optional<Configuration>& read) {
    if (!read) warn_of_file(named, fmt::format("{} is not a configuration of a known tool", quote(path)));
  }

  void warn_of_file(const Fact& named, const std::string& reason) {
    result_.skipped.push_back(fmt::format("{}:{}: {}: its contents are unknown", path_, named.from->place().line, reason));
  }

  /// Merges a configuration that this one names or contains. `field`: the field that names it.
  void merge(ConfigField field, std::optional<Configuration> other) {
    if (!other || (format_ == nullptr && is_of_another_program(other->format, programs_))) return;
    const ConfigurationFormat* const format = result_.format;
    const bool is_deepspeed = field == ConfigField::deepspeed_file;
    const bool is_primary = format == nullptr || format->language == ConfigurationLanguage::script || is_deepspeed;
    other->override_by(is_deepspeed ? without_ignored(result_) : result_);
    if (!is_primary || format == &megatron_arguments || format == &trl_arguments) other->format = format;
    if (is_deepspeed && format != nullptr) other->set(ConfigField::distributed_type, {.value = "deepspeed"});
    // The trainer sets the values that DeepSpeed's file does not set, so the trainer's default is used.
    const Fact* const usual = is_deepspeed ? result_.find(ConfigField::precision) : nullptr;
    if (usual != nullptr && !other->find(ConfigField::precision)->from) other->set(ConfigField::precision, *usual);
    other->file = path_;
    result_ = *std::move(other);
  }

  /// Says which file is read if the name of another file is a path in a container.
  void warn_of_container(const Fact& named, const std::string& read) {
    if ((!named.value.starts_with('/') && named.from->is_known) || read == named.value) return;
    const int line = named.from->place().line;
    result_.skipped.push_back(fmt::format("{}:{}: {} is read in place of {}", path_, line, quote(read), quote(named.value)));
  }

  std::string path_;
  int depth_;
  const ScriptValues& values_;
  std::string kind_;  ///< the distributed_type of the configuration
  ConfigurationLanguage language_ = ConfigurationLanguage::script;
  ConfigEntries settings_, inner_;  ///< `inner_`: arguments of DeepSpeed in a file of another tool
  ConfigEntries overriding_;        ///< options that replace settings of the file
  std::vector<std::string> keys_, programs_;
  std::vector<ShellDocument> documents_;
  const ConfigurationFormat* format_ = nullptr;
  Configuration result_;
};

}  // namespace

std::optional<Configuration> recognize_configuration(const std::string& path, const ScriptValues& values) {
  refuse_program(path);
  if (!is_notebook(path)) return ConfigurationReader(path, 0, values).read(read_file(path, max_configuration_file_bytes));
  NotebookTraining training = notebook_training(read_file(path, most_notebook_bytes), path, values);
  if (auto read = ConfigurationReader(path, 0, values).read(std::move(training))) return read;
  throw Error(fmt::format("{} is a notebook without a call of a supported trainer", quote(path)));
}

Configuration read_configuration(const std::string& path, const ScriptValues& values) {
  if (std::optional<Configuration> configuration = recognize_configuration(path, values)) return *std::move(configuration);
  if (std::string hint = hint_of_another(path); !hint.empty())
    throw Error(fmt::format("{} is not a configuration of a known tool", quote(path)), std::move(hint));
  std::vector<std::string_view> known;
  for (const ConfigurationFormat* format : configuration_formats()) known.push_back(format->name);
  throw Error(
      fmt::format("{} is not a configuration of a known tool", quote(path)),
      fmt::format("known: {}; for others, set model and plan by options: recommend MODEL --gpus N", fmt::join(known, ", ")));
}

}  // namespace ddl
