#include <fmt/format.h>

#include "core/error.hpp"
#include "core/module_loader.hpp"
#include "core/source_text.hpp"

namespace ddl {

// A static program has its own C++ runtime, which a module cannot share.
const void* load_module(const std::string& name, const std::string& /*symbol*/, const std::string& packages) {
  throw Error(fmt::format("this is the static ddl-oracle, which loads no modules: {} is not part of it", quote(name)),
              fmt::format("build ddl-oracle from its sources with {}", packages));
}

}  // namespace ddl
