#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/tools/config_field.hpp"

namespace ddl {

/// A word of a tool, and its meaning. If several words have the same meaning, the first is written. If one word has several
/// meanings, the first is read.
struct ArgumentWord {
  std::string_view word, meaning;
  bool is_only_read = false;
};
/// `full=3`, or `full>3` for a word that is only read.
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
  std::span<const ArgumentWord> words{};  ///< the words that it takes; none: a whole number or a name
  std::string_view only_with{};           ///< the distributed_type with which it counts; empty: all
  bool is_only_read = false;              ///< files that start a plan do not have it
  bool is_weak = false;                   ///< any other argument of the field takes precedence
  bool is_list = false;                   ///< it takes several words, and this row knows some of them
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

/// The default of a tool, if its configuration does not set the field.
struct UsualValue {
  RunField field;
  std::string_view value;
};

/// Why the files of a tool cannot have another value than the usual one, in the words of that tool.
struct MissingValue {
  RunField field;
  std::string_view reason;
};

/// An argument that asks for what no prediction of this program has.
struct RefusedArgument {
  std::string_view key;       ///< may end in `*`
  std::string_view reason;    ///< the argument's value goes before it: `--mtp-num-layers 1: …`
  std::string_view hint;      ///< the way out
  bool is_of_model = false;   ///< it does not count if --model names what is trained
  std::string_view values{};  ///< the values with which it counts, separated by blanks; empty: all that ask for something
};

/// A program that does not train what its arguments would be read as.
struct OtherProgram {
  std::string_view name;  ///< of its file or module; may begin and end in `*`
  std::string_view reason, hint;
  bool is_of_model = false;  ///< as in RefusedArgument
};
[[nodiscard]] const OtherProgram* other_program(std::string_view program);

/// The configurations of a tool that are not read, and what marks them.
struct ForeignTool {
  std::string_view name;
  std::span<const std::string_view> marks;     ///< keys that only its files have; may end in `*`
  std::span<const std::string_view> programs;  ///< words of command lines that start it
  std::string_view hint;                       ///< the way out
};
[[nodiscard]] std::span<const ForeignTool> foreign_tools();

/// The languages of configurations.
enum class ConfigurationLanguage { script, json, yaml, toml };

/// A format of configurations. A new format needs a file with its tables, and a line in `configuration_formats`.
struct ConfigurationFormat {
  std::string_view name;
  std::string_view software;  ///< its name in the table of software
  ConfigurationLanguage language;
  std::span<const ArgumentRow> rows;  ///< in the order of writing
  std::span<const UsualValue> usual;
  /// Arguments that change time or memory, but are not modelled.
  std::span<const std::string_view> not_modelled;
  std::span<const MissingValue> missing{};
  /// Keys that only files of this tool have, and words of command lines that start it. A key may end in `*`.
  std::span<const std::string_view> marks{}, programs{};
  /// Arguments that change neither time nor memory; may end in `*`. What no table has is listed as not modelled.
  std::span<const std::string_view> harmless{};
  std::span<const RefusedArgument> refused{};
  /// Another language that its configurations are written in, with the same keys.
  std::optional<ConfigurationLanguage> also{};
  std::string_view note{};  ///< what of a run the answer is not about
};
/// Whether a name is that of a table, whose names may end in `*`. Dashes and underscores are one.
[[nodiscard]] bool is_named(std::string_view pattern, std::string_view name);

// Each is defined in the file of its tool.
extern const ConfigurationFormat megatron_arguments, nemo_yaml, torchtitan_toml, deepspeed_json, accelerate_yaml,
    transformers_arguments, llama_factory_arguments, axolotl_yaml, gpt_neox_yaml, olmo_yaml, llm_foundry_yaml, nanotron_yaml,
    swift_arguments, swift_megatron_arguments, verl_overrides, nemo_rl_yaml, slime_arguments;
/// Those whose marks others have as well stand behind these.
[[nodiscard]] std::span<const ConfigurationFormat* const> configuration_formats();
/// The bundled model for a name and a flavor of torchtitan, if its name differs here; empty for all others.
[[nodiscard]] std::string_view torchtitan_model(std::string_view name, std::string_view flavor);
/// The tokenizer of Megatron-LM that adds one token to the given vocabulary [megatron/training/tokenizer/tokenizer.py,
/// `_NullTokenizer`].
inline constexpr std::string_view null_tokenizer = "NullTokenizer";
/// The arguments of Slurm, torchrun and other launchers that concern devices.
[[nodiscard]] std::span<const ArgumentRow> launcher_rows();

/// The tool's default of a field; empty if it is unknown.
[[nodiscard]] std::string usual_value(const ConfigurationFormat& format, RunField field, const RunValues& values);
/// Returns the word with which a row expresses the field's value in a run. The word is empty for an argument without a
/// value. Unset if the row has no word for the value.
[[nodiscard]] std::optional<std::string> said_by(const ConfigurationFormat& format, const ArgumentRow& row,
                                                 const RunValues& values);

/// A field that gives a part of another field's value, in terms that only some tools use.
struct StandIn {
  RunField of, by;
  bool is_added = false;  ///< it is written even if the other field is written
};
[[nodiscard]] std::span<const StandIn> stand_ins();
[[nodiscard]] bool is_stand_in(RunField field);
/// The usual name of a field that a plan determines: `zero`, `tensor`; empty for all others.
[[nodiscard]] std::string name_of(RunField field);

}  // namespace ddl
