#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/tools/configuration_format.hpp"

namespace ddl {

/// Whether a value, such as `auto` or `null`, means that the argument is not set.
[[nodiscard]] bool says_nothing(std::string_view value);
/// Whether an argument with this value, such as `false` or `0`, changes neither time nor memory.
[[nodiscard]] bool is_neutral(std::string_view value);
/// Whether a count of resources, such as `gpu:8` or `8`, counts GPUs: `nvme:1` does not.
[[nodiscard]] bool names_gpus(std::string_view value);
/// Returns whether the prediction assumes this value of an argument that is in no table: a neutral value, or adapters on all
/// matrices. `key`: from argument_key.
[[nodiscard]] bool is_as_modeled(std::string_view key, std::string_view value);
/// Whether one of the patterns in `words`, which spaces separate, matches the value.
[[nodiscard]] bool is_word_of(std::string_view words, std::string_view value);
/// As is_word_of. If the argument of `row` takes a list, whether one of the patterns matches an item of the value.
[[nodiscard]] bool has_word_of(std::string_view words, const ArgumentRow* row, const std::string& value);
/// Whether an argument gives the length of sequences, in a name that programs of several tools share: `--max_seq_length`.
[[nodiscard]] bool gives_length(const std::string& key);
/// Whether the field of `row` keeps the value `before` of another argument, and ignores the value of `setting`.
[[nodiscard]] bool keeps_value(const ArgumentRow& row, const Fact& before, const Fact& fact, const ConfigEntry& setting);
/// Returns the refusal of an argument that a table refuses.
[[nodiscard]] Refusal refusal_of(const RefusedArgument& refused, const ConfigEntry& setting);
/// Converts a setting's value to the words of this program, for the field of `row`. Unset if this
/// value leaves the field unset.
[[nodiscard]] std::optional<Fact> meaning_of(const ArgumentRow& row, const ConfigEntry& setting);

}  // namespace ddl
