#include "cli/commands/profile_output.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report/report.hpp"
#include "core/data_directory.hpp"
#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"
#include "core/write_file.hpp"

namespace ddl {
namespace {

/// Converts a text to a file name of letters, digits, points and dashes, which are easy to type.
std::string file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  constexpr std::size_t longest = 80;
  return name.empty() ? "device" : name.substr(0, longest);
}

/// Locks an open file. The lock belongs to the open file, not to the process. So the lock persists
/// if this process opens and closes the file a second time. Returns 0, or the error number.
int lock_all(int file) {
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_SETLK, &all) == 0 ? 0 : errno;
}

bool is_same_file(int open, const std::string& path) {
  struct stat there {
  }, is{};
  return ::fstat(open, &is) == 0 && ::stat(path.c_str(), &there) == 0 && is.st_dev == there.st_dev &&
         is.st_ino == there.st_ino;
}

/// Names the process that has locked a file. Returns `another process` if the process is not
/// visible, for example because it runs on another machine.
std::string holder_of(int locked) {
  struct stat wanted {};
  std::error_code unknown;
  if (::fstat(locked, &wanted) != 0) return "another process";
  for (const auto& process : std::filesystem::directory_iterator("/proc", unknown)) {
    const std::string number = process.path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code not_ours;
    for (const auto& open : std::filesystem::directory_iterator(process.path() / "fd", not_ours)) {
      struct stat is {};
      if (::stat(open.path().c_str(), &is) != 0 || is.st_dev != wanted.st_dev || is.st_ino != wanted.st_ino) continue;
      std::ifstream info(process.path() / "fdinfo" / open.path().filename());
      const std::string text{std::istreambuf_iterator<char>(info), {}};
      if (text.find("OFDLCK") != std::string::npos) return "process " + number;
    }
  }
  return "another process";
}

}  // namespace

ProfileLock::ProfileLock(const std::string& profile) {
  if (is_input_file(profile))
    throw Error(fmt::format("--output {} would overwrite an input file", quote(profile)), "use another name");
  struct stat status {};
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    // A file that does not exist cannot be locked yet, and a pipe is not a profile.
    if (::stat(profile.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    file_ = ::open(profile.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) return;  // a file without write permission is not being measured into
    const int reason = lock_all(file_);
    if (reason == EACCES || reason == EAGAIN) {
      const std::string who = holder_of(file_);
      ::close(std::exchange(file_, -1));
      throw Error(fmt::format("{} is being measured by {}", quote(profile), who),
                  "wait until the file is complete, or use another --output for each process, as with --shard");
    }
    if (reason != 0) return;  // the file system has no locks
    // Between opening and locking, the former holder of the lock may have replaced the file. Then
    // the opened file has no name any more, and the loop opens the new file.
    if (is_same_file(file_, profile)) return;
    ::close(std::exchange(file_, -1));
  }
}

ProfileLock::~ProfileLock() {
  if (file_ >= 0) ::close(file_);
}

ProfileOutput::ProfileOutput(std::string path, const Profile& known) : path_(std::move(path)), head_(known.head) {
  const auto close = [this] {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  };
  try {
    // The file is locked before it gets its name, so that no other process can lock the file first.
    const Written written = write_over(path_, print_profile(known), [&](int made) {
      close();
      file_ = ::fcntl(made, F_DUPFD_CLOEXEC, 0);
      if (file_ < 0) return;
      lock_all(file_);
      ::fcntl(file_, F_SETFL, ::fcntl(file_, F_GETFL) | O_APPEND);
    });
    if (written == Written::in_place) close();
  } catch (...) {
    close();
    throw;
  }
  if (file_ < 0) file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) throw Error(fmt::format("cannot write {}: {}", quote_path(path_), std::strerror(errno)));
}

ProfileOutput::~ProfileOutput() {
  if (file_ >= 0) ::close(file_);
}

void ProfileOutput::add(const ProfileRow& row) {
  if (file_ < 0) return;
  // Each line is written in one piece, so that a crash cuts off at most one line.
  if (!is_in_place()) {
    throw Error(fmt::format("{} was replaced while it was written", quote_path(path_)),
                "use another --output for each process, as with --shard");
  }
  const std::string text = print_profile_row(head_, row);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw Error(fmt::format("cannot write {}: {}", quote_path(path_), std::strerror(errno)));
    done += static_cast<std::size_t>(wrote);
  }
}

void ProfileOutput::finish() const {
  if (file_ < 0) return;
  if (!is_in_place()) {
    throw Error(fmt::format("{} was replaced while it was written: the file lacks these measurements", quote_path(path_)),
                "use another --output for each process, as with --shard");
  }
  struct stat status {};
  if (::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && ::fsync(file_) != 0 && errno != EINVAL)
    throw Error(fmt::format("cannot write {}: {}", quote_path(path_), std::strerror(errno)));
}

bool ProfileOutput::is_in_place() const { return is_same_file(file_, path_); }

std::optional<Profile> existing_profile(const std::string& path, bool resume) {
  std::error_code problem;
  const bool exists = std::filesystem::is_regular_file(path, problem) && std::filesystem::file_size(path, problem) > 0;
  if (!exists) return std::nullopt;
  if (!resume) {
    throw Error(fmt::format("{} exists already", quote_path(path)),
                "continue it with --resume, replace it with --overwrite, or name another file with --output");
  }
  return load_profile(path);
}

std::string usual_profile_path(const ProfileHead& head, Precision precision, const std::string& recipe) {
  const std::optional<std::string> folder = data_directory();
  if (!folder) throw Error("there is no folder for user profiles", "name a file with --output");
  const std::filesystem::path profiles = std::filesystem::path(*folder) / "profiles";
  std::error_code problem;
  std::filesystem::create_directories(profiles, problem);
  if (problem) {
    throw Error(fmt::format("cannot create the folder {}: {}", quote(profiles.string()), problem.message()),
                "name a file with --output");
  }
  std::string name = fmt::format("{}-{}{}{}@{}.profile", file_name(head.model), to_string(precision),
                                 recipe.empty() ? "" : "-", recipe, file_name(head.device));
  if (head.shard) name += fmt::format(".{}-of-{}", head.shard->index, head.shard->count);
  return (profiles / name).string();
}

}  // namespace ddl
