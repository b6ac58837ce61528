#include "cli/commands/profile_output.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

#include "core/source_text.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace profile_output_tests {

using namespace ddl;
namespace fs = std::filesystem;

TEST_CASE("one process at a time measures a profile, and the errors of other processes name that process") {
  std::string folder = (fs::temp_directory_path() / "ddl-lock-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string profile = folder + "/p.profile";
  std::ofstream(profile) << "";
  fs::create_symlink("p.profile", folder + "/link");
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const ProfileLock lock(profile);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char x = 0;
  REQUIRE(::read(ready[0], &x, 1) == 1);
  const std::string who = "is being measured by process " + std::to_string(child);
  CHECK(error_of([&] { const ProfileLock lock(profile); }).find("p.profile' " + who) != std::string::npos);
  CHECK(error_of([&] { const ProfileLock lock(folder + "/link"); }).find(who) != std::string::npos);
  // After the process has ended in any way, others may continue.
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(error_of([&] { const ProfileLock lock(profile); }) == "no error");
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);  // the profile and the link, and no leftover file
  fs::remove_all(folder);
}

TEST_CASE("a growing profile is locked as soon as it exists, and leaves no temporary files") {
  std::string folder = (fs::temp_directory_path() / "ddl-lock-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string profile = folder + "/p.profile";
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  for (const bool is_there : {false, true}) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const ProfileLock lock(profile);
      const ProfileOutput output(profile, Profile{});
      static_cast<void>(read_file(profile));  // as --resume does; the lock stays
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    char x = 0;
    REQUIRE(::read(ready[0], &x, 1) == 1);
    INFO(is_there);
    CHECK(error_of([&] { const ProfileLock lock(profile); }).find("is being measured by process " + std::to_string(child)) !=
          std::string::npos);
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(error_of([&] { const ProfileLock lock(profile); }) == "no error");
    CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
  }
  fs::remove_all(folder);
}

TEST_CASE("writing to a profile that another process replaced is an error") {
  std::string folder = (fs::temp_directory_path() / "ddl-lock-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/p.profile";
  const ProfileOutput output(path, Profile{});
  CHECK(error_of([&] { output.finish(); }) == "no error");
  std::ofstream(folder + "/other") << "x";
  fs::rename(folder + "/other", path);
  CHECK(error_of([&] { output.finish(); }).find("was replaced while it was written") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("a profile does not overwrite a file that the command has read") {
  std::string folder = (fs::temp_directory_path() / "ddl-lock-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  std::ofstream(folder + "/in.yaml") << "format: 1\n";
  static_cast<void>(read_file(folder + "/in.yaml"));
  CHECK(error_of([&] { const ProfileLock lock(folder + "/in.yaml"); }).find("would overwrite an input file") !=
        std::string::npos);
  fs::remove_all(folder);
}

}  // namespace profile_output_tests
