#pragma once

namespace ddl {

struct ThrowerModule {
  void (*run)();
};

}  // namespace ddl
