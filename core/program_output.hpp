#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

/// What a program prints to its standard output. `words` are its name, which is looked for in the folders of `search_path`
/// (as in PATH), and its arguments; no shell sees them. Nothing where there is no such program, where it fails, prints too
/// much, or takes longer than `limit`, after which it is ended.
[[nodiscard]] std::optional<std::string> program_output(const std::vector<std::string>& words,
                                                        const std::string& search_path, std::chrono::milliseconds limit);

}  // namespace ddl
