#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cli/tools/config_field.hpp"

namespace ddl {

/// A word in a tool's configuration, and its meaning in this program. If several words have the same meaning, the program
/// writes the first of them. If a word has several meanings, the program reads the first of them.
struct ArgumentWord {
  std::string_view word, meaning;
  bool is_only_read = false;
};
/// Parses `full=3`: the word `full` means 3. `full>3` is a word that is read, but never written.
consteval ArgumentWord word_of(std::string_view pair) {
  const std::size_t at = pair.find_first_of("=>");
  return {pair.substr(0, at), pair.substr(at + 1), pair[at] == '>'};
}
template <class... Pairs>
consteval auto argument_words(const Pairs&... pairs) {
  return std::array{word_of(pairs)...};
}
/// Words that several tools share.
namespace common {
inline constexpr auto flags = argument_words("true=yes", "false=no");
inline constexpr auto recomputed = argument_words("true=full", "false=none");
inline constexpr auto offloads = argument_words("true=weights", "false=none");
inline constexpr auto weight_offloads = argument_words("true=weights", "false=");
inline constexpr auto fused_heads = argument_words("true=linear", "false=");
inline constexpr auto halves = argument_words("true=fp16", "false=");
inline constexpr auto state_offloads = argument_words("true=optimizer", "false=none");
inline constexpr auto brains = argument_words("true=bf16", "false=");
inline constexpr auto torch_types = argument_words("bfloat16=bf16", "float16=fp16", "float32=fp32");
inline constexpr auto hybrids = argument_words("HYBRID_SHARD=yes", "FULL_SHARD=no", "SHARD_GRAD_OP=no", "NO_SHARD=no");
inline constexpr auto only_yes = argument_words("true=yes", "false=");
inline constexpr auto four_bits = argument_words("true=nf4-double", "false=");
inline constexpr auto eight_bits = argument_words("true=int8", "false=");
/// GaLore, APOLLO and LOMO [huggingface/transformers, src/transformers/training_args.py, OptimizerNames].
inline constexpr auto projected_optimizers =
    argument_words("galore_adamw=galore", "galore_adamw_8bit=galore8bit", "galore_adamw_layerwise>galore",
                   "galore_adamw_8bit_layerwise>galore8bit", "galore_adafactor>galore", "galore_adafactor_layerwise>galore",
                   "apollo_adamw=apollo", "apollo_adamw_layerwise>apollo", "lomo>sgd", "adalomo>adafactor");
inline constexpr auto updated_in_backward = argument_words("*_layerwise=yes", "lomo=yes", "adalomo=yes", "*=");
inline constexpr auto weighted_adapters = argument_words("true=dora", "false=lora");
inline constexpr auto automatic_tiles = argument_words("true=0", "false=");
inline constexpr auto counts = argument_words("true=1", "false=0");
inline constexpr auto on_host = argument_words("cpu=yes", "none=no");
}  // namespace common
template <class... Names>
consteval auto argument_names(const Names&... all) {
  return std::array<std::string_view, sizeof...(Names)>{all...};
}
/// Returns the rows of two tables, as one table.
template <class Row, std::size_t first_count, std::size_t second_count>
consteval auto joined(const std::array<Row, first_count>& first, const std::array<Row, second_count>& second) {
  return [&]<std::size_t... i, std::size_t... j>(std::index_sequence<i...>, std::index_sequence<j...>) {
    return std::array<Row, first_count + second_count>{first[i]..., second[j]...};
  }
  (std::make_index_sequence<first_count>(), std::make_index_sequence<second_count>());
}

/// One row of a tool's table of arguments. This program reads, writes and compares the argument. If a field has several
/// rows, the first row with a word for the value is written. If an argument has several rows, each row sets another field.
struct ArgumentRow {
  std::string_view key;
  RunField field;
  std::string_view alone{};               ///< meaning of the argument without a value
  std::span<const ArgumentWord> words{};  ///< the words that the argument takes; empty: it takes a whole number or a name
  std::string_view only_with{};           ///< the distributed_type to which the row applies; empty: all
  bool is_only_read = false;              ///< whether this program reads the argument, but never writes it
  bool is_weak = false;                   ///< whether every other argument that sets the field takes precedence
  bool is_list = false;                   ///< whether the argument takes several words, some of which are in this row
};
[[nodiscard]] constexpr ArgumentRow only_read(ArgumentRow row) {
  row.is_only_read = true;
  return row;
}
[[nodiscard]] constexpr ArgumentRow weak(ArgumentRow row) {
  row.is_weak = true;
  return row;
}
[[nodiscard]] constexpr ArgumentRow listed(ArgumentRow row) {
  row.is_list = true;
  return only_read(row);
}

/// Returns a table with one name in each row. In `arguments`, a key may have several names of one argument, separated by
/// `|`: the first is written, and all are read.
template <const auto& arguments>
consteval auto one_name_each() {
  constexpr auto last = [](std::string_view names) { return names.find('|') == std::string_view::npos; };
  constexpr auto rest = [](std::string_view names) { return names.substr(names.find('|') + 1); };
  constexpr std::size_t count = [=] {
    std::size_t all = arguments.size();
    for (const ArgumentRow& row : arguments) {
      for (std::string_view names = row.key; !last(names); names = rest(names)) ++all;
    }
    return all;
  }();
  const auto row_at = [=](std::size_t place) {
    ArgumentRow row = arguments.front();
    for (const ArgumentRow& each : arguments) {
      for (std::string_view names = each.key;; names = rest(names)) {
        if (place-- == 0) {
          row = names.data() == each.key.data() ? each : only_read(each);
          row.key = names.substr(0, names.find('|'));
          return row;
        }
        if (last(names)) break;
      }
    }
    return row;
  };
  return [&]<std::size_t... i>(std::index_sequence<i...>) { return std::array<ArgumentRow, count>{row_at(i)...}; }
  (std::make_index_sequence<count>());
}

/// The tool's default for a field that a configuration does not set.
struct UsualValue {
  RunField field;
  std::string_view value;
  std::string_view only_with{};  ///< the distributed_type to which the default applies; empty: all
};

/// A field that a tool's configuration cannot set, so the tool's default applies, and the reason for this.
struct MissingValue {
  RunField field;
  std::string_view reason;
};

/// An argument of a tool, for a feature that this program does not predict.
struct RefusedArgument {
  std::string_view key;         ///< name of the argument; may end in `*`
  std::string_view reason;      ///< the message is the argument, then the reason: `--mtp-num-layers 1: …`
  std::string_view hint;        ///< what the user can do instead
  bool is_of_model = false;     ///< whether the argument is allowed if --model names the trained model
  std::string_view values{};    ///< the refused values, separated by spaces; empty: all except neutral values such as `no`
  std::string_view allowed{};   ///< further values that are not refused, separated by spaces
  std::string_view families{};  ///< families of models that --model may name, separated by spaces; empty: all
  std::string_view without{};   ///< the argument is only refused without these other arguments, separated by spaces
  std::string_view unless{};    ///< the argument is allowed with one of these options of this program, separated by spaces
};

/// A program that trains another model than its arguments describe, or trains nothing.
struct OtherProgram {
  std::string_view name;  ///< name of the program's file or module; may begin and end with `*`
  std::string_view reason, hint;
  bool is_of_model = false;     ///< whether the program is allowed if --model names the trained model
  std::string_view family{};    ///< the family that has the sizes in the program's arguments; if set, the program is read
  std::string_view families{};  ///< families of models that --model may name, separated by spaces; empty: all
};
[[nodiscard]] const OtherProgram* other_program(std::string_view program);

/// A tool with configurations that this program does not read. `marks` and `programs` identify the tool.
struct ForeignTool {
  std::string_view name;
  std::span<const std::string_view> marks;     ///< keys that only files of this tool have, as in ConfigurationFormat
  std::span<const std::string_view> programs;  ///< programs that start this tool
  std::string_view hint;                       ///< what the user can do instead
};
[[nodiscard]] std::span<const ForeignTool> foreign_tools();

enum class ConfigurationLanguage { script, json, yaml, toml };

/// A format of configurations. A new format needs a file with its tables, and a line in `configuration_formats`.
struct ConfigurationFormat {
  std::string_view name;
  std::string_view software;  ///< the software file with the settings to use
  ConfigurationLanguage language;
  std::span<const ArgumentRow> rows;  ///< in the order in which arguments are written
  std::span<const UsualValue> usual;
  /// Arguments that change time or memory, but are not modeled.
  std::span<const std::string_view> not_modeled;
  std::span<const MissingValue> missing{};
  /// `marks`: keys that only configurations of this tool have; may end in `*`. `a+b` stands for keys that only they have
  /// together. `programs`: words of command lines that start the tool.
  std::span<const std::string_view> marks{}, programs{};
  /// Arguments that change neither time nor memory; names may end in `*`. Arguments that are in no table are reported as not
  /// modeled.
  std::span<const std::string_view> harmless{};
  std::span<const RefusedArgument> refused{};
  /// A second language of the tool's configurations, with the same keys.
  std::optional<ConfigurationLanguage> also{};
  std::string_view note{};  ///< a warning about parts of a training run that are not predicted
  /// Whether the tool loads frozen weights in half precision, unless it quantizes them.
  bool loads_half = false;
  /// Whether programs of Hugging Face's Trainer have the arguments of this format.
  bool is_trainer = false;
  /// Whether sizes in a configuration change the model that it names.
  bool resizes_named = false;
  /// Whether -1 on any axis means all devices that the other axes leave. Shards have -1 by default.
  bool any_axis_takes_rest = false;
  /// The end of the path of the file with the tool's defaults, which users name in their commands. Set for tools with
  /// default sizes of the model.
  std::string_view defaults_file{};
  /// Returns the common name of a model that the tool calls `name`, in the size `flavor`. Returns an empty text if the tool
  /// uses the common name.
  std::string (*model_named)(std::string_view name, std::string_view flavor) = nullptr;
};
/// Returns whether Megatron Core runs the trainings of a format. It refuses some plans, and places experts in its own way.
[[nodiscard]] bool runs_megatron_core(const ConfigurationFormat& format);
/// Returns whether Ray starts the ranks of a format's trainings. Launchers such as srun then start the driver alone.
[[nodiscard]] bool starts_ray(const ConfigurationFormat* format);
/// Returns whether `name` matches `pattern`, which may begin and end with `*`. Dashes and underscores count as equal.
[[nodiscard]] bool is_named(std::string_view pattern, std::string_view name);

// Each format is defined in the file of its tool.
extern const ConfigurationFormat trl_arguments;
extern const ConfigurationFormat megatron_arguments, nemo_yaml, torchtitan_toml, deepspeed_json, accelerate_yaml,
    transformers_arguments, llama_factory_arguments, axolotl_yaml, gpt_neox_yaml, olmo_yaml, llm_foundry_yaml, nanotron_yaml,
    swift_arguments, swift_megatron_arguments, verl_overrides, nemo_rl_yaml, slime_arguments, torchtune_yaml, litgpt_yaml,
    automodel_yaml, maxtext_overrides, levanter_yaml, picotron_json, oumi_yaml, llama_factory_v1_yaml, verl_sft_overrides,
    prime_rl_toml, openrlhf_arguments, openrlhf_sft_arguments, easy_r1_yaml, skyrl_overrides, skyrl_sft_overrides,
    llm_recipes_arguments, arctic_training_yaml, peft_json;
/// All formats. If the marks of format A also occur in files of format B, A comes after B.
[[nodiscard]] std::span<const ConfigurationFormat* const> configuration_formats();
/// The tokenizer of Megatron-LM that adds one token to the given vocabulary [megatron/training/tokenizer/tokenizer.py,
/// `_NullTokenizer`].
inline constexpr std::string_view null_tokenizer = "NullTokenizer";
/// The arguments by which batch systems and launchers, such as Slurm and torchrun, set the number of devices.
[[nodiscard]] std::span<const ArgumentRow> launcher_rows();

/// Returns the tool's default of a field; empty if the default is unknown.
[[nodiscard]] std::string usual_value(const ConfigurationFormat& format, RunField field, const RunValues& values);
/// Returns the word with which a row expresses the field's value. The word is empty for an argument
/// without a value. Unset if the row has no word for the value.
[[nodiscard]] std::optional<std::string> said_by(const ConfigurationFormat& format, const ArgumentRow& row,
                                                 const RunValues& values);

/// Two fields of some tools: `by` expresses a part of the value of `of`.
struct StandIn {
  RunField of, by;
  bool is_added = false;  ///< whether `by` is written even if `of` is written
};
[[nodiscard]] std::span<const StandIn> stand_ins();
[[nodiscard]] bool is_stand_in(RunField field);
/// Returns the name of a field in messages, such as `zero` or `tensor`; empty if a plan does not determine the field.
[[nodiscard]] std::string name_of(RunField field);

}  // namespace ddl
