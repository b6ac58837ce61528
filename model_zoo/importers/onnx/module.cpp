// Exports the importer as a loadable module. Loading the ONNX library takes longer than most
// commands, so the program loads this module only for an import.

#include <exception>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/import_module.hpp"
#include "model_zoo/importers/onnx/import_onnx.hpp"

namespace ddl {
namespace {

Import run(FileStream& file, const std::string& origin, const ImportOptions& options) {
  try {
    return import_onnx(file, origin, options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    throw Error(origin + ": the import failed: " + quote(problem.what()));
  }
}

}  // namespace
}  // namespace ddl

extern "C" __attribute__((visibility("default"))) const ddl::ImportModule ddl_import_module{.run = ddl::run};
