#include "core/input_files.hpp"

#include <set>
#include <utility>

namespace ddl {
namespace {

std::set<std::pair<dev_t, ino_t>>& input_files() {
  static std::set<std::pair<dev_t, ino_t>> files;
  return files;
}

}  // namespace

void note_input_file(const struct stat& status) {
  if (S_ISREG(status.st_mode)) input_files().emplace(status.st_dev, status.st_ino);
}

bool is_input_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && input_files().contains({status.st_dev, status.st_ino});
}

}  // namespace ddl
