#include "core/file_stream.hpp"

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

std::string hint_for(int reason) {
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      return "check the spelling; a path is relative to the current folder, or starts with /";
    case EISDIR:
      return "name a file in this folder";
    case EACCES:
      return "ask its owner for the permission to read it";
    case ELOOP:
      return "a symbolic link leads back to itself: name the file";
    default:
      return {};
  }
}

[[noreturn]] void fail_to_read(const std::string& path, int reason) {
  throw Error(fmt::format("cannot read {}: {}", quote_path(path), std::generic_category().message(reason)),
              hint_for(reason));
}

}  // namespace

// Opens without blocking, because a blocking open of a pipe would wait until another process opens the pipe for writing.
FileStream::FileStream(std::string path, std::size_t max_bytes, double silence_s)
    : path_(std::move(path)),
      max_bytes_(max_bytes),
      silence_ms_(static_cast<int>(silence_s * 1e3)),
      file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_.is_open()) fail_to_read(path_, errno);
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) fail_to_read(path_, errno);
  note_input_file(status);
  if (S_ISREG(status.st_mode) && static_cast<std::uintmax_t>(status.st_size) > max_bytes_) refuse_longer();
  awaits_writer_ = S_ISFIFO(status.st_mode);
}

std::size_t FileStream::read(std::span<char> into) {
  while (true) {
    const ssize_t count = ::read(file_.number(), into.data(), into.size());
    if (count == 0) {
      // Reading no bytes means the end of the file, or a pipe that has no writer yet.
      if (!awaits_writer_) return 0;
      if (patience_ms_ <= 0)
        throw Error(fmt::format("cannot read {}: no process writes to this pipe", quote_path(path_)),
                    "start the process that writes to it, or name a file");
      constexpr int step_ms = 20;
      patience_ms_ -= step_ms;
      if (wait(step_ms)) awaits_writer_ = false;
      continue;
    }
    if (count < 0 && errno != EINTR && errno != EAGAIN) fail_to_read(path_, errno);
    awaits_writer_ = false;
    if (count < 0) {
      if (errno == EAGAIN && !wait(silence_ms_)) {
        throw Error(
            fmt::format("cannot read {}: nothing has been written to it for {:g} s", quote_path(path_), silence_ms_ / 1e3));
      }
      continue;
    }
    bytes_ += static_cast<std::size_t>(count);
    if (bytes_ > max_bytes_) refuse_longer();
    return static_cast<std::size_t>(count);
  }
}

bool FileStream::wait(int milliseconds) const {
  pollfd state{.fd = file_.number(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&state, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) fail_to_read(path_, errno);
  return ready > 0;
}

void FileStream::refuse_longer() const {
  throw Error(fmt::format("cannot read {}: the file is longer than {:.4g} MiB", quote_path(path_),
                          static_cast<double>(max_bytes_) / 0x1p20),
              "check the name of the file, or use a part of the file");
}

}  // namespace ddl
