#include "profiler/part_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

constexpr std::string_view first_word = "ddl-oracle-part-1";
constexpr int most_shares = 1'000'000;
constexpr const char* unlockable_hint =
    "processes share their work through locked files: give --output a place on a file system that has them";

[[noreturn]] void fail(std::string_view verb, const std::string& path, int reason, const std::string& hint = {}) {
  throw Error(fmt::format("cannot {} {}: {}", verb, quote(path), std::generic_category().message(reason)), hint);
}

std::string heading_line(const PartHeading& heading) {
  return fmt::format("{} share={} shares={} items={} identity={:016x}\n", first_word, heading.share, heading.shares,
                     heading.items, heading.identity);
}

/// Whether the lock was to be had.
bool try_lock(int descriptor, const std::string& path) {
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) fail("lock", path, errno, unlockable_hint);
  }
  return true;
}

/// Whether the path still leads to the open file.
bool is_at(int descriptor, const std::string& path) {
  struct stat open {
  }, there{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

void write_whole(int descriptor, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR) fail("write", path, errno);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Cuts the next word off `rest`.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

template <class Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void fail_reading(const std::string& path) {
  throw Error(fmt::format("{} is no part of a shared run", quote(path)), "remove it, or give --output another name");
}

std::optional<PartHeading> heading_of(std::string_view line) {
  const auto value = [&](std::string_view key) {
    const std::string_view word = next_word(line);
    return word.starts_with(key) ? word.substr(key.size()) : std::string_view();
  };
  if (next_word(line) != first_word) return std::nullopt;
  const auto share = number_of<int>(value("share="));
  const auto shares = number_of<int>(value("shares="));
  const auto items = number_of<std::size_t>(value("items="));
  const auto identity = number_of<std::uint64_t>(value("identity="), 16);
  if (!share || !shares || !items || !identity || *share < 0 || *share >= *shares || *shares > most_shares)
    return std::nullopt;
  return PartHeading{*share, *shares, *items, *identity};
}

/// What the file says, and how many bytes of it: what has no end of line was being written when its process ended.
std::pair<PartState, std::size_t> read_part(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t count = ::pread(descriptor, block.data(), block.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno != EINTR) fail("read", path, errno);
    if (count == 0) break;
    if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
    if (text.size() > max_file_bytes) fail_reading(path);
  }
  std::size_t end = text.find('\n');
  if (end == std::string::npos) fail_reading(path);
  const std::optional<PartHeading> heading = heading_of(std::string_view(text).substr(0, end));
  if (!heading) fail_reading(path);
  PartState state{.heading = *heading};
  std::size_t begin = end + 1;
  while ((end = text.find('\n', begin)) != std::string::npos) {
    if (!state.apply(std::string_view(text).substr(begin, end - begin))) fail_reading(path);
    begin = end + 1;
  }
  return {std::move(state), begin};
}

}  // namespace

bool PartState::apply(std::string_view line) {
  const std::string_view event = next_word(line);
  if (event == "merged") {
    merged = true;
    return true;
  }
  const auto number = number_of<std::size_t>(next_word(line));
  if (!number) return false;
  if (event == "owner" || event == "taken") {
    const auto rank = static_cast<int>(*number);
    taken_over = event == "taken";
    if (taken_over) {
      dead.push_back(holder.value_or(heading.share));
    } else {
      dead.clear();
      begun.clear();
      given_up.clear();
    }
    holder = rank;
    return true;
  }
  if (*number >= heading.items) return false;
  if (event == "begin") {
    ++begun[*number];
  } else if (event == "back") {
    begun.erase(*number);
  } else if (event == "row") {
    rows[*number] = std::string(line);
    begun.erase(*number);
    given_up.erase(*number);
  } else if (event == "lost") {
    given_up.insert(*number);
  } else {
    return false;
  }
  return true;
}

std::optional<PartFile> PartFile::create(const std::string& path, const PartHeading& heading) {
  // Written and locked under a name of its own first: nobody may take it for one that a dead process left.
  std::string hidden = path + ".XXXXXX";
  const int descriptor = ::mkostemp(hidden.data(), O_APPEND | O_CLOEXEC);
  if (descriptor < 0) fail("write", path, errno);
  PartFile part(descriptor, path);
  try {
    if (!try_lock(descriptor, hidden)) fail("lock", hidden, EWOULDBLOCK);
    write_whole(descriptor, hidden, heading_line(heading));
    part.flush();
  } catch (const Error&) {
    ::unlink(hidden.c_str());
    throw;
  }
  const int reason = ::link(hidden.c_str(), path.c_str()) == 0 ? 0 : errno;
  ::unlink(hidden.c_str());
  if (reason == EEXIST) return std::nullopt;
  if (reason != 0) fail("write", path, reason, unlockable_hint);
  part.state_.heading = heading;
  return part;
}

std::optional<PartFile> PartFile::lock(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail("write", path, errno);
  }
  PartFile part(descriptor, path);
  // Whoever held it may have removed it since.
  if (!try_lock(descriptor, path) || !is_at(descriptor, path)) return std::nullopt;
  std::size_t bytes = 0;
  std::tie(part.state_, bytes) = read_part(descriptor, path);
  // A line that its process did not end would run into ours.
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) fail("write", path, errno);
  return part;
}

std::optional<PartState> PartFile::read(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail("read", path, errno);
  }
  const PartFile open(descriptor, path);
  return read_part(descriptor, path).first;
}

PartFile::PartFile(PartFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)), state_(std::move(other.state_)) {}

PartFile& PartFile::operator=(PartFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(state_, other.state_);
  return *this;
}

PartFile::~PartFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void PartFile::owned_by(int rank) { append(fmt::format("owner {}", rank)); }
void PartFile::taken_over_by(int rank) { append(fmt::format("taken {}", rank)); }
void PartFile::begin(std::size_t item) { append(fmt::format("begin {}", item)); }
void PartFile::row(std::size_t item, const std::string& text) { append(fmt::format("row {} {}", item, text)); }
void PartFile::hand_back(std::size_t item) { append(fmt::format("back {}", item)); }
void PartFile::give_up(std::size_t item) { append(fmt::format("lost {}", item)); }

void PartFile::merged() {
  append("merged");
  flush();
}

void PartFile::flush() {
  // EINVAL: what cannot be flushed there.
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) fail("write", path_, errno);
}

void PartFile::append(const std::string& line) {
  write_whole(descriptor_, path_, line + "\n");
  static_cast<void>(state_.apply(line));
}

}  // namespace ddl
