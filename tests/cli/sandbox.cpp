#include "tests/cli/sandbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, int error_number) {
  throw Error(what + ": " + std::generic_category().message(error_number));
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Returns the environment of this process, with some variables replaced by `settings`.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> result = settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view entry = *variable;
    const std::string_view name = entry.substr(0, entry.find('=') + 1);
    const bool replaced =
        std::ranges::any_of(settings, [&](const std::string& setting) { return setting.starts_with(name); });
    if (!replaced) result.emplace_back(entry);
  }
  return result;
}

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

Sandbox::Sandbox(const fs::path& program, std::chrono::milliseconds limit) : program_(fs::absolute(program)), limit_(limit) {
  std::string name = (fs::temp_directory_path() / "ddl-transcript-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("cannot create a folder in " + fs::temp_directory_path().string(), errno);
  folder_ = name;
  fs::create_directory(folder_ / "work");
}

Sandbox::~Sandbox() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Sandbox::write(const TranscriptFile& file) const {
  const fs::path path = folder_ / "work" / file.name;
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << file.content;
  if (!out.flush()) throw Error("cannot write the transcript's file '" + file.name + "'");
}

CommandOutcome Sandbox::run(const std::string& shell_command, bool one_output) const {
  const std::string work = (folder_ / "work").string();
  const std::string output = (folder_ / "output").string();
  const std::string errors = (folder_ / "errors").string();
  constexpr int create = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  SpawnActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, output.c_str(), create, 0600);
  if (one_output) {
    posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, errors.c_str(), create, 0600);
  }
  posix_spawn_file_actions_addchdir_np(actions.get(), work.c_str());

  // The command gets a separate process group, so that all processes that it starts are killed with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);

  const char* path = std::getenv("PATH");
  std::vector<std::string> environment = environment_with({
      "PATH=" + program_.parent_path().string() + ":" + (path != nullptr ? path : "/usr/bin:/bin"), "PWD=" + work,
      "HOME=" + work, "DDL_ORACLE_DATA=" + work + "/data", "LC_ALL=C.UTF-8", "TERM=dumb", "NO_COLOR=1",
      "COLUMNS=",  // pages are as wide as without a terminal
  });
  std::vector<char*> environment_pointers;
  for (std::string& variable : environment) environment_pointers.push_back(variable.data());
  environment_pointers.push_back(nullptr);

  std::string shell = "sh";
  std::string option = "-c";
  std::string command = shell_command;
  const std::array<char*, 4> arguments{shell.data(), option.data(), command.data(), nullptr};
  pid_t child = 0;
  const int problem =
      posix_spawn(&child, "/bin/sh", actions.get(), &attributes, arguments.data(), environment_pointers.data());
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) fail("cannot start /bin/sh", problem);

  CommandOutcome outcome;
  const auto deadline = std::chrono::steady_clock::now() + limit_;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      outcome.timed_out = true;
      kill(-child, SIGKILL);
      ended = waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended < 0) fail("cannot wait for the command", errno);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.output = content_of(output);
  if (!one_output) outcome.errors = content_of(errors);
  return outcome;
}

}  // namespace ddl
