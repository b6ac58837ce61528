#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "core/source_text.hpp"
#include "core/write_file.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace ddl;
namespace fs = std::filesystem;

TEST_CASE("a file that is rewritten keeps its owner") {
  if (::geteuid() != 0) return cannot_run("only root gives files away");
  std::string folder = (fs::temp_directory_path() / "ddl-owner-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/out";
  std::ofstream(file) << "1";
  constexpr uid_t somebody = 12345;
  REQUIRE(::chown(file.c_str(), somebody, somebody) == 0);
  REQUIRE(::chmod(file.c_str(), 02750) == 0);
  CHECK(write_file(file, "2") == Written::replaced);
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK(status.st_uid == somebody);
  CHECK(status.st_gid == somebody);
  CHECK((status.st_mode & 07777U) == 02750U);
  CHECK(read_file(file) == "2");
  fs::remove_all(folder);
}
