#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/manual/command_description.hpp"
#include "core/error.hpp"

namespace ddl {

/// Returns the help about a term that people type, such as `notation`, `lora`, `batch size` or `h100`: the topic of this
/// name; else what this program has for the term (concepts, synonyms, bundled names), and the options that mention it; else
/// the topic whose page explains it. Empty if nothing is known of the term. `width`: columns of the terminal.
[[nodiscard]] std::optional<std::string> help_about(const CommandDescription& program, std::string_view term,
                                                    std::size_t width);

/// Returns the error for a term of which help_about knows nothing. The hint has the nearest command or term.
[[nodiscard]] Error unknown_term(const CommandDescription& program, const std::string& term);

}  // namespace ddl
