#include "core/write_file.hpp"

#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/file_descriptor.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

[[noreturn]] void fail_to_write(const std::string& path, int reason) {
  // System folders such as /proc exist but accept no files.
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const bool has_folder = std::filesystem::is_directory(folder.empty() ? "." : folder, unknown);
  throw Error(fmt::format("cannot write {}: {}", quote_path(path), std::generic_category().message(reason)),
              reason == EISDIR         ? "add the name of a file to the name of the folder"
              : reason == EACCES       ? "write to a folder of your own"
              : reason == ENOSPC       ? "free space, or write to another disk"
              : reason == ENAMETOOLONG ? "use a shorter name"
              : reason == ENOTDIR      ? "a part of the path is a file: use another folder"
              : reason != ENOENT       ? ""
              : has_folder             ? "the folder is not writable: use another folder"
                                       : "create the folder first");
}

/// Returns 0, or the reason (errno) why not everything was written.
int write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Returns 0, or the reason why the file may not be on the disk. A file system that cannot sync counts as success.
int sync(int file) { return ::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS ? 0 : errno; }

/// Returns an unused name in the same folder, because renaming is atomic only within one file system. The name is random,
/// because a process id is not unique: the program is process 1 in every container.
std::string temporary_name(const std::filesystem::path& target) {
  std::random_device random;
  return (target.parent_path() / fmt::format(".ddl-oracle-{:08x}{:08x}.tmp", random(), random())).string();
}

/// A new, open file in the folder of `target`. The file has no name if the file system supports unnamed files, because
/// unnamed files leave nothing behind if the process crashes. `reason`: why the file could not be created.
struct Temporary {
  std::string name{};
  int file = -1;
  int reason = 0;
};
constexpr int tries_of_names = 100;

/// Returns the path by which an open, unnamed file can be given a name.
std::string name_of_open_file(int file) { return fmt::format("/proc/self/fd/{}", file); }

std::string folder_of(const std::string& target) {
  const std::string folder = std::filesystem::path(target).parent_path().string();
  return folder.empty() ? "." : folder;
}

Temporary open_without_name(const std::string& target) {
  Temporary result;
  result.file = ::open(folder_of(target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  result.reason = result.file >= 0 ? 0 : errno;
  return result;
}

Temporary open_with_name(const std::string& target) {
  Temporary result;
  for (int i = 0; i < tries_of_names; ++i) {
    result.name = temporary_name(target);
    result.file = ::open(result.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (result.file >= 0) return result;
    result.reason = errno;
    if (result.reason != EEXIST) break;
  }
  return result;
}

/// Names the open file: `target` if no file has this name yet, otherwise another name in the same
/// folder. Returns 0, or the reason (errno) for a failure.
int give_name(Temporary& temporary, const std::string& target, bool exists) {
  const std::string open = name_of_open_file(temporary.file);
  for (int i = 0; i < tries_of_names; ++i) {
    temporary.name = i == 0 && !exists ? target : temporary_name(target);
    if (::linkat(AT_FDCWD, open.c_str(), AT_FDCWD, temporary.name.c_str(), AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != EEXIST) break;
  }
  temporary.name.clear();
  return errno;
}

/// Overwrites an existing file in place. If not everything could be written, the previous content is restored.
int write_in_place(const std::string& target, std::string_view content) {
  const FileDescriptor file(::open(target.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return errno;
  const std::string before = read_file(target, std::string::npos);
  const auto put = [&](std::string_view text) {
    if (::lseek(file.number(), 0, SEEK_SET) != 0) return errno;
    if (const int reason = write_all(file.number(), text)) return reason;
    return ::ftruncate(file.number(), static_cast<off_t>(text.size())) == 0 ? sync(file.number()) : errno;
  };
  const int reason = put(content);
  if (reason != 0) put(before);
  return reason;
}

/// Opens a special file; −1 with errno on failure. Throws Error for a pipe without a reader after the timeout.
int open_special(const std::string& path) {
  // A blocking open of a pipe would wait for a reader.
  constexpr int step_us = 20'000;
  for (int patience_us = 2'000'000;; patience_us -= step_us) {  // a shell may start the reader late
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0) {
      const int flags = ::fcntl(file, F_GETFL);
      if (flags >= 0) ::fcntl(file, F_SETFL, flags & ~O_NONBLOCK);
      return file;
    }
    if (errno != ENXIO) return -1;
    if (patience_us <= 0) throw Error(fmt::format("cannot write {}: no process reads from this pipe", quote_path(path)));
    ::usleep(step_us);
  }
}

/// Whether writing in place may succeed after replacing has failed for this reason.
bool only_in_place(int reason) {
  return reason == EBUSY || reason == EACCES || reason == EPERM || reason == EROFS || reason == EXDEV;
}

/// Replaces `target` by the new file, and returns 0. After a failure, removes the new file, and returns the reason.
int replace_by(Temporary temporary, const std::string& target, std::string_view content,
               const std::optional<struct stat>& existing, const std::function<void(int)>& made) {
  if (temporary.file < 0) return temporary.reason;
  const FileDescriptor file(temporary.file);
  int reason = write_all(file.number(), content);
  struct stat is {};
  if (reason == 0 && existing && ::fstat(file.number(), &is) != 0) reason = errno;
  // The owner is changed before the permissions, because changing the owner clears some permissions.
  if (reason == 0 && existing && (is.st_uid != existing->st_uid || is.st_gid != existing->st_gid) &&
      ::fchown(file.number(), existing->st_uid, existing->st_gid) != 0) {
    reason = errno;
  }
  if (reason == 0 && existing && ::fchmod(file.number(), existing->st_mode & 07777U) != 0) reason = errno;
  // Without sync(), a power failure could leave the new name without content.
  if (reason == 0) reason = sync(file.number());
  if (reason == 0 && made) made(file.number());
  if (reason == 0 && temporary.name.empty()) reason = give_name(temporary, target, existing.has_value());
  if (reason == 0 && temporary.name != target && ::rename(temporary.name.c_str(), target.c_str()) != 0) reason = errno;
  if (reason != 0) {
    if (!temporary.name.empty()) ::unlink(temporary.name.c_str());
    return reason;
  }
  // The folder contains the name, so the folder is synced, too. If this fails, the file still counts as written.
  const FileDescriptor opened(::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) sync(opened.number());
  return 0;
}

/// Returns 0, or the reason why `target` was not replaced.
int replace(const std::string& target, std::string_view content, const std::optional<struct stat>& existing,
            const std::function<void(int)>& made) {
  const int reason = replace_by(open_without_name(target), target, content, existing, made);
  const bool is_full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG || reason == EIO;
  // Some file systems do not support unnamed files, or cannot name an unnamed file later.
  return reason == 0 || is_full ? reason : replace_by(open_with_name(target), target, content, existing, made);
}

}  // namespace

std::string link_target(const std::string& path) {
  constexpr int most_links_followed = 40;  // the kernel's limit
  std::filesystem::path target = path;
  for (int i = 0; i < most_links_followed; ++i) {
    std::error_code no_link;
    const std::filesystem::path next = std::filesystem::read_symlink(target, no_link);
    if (no_link) return target.string();
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  fail_to_write(path, ELOOP);
}

Written write_file(const std::string& path, std::string_view content, const std::function<void(int)>& made) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail_to_write(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    const FileDescriptor file(open_special(path));
    if (!file.is_open()) fail_to_write(path, errno);
    if (const int reason = write_all(file.number(), content)) fail_to_write(path, reason);
    return Written::in_place;
  }
  // A file without write permission is refused, even if its folder would allow replacing the file.
  if (exists && ::access(path.c_str(), W_OK) != 0) fail_to_write(path, errno);

  const std::string target = link_target(path);
  const int reason = replace(target, content, exists ? std::optional(status) : std::nullopt, made);
  if (reason == 0) return Written::replaced;
  if (!exists || !only_in_place(reason)) fail_to_write(path, reason);
  if (const int other = write_in_place(target, content)) fail_to_write(path, other);
  return Written::in_place;
}

}  // namespace ddl
