#include "cli/options/configurations/unsupported_files.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/expanded_yaml.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/options/configurations/script_arguments.hpp"
#include "cli/options/configurations/scripts_in_files.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

Refusal refusal_of(const PlacedText& program, const OtherProgram& other, const ConfigEntry& entry) {
  // Only the name of the program matters, not the folder that contains it.
  if (!program.part(program.text.rfind('/') + 1).is_known()) {
    return {
        .at = entry,
        .message = fmt::format("{} is only one of the programs that the branches of this script run", quote(program.text)),
        .hint = "choose the branch with --set NAME=VALUE, such as --set 1=train"};
  }
  return {.at = entry,
          .message = fmt::format("the program {} is not supported: {}", quote(program.text), other.reason),
          .hint = std::string(other.hint),
          .is_of_model = other.is_of_model,
          .families = other.families};
}

void refuse_foreign(const ConfiguredText& text, const std::string& path) {
  const ForeignTool* tool = foreign_tool_of(text);
  if (tool == nullptr) return;
  const std::string message = fmt::format("this is a configuration of {}, which is not read", tool->name);
  for (std::size_t i = 0; i < text.settings.size(); ++i) {
    if (!is_part_of_mark(tool->marks, text.keys[i])) continue;
    throw text.settings[i].source->error(text.settings[i].key_offset, message, std::string(tool->hint));
  }
  throw Error(fmt::format("{}: {}", visible(path), message), std::string(tool->hint));
}

void refuse_program(const std::string& path) {
  if (path.ends_with(".onnx"))
    throw Error(fmt::format("{} is a model, not a configuration", quote(path)),
                "pass the file as the model: recommend net.onnx --gpus N");
  if (!path.ends_with(".py")) return;
  const std::string text = read_file(path, max_configuration_file_bytes);
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  constexpr const char* hint = "set model and plan by options: recommend MODEL --gpus N, or pass the launch script";
  if (says("torchtitan")) {
    throw Error(fmt::format("{} is a configuration of torchtitan in Python, which is not read", quote(path)),
                "write the values as TOML, which torchtitan up to 0.2 reads: [parallelism] tensor_parallel_degree = 2");
  }
  if (says("nemo.collections") || says("megatron.bridge"))
    throw Error(fmt::format("{} is a recipe of NeMo in Python, which is not read", quote(path)), hint);
  throw Error(fmt::format("{} is a program in Python, not a configuration", quote(path)), hint);
}

void refuse_unparsed(const std::string& text, const std::string& path) {
  const std::size_t placeholder = text.find("{{");
  if (placeholder != std::string::npos && text.find("}}", placeholder) != std::string::npos)
    throw SourceText(text, path)
        .error(placeholder, "this is a template, whose placeholders have to be filled in",
               "pass the file that the template generates, such as the output of 'helm template'");
  const auto says = [&](std::string_view key) { return text.find(key) != std::string::npos; };
  // Jobs of Kubernetes, and of SkyPilot [skypilot-org/skypilot, sky/utils/schemas.py].
  const bool is_task = says("resources:") && says("accelerators:") && says("run:");
  if (!is_task && !(says("apiVersion:") && says("kind:"))) return;
  // The error in the YAML of one document. Several documents in such a file are not an error.
  if (!says("\n---")) static_cast<void>(YamlNode::parse(text, path));
  throw Error(fmt::format("{}: this is a configuration of a cluster's job, which is not read", visible(path)),
              "pass the script or the configuration that the job starts");
}

void refuse_default_sizes(Configuration& read, const Fact& named) {
  if (read.format == nullptr || read.format->defaults_file.empty()) return;
  if (named.value.ends_with(read.format->defaults_file)) return;
  if (read.writes(ConfigField::model) || read.writes(ConfigField::layers)) return;
  read.refusals.push_back(
      {.at = *named.from,
       .message = fmt::format("there is no file {}, which may contain the sizes of the model", quote(named.value)),
       .hint = "name the trained model with --model, or put the file into the folder of this file",
       .is_of_model = true});
}

namespace {

/// Returns the first variable in the text of a value; empty if it has none.
std::string variable_of(const ConfigEntry& entry) {
  const std::string_view text = entry.source == nullptr ? std::string_view() : std::string_view(entry.source->text());
  const std::size_t from = std::min(entry.value_offset, text.size());
  std::string_view word = text.substr(from, text.find_first_of(" \t\n", from) - from);
  const std::size_t dollar = word.find('$');
  if (dollar == std::string_view::npos) return {};
  word.remove_prefix(dollar + 1);
  if (word.starts_with('{')) word.remove_prefix(1);
  const auto end = std::ranges::find_if_not(word, goes_on_in_shell_name);
  return std::string(word.begin(), end);
}

}  // namespace

void refuse_unrecognized(const Configuration& read, bool is_given) {
  if (!read.refusals.empty()) read.refuse({});
  for (const ConfigEntry& file : read.unread_files) {
    const ArgumentRow* row = row_named(launcher_rows(), argument_key(file.key));
    if (!is_given || !file.is_known || row == nullptr || row->field != ConfigField::trainer_file || row->is_weak) continue;
    // A part of the name may be a variable that is empty until the script is called with options.
    const std::string variable = variable_of(file);
    throw file.error(
        fmt::format("there is no file {}, which may show the tool and its arguments", quote(file.value)),
        fmt::format(
            "{}put the file into the folder of this script, or set model and plan by options: "
            "recommend MODEL --gpus N",
            variable.empty() ? "" : fmt::format("set the variables of the file's name: --set {}=VALUE; or ", variable)));
  }
}

namespace {

/// A kind of file that another command reads, or that no command reads. `{}` in the hint is the file's name.
struct OtherText {
  std::string_view word, second;  ///< texts that files of this kind contain; `second` may be empty
  std::string_view hint;
};
constexpr std::string_view is_benchmark =
    "the file is the output of a benchmark: 'ddl-oracle calibrate network {}' reads it";
constexpr std::string_view is_description = "the file describes a model: 'ddl-oracle models import {}' reads it";
constexpr std::string_view is_sizes =
    "the file has sizes of a model: write them as arguments of Megatron-LM into a script, such as --num-layers 32 "
    "--hidden-size "
    "4096";
/// The first row whose texts are in the file is used.
constexpr auto other_json = std::to_array<OtherText>({
    {"\"schema\"", "\"inputs\"", "the file is an answer of this program: 'ddl-oracle explain --plan {}' reads it"},
    {"\"traceEvents\"", "", "the file is a trace: 'ddl-oracle profile import {} --model MODEL' reads it"},
    {"\"_class_name\"", "",
     "the file describes a model of diffusers, which is not read: write a model file (docs/models.md)"},
    {"\"model_type\"", "\"hidden_size", is_description},
    {"\"model_type\"", "\"vocab_size\"", is_description},
    {"\"architectures\"", "", is_description},
    // Sizes in the style of BERT's first files, and those of mlfoundations/open_lm.
    {"\"num_hidden_layers\"", "\"num_attention_heads\"",
     "the file has sizes of a model, but no type: add \"model_type\", such as \"model_type\": \"bert\", and run: ddl-oracle "
     "models import {}"},
    {"\"n_layers\"", "\"hidden_dim\"", is_sizes},
    {"\"nccl_version\"", "\"results\"", is_benchmark},
});
constexpr auto other_yaml = std::to_array<OtherText>({
    {"\nformat: ", "\nplan:", "the file is a job file: 'ddl-oracle check {}' reads it"},
    {"\nformat: ", "\nlayers:", "the file is a model file: 'ddl-oracle recommend {} --gpus N' reads it"},
    {"\nformat: ", "\nfamily:", "the file is a model file: 'ddl-oracle recommend {} --gpus N' reads it"},
    {"kv_cache_config:", "", "the file configures a server of a model: pass the configuration of a training"},
    {"num_layers:", "hidden_size:", is_sizes},
    {"num_layers:", "d_model:", is_sizes},
});
constexpr auto other_plain = std::to_array<OtherText>({
    {"# nThread", "", is_benchmark},
    {"# OSU ", "", is_benchmark},
});

std::string hint_of(std::span<const OtherText> kinds, const std::string& text, const std::string& path) {
  for (const OtherText& kind : kinds) {
    if (text.find(kind.word) != std::string::npos && text.find(kind.second) != std::string::npos)
      return fmt::format(fmt::runtime(kind.hint), visible(path));
  }
  return {};
}

/// Whether a name is that of a training: `train.py`, `run_finetune.sh`.
bool names_training(std::string_view path) {
  const std::string name = lower_case(last_step(path));
  constexpr std::array<std::string_view, 5> words{"train", "tune", "sft", "distill", "main"};
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// Returns the script among the skipped parts of another script that is the most likely to train, as a hint; empty if there
/// is none. Scripts that fetch or prepare something are ignored.
std::string launched_script(const std::vector<std::string>& skipped) {
  const std::string launches = fmt::format(": {}", launches_script);
  std::string first;
  for (const std::string& each : skipped) {
    const std::size_t words = each.find(launches);
    if (words == std::string::npos || each.find("://") != std::string::npos) continue;
    const std::string hint = each.substr(words + 2);
    const std::string_view name = std::string_view(hint).substr(0, hint.rfind('\''));
    if (names_training(name)) return hint;
    const std::string_view last = name.substr(name.find_last_of("/'") + 1);
    constexpr std::array<std::string_view, 6> others{"get", "download", "install", "setup", "prepare", "build"};
    const bool is_other = std::ranges::any_of(others, [&](std::string_view one) { return last.starts_with(one); });
    if (first.empty() && !is_other) first = hint;
  }
  return first;
}

/// Returns a hint about a script that launches another script, or an unknown program; empty if it launches neither.
std::string hint_of_script(const std::string& text, const std::string& path) {
  const ShellScript script = read_shell_script(script_of(text, path), path, {});
  std::vector<PlacedText> programs = script_arguments(script).programs;
  std::erase_if(programs, [](const PlacedText& each) {
    return !each.is_known() || std::ranges::none_of(each.text, begins_shell_name);
  });
  const auto training =
      std::find_if(programs.rbegin(), programs.rend(), [](const PlacedText& each) { return names_training(each.text); });
  const std::string launched = launched_script(script.skipped);
  if (!launched.empty() && training == programs.rend()) return launched;
  if (programs.empty() && script_of_job(text, path))
    return "the commands of the job start no known program: pass the script or the configuration of the training";
  if (programs.empty() && script.values.size() > script.commands.size())
    return fmt::format(
        "the script sets variables, and starts no training: pass the configuration or the script that uses them: "
        "--like FILE --set {}",
        visible(path));
  if (programs.empty()) return {};
  return fmt::format(
      "the file starts {}, whose arguments are unknown: set model and plan by options: recommend MODEL --gpus N",
      quote(training == programs.rend() ? programs.back().text : training->text));
}

}  // namespace

std::string hint_of_another(const std::string& path) {
  const std::string text = read_file(path, max_configuration_file_bytes);
  const std::string plain = hint_of(other_plain, text, path);
  if (!plain.empty()) return plain;
  switch (language_of(text, path)) {
    case ConfigurationLanguage::yaml: {
      std::string hint = hint_of(other_yaml, '\n' + text, path);
      const bool is_one_document = text.find("\n---") == std::string::npos;
      const bool is_yaml = is_one_document && (path.ends_with(".yaml") || path.ends_with(".yml"));
      // The second reader allows no aliases, and has an error for all that is invalid.
      if (hint.empty() && is_yaml && !ExpandedNode::parse(text, path)) static_cast<void>(YamlNode::parse(text, path));
      return hint;
    }
    case ConfigurationLanguage::json:
      return hint_of(other_json, text, path);
    case ConfigurationLanguage::script:
      return path.ends_with(".json") ? std::string() : hint_of_script(text, path);
    case ConfigurationLanguage::toml:
      break;
  }
  return {};
}

}  // namespace ddl
