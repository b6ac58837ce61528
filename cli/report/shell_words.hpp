#pragma once

#include <span>
#include <string>

namespace ddl {

/// A command line that a POSIX shell splits into these words again: those with special characters stand in single quotes.
/// What cannot be shown on one line of a terminal is written in octal, $'\033', which Bash and POSIX 2024 read.
[[nodiscard]] std::string shell_words(std::span<const std::string> words);

}  // namespace ddl
