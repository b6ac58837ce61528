#pragma once

#include <string>

namespace ddl {

[[nodiscard]] bool is_markdown(const std::string& path);

/// Returns the commands in the blocks of code of a page as the text of a script, in which every line stays in its place. If
/// one block alone starts a program with arguments, returns this block and the blocks before it that only set variables.
/// Throws Error if several blocks do, because each may be another training.
[[nodiscard]] std::string script_of_page(const std::string& text, const std::string& path);

}  // namespace ddl
