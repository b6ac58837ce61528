#include "core/module_build.hpp"

#include <string>

#include "core/version.hpp"

extern "C" __attribute__((visibility("default"))) const char* ddl_module_build() {
  static const std::string text = std::string(ddl::version()) + " " + std::string(ddl::commit());
  return text.c_str();
}
