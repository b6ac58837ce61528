#pragma once

/// What a module says it was built from: version and commit. Every module has one of its own (core/module_build.cpp).
extern "C" const char* ddl_module_build();

namespace ddl {

inline constexpr const char* module_build_symbol = "ddl_module_build";

}  // namespace ddl
