#pragma once

#include <string>

namespace ddl {

/// Whether a path is that of a makefile: `Makefile`, `GNUmakefile`, `train.mk`.
[[nodiscard]] bool is_makefile(const std::string& path);

/// Returns the text of a makefile as a shell reads it. Recipes lose the signs `@`, `-` and `+` of make, and variables become
/// those of a shell (`N ?= 8`, `$(N)`, `$$HOME`). Every line stays in its place.
[[nodiscard]] std::string script_of_makefile(const std::string& text);

}  // namespace ddl
