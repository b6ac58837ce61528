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
  std::string_view alone{};               ///< the meaning if the argument has no value
  std::span<const ArgumentWord> words{};  ///< the words that are possible; none: a whole number or a name
  std::string_view only_with{};           ///< the distributed_type for which the argument has an effect; empty: all
  bool is_only_read = false;              ///< not written into files that start a plan
};
[[nodiscard]] constexpr ArgumentRow only_read(ArgumentRow row) {
  row.is_only_read = true;
  return row;
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
};

// Each is defined in the file of its tool.
extern const ConfigurationFormat megatron_arguments, nemo_yaml, torchtitan_toml, deepspeed_json, accelerate_yaml,
    transformers_arguments;
[[nodiscard]] std::span<const ConfigurationFormat* const> configuration_formats();
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
