#pragma once

#include <string>

namespace ddl {

/// Whether a path is that of a makefile: `Makefile`, `GNUmakefile`, `train.mk`.
[[nodiscard]] bool is_makefile(const std::string& path);

/// Returns the text of a script, as a shell reads it. Of a cluster's job and of a page in Markdown, the script has the
/// commands. In a makefile, recipes lose the signs `@`, `-` and `+` of make, and variables become those of a shell (`N ?=
/// 8`,
/// `$(N)`, `$$HOME`). Every line stays in its place. Other texts stay as they are.
[[nodiscard]] std::string script_of(const std::string& text, const std::string& path);

}  // namespace ddl
