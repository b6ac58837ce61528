// A module that throws, which module_loader_test loads.

#include "tests/unit/core/thrower_module.hpp"

#include "core/error.hpp"

namespace {

void throw_error() { throw ddl::Error("thrown within", "and caught outside"); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ddl::ThrowerModule ddl_thrower{.run = throw_error};
