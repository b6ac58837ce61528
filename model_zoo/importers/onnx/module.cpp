// The importer as a loadable module: the ONNX library takes longer to start than most commands take in all, so the program
// loads it only for an import.

#include "model_zoo/importers/module.hpp"

#include <exception>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/import_onnx.hpp"

namespace ddl {
namespace {

// An exception's type is not the same on both sides of a module: what went wrong goes out as a value.
ImportOutcome run(std::string_view bytes, const std::string& origin, const ImportOptions& options) {
  try {
    return {.import = import_onnx(bytes, origin, options)};
  } catch (const Error& error) {
    return {.problem = error.what(), .hint = error.hint(), .failed = true};
  } catch (const std::exception& problem) {
    return {.problem = origin + ": the import failed: " + quote(problem.what()), .failed = true};
  }
}

}  // namespace
}  // namespace ddl

extern "C" __attribute__((visibility("default")))
const ddl::ImportModule ddl_import_module{.version = ddl::import_module_version, .run = ddl::run};
