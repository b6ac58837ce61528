#include "model_zoo/importers/module_loader.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

/// Where modules are, for this program: beside it as it was built or installed. Nothing where it cannot be told where it is:
/// a module that lies in the folder that somebody happens to be in is never loaded.
std::vector<fs::path> module_folders() {
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  if (problem || !program.is_absolute()) return {};
  std::vector<fs::path> folders{(program.parent_path() / DDL_MODULE_FOLDER_FROM_PROGRAM).lexically_normal()};
  const bool in_build_tree = fs::equivalent(program.parent_path(), DDL_BUILD_FOLDER, problem);
  if (!problem && in_build_tree) folders.insert(folders.begin(), DDL_MODULE_BUILD_FOLDER);
  return folders;
}

}  // namespace

const ImportModule& load_import_module(const std::string& name, const std::string& packages) {
  fs::path path;
  std::string places;
  for (const fs::path& folder : module_folders()) {
    std::error_code problem;
    const fs::path here = folder / (name + ".so");
    if (path.empty() && fs::exists(here, problem)) path = here;
    places += fmt::format("{}{}", places.empty() ? "" : ", ", quote(folder.string()));
  }
  if (path.empty()) {
    throw Error(fmt::format("this ddl-oracle has no module {} in {}", quote(name),
                            places.empty() ? "the folder of its modules: it cannot be told where the program is" : places),
                fmt::format("install {}, build again, and copy the program with its modules: cmake --install", packages));
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
