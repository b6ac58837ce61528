#include "model_zoo/importers/module_loader.hpp"

#include <filesystem>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

/// Where modules are, seen from the folder of the program: in a build tree, and installed.
constexpr std::string_view module_folders[] = {"modules", DDL_MODULE_FOLDER_FROM_PROGRAM};

fs::path find_module(const std::string& name) {
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  for (const std::string_view folder : module_folders) {
    fs::path path = program.parent_path() / folder / (name + ".so");
    if (!problem && fs::exists(path, problem)) return path.lexically_normal();
    problem.clear();
  }
  return {};
}

}  // namespace

const ImportModule& load_import_module(const std::string& name, const std::string& packages) {
  const fs::path path = find_module(name);
  if (path.empty()) {
    throw Error(fmt::format("this build of ddl-oracle has no module {}", quote(name)),
                fmt::format("install {}, and build again", packages));
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(fmt::format("cannot load {}: {}", quote(path.string()), dlerror()),
                fmt::format("install {}, and build again", packages));
  }
  const auto* const module = static_cast<const ImportModule*>(dlsym(library, "ddl_import_module"));
  if (module == nullptr || module->version != import_module_version) {
    throw Error(fmt::format("{} is of another version of ddl-oracle", quote(path.string())), "install both from one build");
  }
  return *module;
}

}  // namespace ddl
