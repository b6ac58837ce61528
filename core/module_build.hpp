#pragma once

/// The version and commit that a module was built from. Every module has its own copy (core/module_build.cpp).
extern "C" const char* ddl_module_build();

namespace ddl {

inline constexpr const char* module_build_symbol = "ddl_module_build";

}  // namespace ddl
