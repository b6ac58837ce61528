#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

/// Returns the standard output of a program. `words`: its name, which is looked up in the folders of `search_path` (as in
/// PATH), and its arguments; no shell is involved. Empty if there is no such program, if it fails or prints too much, or if
/// it takes longer than `limit` and is killed.
[[nodiscard]] std::optional<std::string> program_output(const std::vector<std::string>& words,
                                                        const std::string& search_path, std::chrono::milliseconds limit);

}  // namespace ddl
