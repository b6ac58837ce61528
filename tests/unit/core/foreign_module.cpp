// A module of another build, which module_loader_test loads.

#include "core/module_build.hpp"
#include "tests/unit/core/thrower_module.hpp"

extern "C" __attribute__((visibility("default"))) const char* ddl_module_build() { return "0.0.1 another"; }
extern "C" __attribute__((visibility("default"))) const ddl::ThrowerModule ddl_thrower{.run = nullptr};
