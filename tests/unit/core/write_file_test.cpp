#include "core/write_file.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/source_text.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace ddl;
namespace fs = std::filesystem;

// As with `docker run -v out.json:/out.json`, the file cannot be replaced by renaming.
TEST_CASE("a file that is a bind mount is written in place") {
  std::string folder = (fs::temp_directory_path() / "ddl-mount-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string outside = folder + "/outside", inside = folder + "/inside";
  std::ofstream(outside) << "a longer text";
  std::ofstream(inside) << "";
  enum Outcome : int { fine, no_mount, wrong };
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount(outside.c_str(), inside.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!mounted) ::_exit(no_mount);
    try {
      ::_exit(write_file(inside, "short") == Written::in_place ? fine : wrong);
    } catch (...) {
      ::_exit(wrong);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  const std::string written = read_file(outside);
  const auto left = std::distance(fs::directory_iterator(folder), {});
  fs::remove_all(folder);
  if (WEXITSTATUS(status) == no_mount) return cannot_run("nothing can be mounted here");
  CHECK(WEXITSTATUS(status) == fine);
  CHECK(written == "short");
  CHECK(left == 2);
}

TEST_CASE("a process that is killed while it writes leaves the old file, and no other files") {
  std::string folder = (fs::temp_directory_path() / "ddl-write-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const int known = ::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (known < 0) {
    fs::remove_all(folder);
    return cannot_run("this file system has no files without a name");
  }
  ::close(known);
  const std::string path = folder + "/out";
  for (const bool is_there : {false, true}) {
    INFO(is_there);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      write_file(path, "new", [](int) { ::raise(SIGKILL); });
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(std::distance(fs::directory_iterator(folder), {}) == (is_there ? 1 : 0));
    if (is_there) CHECK(read_file(path) == "old");
    write_file(path, "old");
    CHECK(read_file(path) == "old");
    CHECK((fs::status(path).permissions() & fs::perms::group_exec) == fs::perms::none);
  }
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  fs::remove_all(folder);
}
