#include "core/write_folder.hpp"

#include <cerrno>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/write_file.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write_folder(const std::string& path, int reason) {
  throw Error(fmt::format("cannot write the folder {}: {}", quote_path(path), std::generic_category().message(reason)),
              reason == ENOENT ? "create its parent folder first" : "");
}

/// A new folder with a unique name. The destructor removes the folder and all its files, unless keep() was called.
class TemporaryFolder {
 public:
  TemporaryFolder(const fs::path& parent, const std::string& shown) {
    constexpr int tries = 100;
    std::random_device random;
    for (int i = 0;; ++i) {
      path_ = parent / fmt::format(".ddl-oracle-{:08x}{:08x}.tmp", random(), random());
      if (::mkdir(path_.c_str(), 0777) == 0) return;
      if (errno != EEXIST || i == tries) fail_to_write_folder(shown, errno);
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

}  // namespace

void write_folder(const std::string& path, std::span<const FolderFile> files) {
  fs::path target = link_target(path);
  if (target.has_relative_path() && !target.has_filename()) target = target.parent_path();  // for example `saved/`
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  TemporaryFolder temporary(parent, path);
  for (const FolderFile& file : files) {
    const fs::path name = temporary.path() / file.name;
    std::error_code problem;
    fs::create_directories(name.parent_path(), problem);
    if (problem) fail_to_write_folder(path, problem.value());
    try {
      static_cast<void>(write_file(name.string(), file.content));
    } catch (const Error& error) {
      // The message contains the name of the temporary folder, which the user does not know.
      std::string message = error.what();
      const std::string unknown = temporary.path().string();
      if (const std::size_t at = message.find(unknown); at != std::string::npos) {
        message.replace(at, unknown.size(), target.string());
      }
      throw Error(message, error.hint());
    }
    const auto execute = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    if (file.is_program) fs::permissions(name, execute, fs::perm_options::add, problem);
    if (problem) fail_to_write_folder(path, problem.value());
  }
  // This call succeeds if the target does not exist, or is an empty folder.
  if (::rename(temporary.path().c_str(), target.c_str()) == 0) return temporary.keep();
  if (errno != ENOTEMPTY && errno != EEXIST) fail_to_write_folder(path, errno);
  // The two folders exchange their names. The destructor of `temporary` then removes the previous folder.
  if (::renameat2(AT_FDCWD, temporary.path().c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail_to_write_folder(path, errno);
  // This file system cannot exchange two names atomically.
  const TemporaryFolder old(parent, path);
  if (::rename(target.c_str(), old.path().c_str()) != 0) fail_to_write_folder(path, errno);
  if (::rename(temporary.path().c_str(), target.c_str()) == 0) return temporary.keep();
  const int reason = errno;
  if (::rename(old.path().c_str(), target.c_str()) == 0) fail_to_write_folder(path, reason);
  fail_to_write_folder(path, errno);
}

}  // namespace ddl
