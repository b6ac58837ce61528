#include "core/input_files.hpp"

#include <ctime>
#include <mutex>
#include <set>
#include <tuple>

namespace ddl {
namespace {

/// Identifies a file. The inode of a deleted file may be reused, so an identity includes the time of the last change.
using Identity = std::tuple<dev_t, ino_t, std::time_t, decltype(timespec::tv_nsec)>;

Identity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

/// The input files, shared by all threads.
struct InputFiles {
  std::mutex mutex;
  std::set<Identity> files;
};
InputFiles& input_files() {
  static InputFiles files;
  return files;
}

}  // namespace

void note_input_file(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return;
  const std::lock_guard lock(input_files().mutex);
  input_files().files.insert(identity_of(status));
}

bool is_input_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  const std::lock_guard lock(input_files().mutex);
  return input_files().files.contains(identity_of(status));
}

}  // namespace ddl
