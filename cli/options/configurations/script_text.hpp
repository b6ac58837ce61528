#pragma once

#include <string>

namespace ddl {

/// Returns the text of a file as a script: of a cluster's job and of a page in Markdown, the commands; of a makefile, the
/// recipes. Every line stays in its place. Other texts stay as they are.
[[nodiscard]] std::string script_of(const std::string& text, const std::string& path);

}  // namespace ddl
