#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

/// Returns the standard output of a program, which runs without a shell. `words`: the program's name, then its arguments.
/// The name is looked up in the folders of `search_path`, which has the form of PATH. Returns empty if the program does not
/// exist, fails, prints too much, or takes longer than `limit`. After `limit`, the program is killed.
[[nodiscard]] std::optional<std::string> program_output(const std::vector<std::string>& words,
                                                        const std::string& search_path, std::chrono::milliseconds limit);

}  // namespace ddl
