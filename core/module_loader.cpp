#include "core/module_loader.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/module_build.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

/// Returns the folders with this program's modules. Their paths are relative to the program's own path. Empty if that path
/// is unknown, because a module in the current folder must never be loaded.
std::vector<fs::path> module_folders() {
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  if (problem || !program.is_absolute()) return {};
  std::vector<fs::path> folders{(program.parent_path() / DDL_MODULE_FOLDER_FROM_PROGRAM).lexically_normal()};
  constexpr std::array<const char*, 2> built{DDL_BUILD_FOLDER, DDL_BUILD_FOLDER "/tests"};
  const bool in_build_tree = std::any_of(built.begin(), built.end(), [&](const char* folder) {
    std::error_code absent;
    return fs::equivalent(program.parent_path(), folder, absent);
  });
  if (in_build_tree) folders.insert(folders.begin(), DDL_MODULE_BUILD_FOLDER);
  return folders;
}

}  // namespace

const void* load_module(const std::string& name, const std::string& symbol, const std::string& packages) {
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
                            places.empty() ? "the folder of its modules: the location of the program is unknown" : places),
                fmt::format("install {}, build again, and copy the program with its modules: cmake --install", packages));
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const std::string why = dlerror();
    // A module that was built elsewhere may need a library that none of this machine's library folders contains.
    const bool absent =
        why.find(path.string()) == std::string::npos && why.find("cannot open shared object") != std::string::npos;
    throw Error(fmt::format("cannot load {}: {}", quote_path(path.string()), why),
                absent ? fmt::format("install {}, or name the folder of that library in LD_LIBRARY_PATH", packages)
                       : fmt::format("install {}, and build again", packages));
  }
  using Build = decltype(&ddl_module_build);
  const auto build = reinterpret_cast<Build>(dlsym(library, module_build_symbol));
  const void* const exported = dlsym(library, symbol.c_str());
  if (build == nullptr || exported == nullptr || std::string_view(build()) != ddl_module_build()) {
    throw Error(fmt::format("{} is of another version of ddl-oracle", quote_path(path.string())),
                "install both from one build");
  }
  return exported;
}

}  // namespace ddl
