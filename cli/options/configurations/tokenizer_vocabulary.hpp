#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/configurations/configuration.hpp"

namespace ddl {

/// Number of tokens in GPT-2's vocabulary [Radford et al. 2019], which Megatron-LM's GPT2BPETokenizer uses.
inline constexpr std::int64_t gpt2_vocabulary = 50'257;

/// Returns the known value of a field that names something; empty if the file has no such name, or only an unknown variable.
[[nodiscard]] std::string known_value(const Configuration& read, ConfigField field);
/// Returns the number of tokens in the vocabulary of the configuration's tokenizer; unset if the tokenizer is unknown.
[[nodiscard]] std::optional<std::int64_t> tokenizer_vocabulary(const Configuration& read);

}  // namespace ddl
