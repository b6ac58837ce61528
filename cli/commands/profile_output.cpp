#include "cli/commands/profile_output.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report.hpp"
#include "core/data_directory.hpp"
#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"
#include "core/write_file.hpp"

namespace ddl {
namespace {

/// Letters, digits, points and dashes: what is easily typed.
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

}  // namespace

ProfileLock::ProfileLock(const std::string& profile) {
  if (is_input_file(profile))
    throw Error(fmt::format("--output {} would overwrite a file that was read", quote(profile)), "give it another name");
  struct stat status {};
  // A pipe and the like are nobody's profile.
  if (::stat(profile.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
  const std::filesystem::path target = link_target(profile);
  path_ = (target.parent_path() / fmt::format(".{}.lock", target.filename().string())).string();
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    // In a folder that cannot be written there is no second process that replaces the file.
    if (file_ < 0) return;
    struct flock all {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    const bool locked = ::fcntl(file_, F_SETLK, &all) == 0;
    const int reason = locked ? 0 : errno;
    if (!locked && reason != EACCES && reason != EAGAIN) return;  // a file system without locks
    if (!locked) {
      std::array<char, 300> holder{};
      const ssize_t length = ::pread(file_, holder.data(), holder.size(), 0);
      const std::string who = length > 0 ? visible({holder.data(), static_cast<std::size_t>(length)}) : "another process";
      ::close(std::exchange(file_, -1));
      throw Error(fmt::format("{} is being measured by {}", quote(profile), who),
                  "wait for it, or give each process an --output of its own, as with --shard");
    }
    struct stat open {
    }, there{};
    // The process that held it may have removed it between the two calls: then this is a file without a name.
    if (::fstat(file_, &open) == 0 && ::stat(path_.c_str(), &there) == 0 && open.st_ino == there.st_ino) break;
    ::close(std::exchange(file_, -1));
  }
  if (file_ < 0) return;
  std::array<char, 256> host{};
  const std::string who = fmt::format("process {} on host {}", ::getpid(),
                                      ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "unknown");
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, who.data(), who.size(), 0) < 0) return;  // locked all the same
}

ProfileLock::~ProfileLock() {
  if (file_ < 0) return;
  // While it is still locked: nobody else's is removed.
  ::unlink(path_.c_str());
  ::close(file_);
}

ProfileOutput::ProfileOutput(std::string path, const Profile& known) : path_(std::move(path)), head_(known.head) {
  write_over(path_, print_profile(known));
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) throw Error(fmt::format("cannot write {}: {}", quote(path_), std::strerror(errno)));
}

ProfileOutput::~ProfileOutput() {
  if (file_ >= 0) ::close(file_);
}

void ProfileOutput::add(const ProfileRow& row) {
  if (file_ < 0) return;
  // A line is handed over at once, so that what a crash cuts off is one line at most.
  if (!is_in_place()) {
    throw Error(fmt::format("{} was replaced while it was written", quote(path_)),
                "give each process an --output of its own, as with --shard");
  }
  const std::string text = print_profile_row(head_, row);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw Error(fmt::format("cannot write {}: {}", quote(path_), std::strerror(errno)));
    done += static_cast<std::size_t>(wrote);
  }
}

void ProfileOutput::finish() const {
  if (file_ < 0) return;
  if (!is_in_place()) {
    throw Error(fmt::format("{} was replaced while it was written: what was measured is not in it", quote(path_)),
                "give each process an --output of its own, as with --shard");
  }
  struct stat status {};
  if (::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && ::fsync(file_) != 0 && errno != EINVAL)
    throw Error(fmt::format("cannot write {}: {}", quote(path_), std::strerror(errno)));
}

bool ProfileOutput::is_in_place() const {
  struct stat open {
  }, there{};
  return ::fstat(file_, &open) == 0 && ::stat(path_.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

std::optional<Profile> existing_profile(const std::string& path, bool resume) {
  std::error_code problem;
  const bool exists = std::filesystem::is_regular_file(path, problem) && std::filesystem::file_size(path, problem) > 0;
  if (!exists) return std::nullopt;
  if (!resume) {
    throw Error(fmt::format("{} is there already", quote(path)),
                "--resume goes on with it, --overwrite begins it anew, --output names another");
  }
  return load_profile(path);
}

std::string usual_profile_path(const ProfileHead& head, Precision precision, const std::string& recipe) {
  const std::optional<std::string> folder = data_directory();
  if (!folder) throw Error("there is no folder for the user's own profiles", "name a file with --output");
  const std::filesystem::path profiles = std::filesystem::path(*folder) / "profiles";
  std::error_code problem;
  std::filesystem::create_directories(profiles, problem);
  if (problem) {
    throw Error(fmt::format("cannot make the folder {}: {}", quote(profiles.string()), problem.message()),
                "name a file with --output");
  }
  std::string name = fmt::format("{}-{}{}{}@{}.profile", file_name(head.model), to_string(precision),
                                 recipe.empty() ? "" : "-", recipe, file_name(head.device));
  if (head.shard) name += fmt::format(".{}-of-{}", head.shard->index, head.shard->count);
  return (profiles / name).string();
}

}  // namespace ddl
