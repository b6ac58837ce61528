#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/tools/config_field.hpp"

namespace ddl {

/// A value in a tool's files, and its meaning in this program. If several words have the same meaning, the first word is
/// written. If one word has several meanings, the first meaning is read.
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
template <class... Names>
consteval auto argument_names(const Names&... all) {
  return std::array<std::string_view, sizeof...(Names)>{all...};
}

/// One argument of a tool, which is read, written and compared. If a field has several rows, the first row that has a word
/// for the value is written. If a key has several rows, each row gives a part of the meaning of its words.
struct ArgumentRow {
  std::string_view key;
  RunField field;
  std::string_view alone{};               ///< the meaning of the argument without a value
  std::span<const ArgumentWord> words{};  ///< the words that the argument takes; none: a whole number or a name
  std::string_view only_with{};           ///< the distributed_type for which the row applies; empty: all
  bool is_only_read = false;              ///< this program does not write the argument
  bool is_weak = false;                   ///< any other argument of the field takes precedence
  bool is_list = false;                   ///< the argument takes several words, and this row knows some of them
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

/// The value that a tool uses if its configuration does not set the field.
struct UsualValue {
  RunField field;
  std::string_view value;
};

/// The reason why the files of a tool cannot set the field to a value other than the tool's default.
struct MissingValue {
  RunField field;
  std::string_view reason;
};

/// An argument that requests something which this program does not predict.
struct RefusedArgument {
  std::string_view key;       ///< may end in `*`
  std::string_view reason;    ///< the message is the argument, then the reason: `--mtp-num-layers 1: …`
  std::string_view hint;      ///< what the user can do instead
  bool is_of_model = false;   ///< the argument is allowed if --model names the trained model
  std::string_view values{};  ///< the refused values, separated by blanks; empty: all but `no`, `none` and the like
};

/// A program that trains another model than its arguments describe, or trains nothing.
struct OtherProgram {
  std::string_view name;  ///< name of the program's file or module; may begin and end with `*`
  std::string_view reason, hint;
  bool is_of_model = false;  ///< as in RefusedArgument
};
[[nodiscard]] const OtherProgram* other_program(std::string_view program);

/// A tool whose configurations are not read, and how they are recognised.
struct ForeignTool {
  std::string_view name;
  std::span<const std::string_view> marks;     ///< keys that only files of this tool have; may end in `*`
  std::span<const std::string_view> programs;  ///< programs that start this tool
  std::string_view hint;                       ///< what the user can do instead
};
[[nodiscard]] std::span<const ForeignTool> foreign_tools();

/// The languages of configurations.
enum class ConfigurationLanguage { script, json, yaml, toml };

/// A format of configurations. A new format needs a file with its tables, and a line in `configuration_formats`.
struct ConfigurationFormat {
  std::string_view name;
  std::string_view software;  ///< the software file whose settings apply
  ConfigurationLanguage language;
  std::span<const ArgumentRow> rows;  ///< in the order in which arguments are written
  std::span<const UsualValue> usual;
  /// Arguments that change time or memory, but are not modelled.
  std::span<const std::string_view> not_modelled;
  std::span<const MissingValue> missing{};
  /// `marks`: keys that only this tool's files have; may end in `*`. `programs`: words of command lines that start the tool.
  std::span<const std::string_view> marks{}, programs{};
  /// Arguments that change neither time nor memory; may end in `*`. Arguments in no table are listed as not modeled.
  std::span<const std::string_view> harmless{};
  std::span<const RefusedArgument> refused{};
  /// A second language of the tool's configurations, with the same keys.
  std::optional<ConfigurationLanguage> also{};
  std::string_view note{};  ///< a warning about parts of a run that are not predicted
};
/// Whether `name` matches `pattern`, which may end in `*`. Dashes and underscores are equal.
[[nodiscard]] bool is_named(std::string_view pattern, std::string_view name);

// Each format is defined in the file of its tool.
extern const ConfigurationFormat megatron_arguments, nemo_yaml, torchtitan_toml, deepspeed_json, accelerate_yaml,
    transformers_arguments, llama_factory_arguments, axolotl_yaml, gpt_neox_yaml, olmo_yaml, llm_foundry_yaml, nanotron_yaml,
    swift_arguments, swift_megatron_arguments, verl_overrides, nemo_rl_yaml, slime_arguments;
/// All formats. A format whose marks also occur in files of other formats comes after those formats.
[[nodiscard]] std::span<const ConfigurationFormat* const> configuration_formats();
/// The bundled model for a name and a flavor of torchtitan, if torchtitan uses another name; empty for all other models.
[[nodiscard]] std::string_view torchtitan_model(std::string_view name, std::string_view flavor);
/// The tokenizer of Megatron-LM that adds one token to the given vocabulary [megatron/training/tokenizer/tokenizer.py,
/// `_NullTokenizer`].
inline constexpr std::string_view null_tokenizer = "NullTokenizer";
/// The arguments by which batch systems and launchers, such as Slurm and torchrun, set the number of devices.
[[nodiscard]] std::span<const ArgumentRow> launcher_rows();

/// The tool's default of a field; empty if the default is unknown.
[[nodiscard]] std::string usual_value(const ConfigurationFormat& format, RunField field, const RunValues& values);
/// Returns the word with which a row expresses the field's value in a run. The word is empty for an argument without a
/// value. Unset if the row has no word for the value.
[[nodiscard]] std::optional<std::string> said_by(const ConfigurationFormat& format, const ArgumentRow& row,
                                                 const RunValues& values);

/// The field `by` gives a part of the value of the field `of`. Only some tools have an argument for `by`.
struct StandIn {
  RunField of, by;
  bool is_added = false;  ///< `by` is written even if `of` is written
};
[[nodiscard]] std::span<const StandIn> stand_ins();
[[nodiscard]] bool is_stand_in(RunField field);
/// The name of a field in messages, such as `zero` or `tensor`; empty if a plan does not determine the field.
[[nodiscard]] std::string name_of(RunField field);

}  // namespace ddl
