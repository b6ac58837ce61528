#include "core/program_output.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddl {
namespace {

/// Maximum output of a program in bytes.
constexpr std::size_t max_program_output = std::size_t{64} << 20U;

std::optional<std::string> find_program(const std::string& name, std::string_view search_path) {
  while (!search_path.empty()) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    std::string file = std::string(search_path.substr(0, end)) + "/" + name;
    if (end > 0 && access(file.c_str(), X_OK) == 0) return file;
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
  }
  return std::nullopt;
}

/// The two ends of a pipe. The destructor closes both ends.
class Pipe {
 public:
  Pipe() : is_open_(pipe2(ends_.data(), O_CLOEXEC) == 0) {}
  ~Pipe() {
    close_writing();
    if (is_open_) close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }
  void close_writing() {
    if (is_open_ && ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  bool is_open_;
};

/// Starts a program, and returns its process id.
std::optional<pid_t> start(const std::string& file, const std::vector<std::string>& words, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // The program gets its own process group, so that a timeout also kills the processes that the program has started.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int problem = posix_spawn(&child, file.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return std::nullopt;
  return child;
}

/// Reads the complete output; empty if the output does not end in time or is too long.
std::optional<std::string> read_all(int from, std::chrono::steady_clock::time_point deadline) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd waiting{from, POLLIN, 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > max_program_output) return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> program_output(const std::vector<std::string>& words, const std::string& search_path,
                                          std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const auto file = find_program(words.front(), search_path);
  Pipe pipe;
  if (!file || !pipe.is_open()) return std::nullopt;
  const auto child = start(*file, words, pipe.writing());
  if (!child) return std::nullopt;
  pipe.close_writing();
  std::optional<std::string> text = read_all(pipe.reading(), deadline);
  // A program with no complete output may still be running, so its process group is killed.
  if (!text) kill(-*child, SIGKILL);
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(*child, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() > deadline) kill(-*child, SIGKILL);
    usleep(1000);
  }
  if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

}  // namespace ddl
