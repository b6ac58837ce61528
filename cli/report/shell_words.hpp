#pragma once

#include <span>
#include <string>

namespace ddl {

/// Returns a command line that a POSIX shell splits into `words` again. Words with special
/// characters are in single quotes. Characters that cannot be shown on one line of a terminal are
/// written in octal, $'\033', which Bash and POSIX 2024 support.
[[nodiscard]] std::string shell_words(std::span<const std::string> words);

}  // namespace ddl
