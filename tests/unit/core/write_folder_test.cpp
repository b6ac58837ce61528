#include "core/write_folder.hpp"

#include <filesystem>
#include <vector>

#include <unistd.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/write_file.hpp"
#include "tests/catch.hpp"

using namespace ddl;
namespace fs = std::filesystem;

namespace {

/// A new folder for a test, which is removed at the end of the test.
struct Sandbox {
  std::string path = (fs::temp_directory_path() / "ddl-folder-XXXXXX").string();
  Sandbox() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  ~Sandbox() { fs::remove_all(path); }
  [[nodiscard]] std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(path), {}); }
};

const std::vector<FolderFile> two_files{{"a.txt", "one"}, {"deep/b.sh", "two", true}};

}  // namespace

TEST_CASE("a folder is written with its subfolders, and no temporary files are left") {
  const Sandbox sandbox;
  const std::string saved = sandbox.path + "/saved";
  write_folder(saved, two_files);
  CHECK(read_file(saved + "/a.txt") == "one");
  CHECK(read_file(saved + "/deep/b.sh") == "two");
  CHECK(::access((saved + "/a.txt").c_str(), X_OK) != 0);
  CHECK(::access((saved + "/deep/b.sh").c_str(), X_OK) == 0);
  CHECK(sandbox.entries() == 1);
}

TEST_CASE("an existing folder is replaced with all its files") {
  const Sandbox sandbox;
  const std::string saved = sandbox.path + "/saved/";
  fs::create_directories(saved + "old");
  write_folder(saved, two_files);
  CHECK_FALSE(fs::exists(saved + "old"));
  CHECK(read_file(saved + "a.txt") == "one");
  write_folder(saved, std::vector<FolderFile>{{"c.txt", "three"}});
  CHECK_FALSE(fs::exists(saved + "a.txt"));
  CHECK(sandbox.entries() == 1);
}

TEST_CASE("a link to a folder stays a link") {
  const Sandbox sandbox;
  fs::create_directory(sandbox.path + "/there");
  fs::create_symlink("there", sandbox.path + "/here");
  write_folder(sandbox.path + "/here", two_files);
  CHECK(fs::is_symlink(sandbox.path + "/here"));
  CHECK(read_file(sandbox.path + "/there/a.txt") == "one");
}

TEST_CASE("a folder that cannot be written leaves everything as it was") {
  const Sandbox sandbox;
  CHECK_THROWS_AS(write_folder(sandbox.path + "/none/saved", two_files), Error);
  CHECK(sandbox.entries() == 0);
  static_cast<void>(write_file(sandbox.path + "/file", "mine"));
  CHECK_THROWS_AS(write_folder(sandbox.path + "/file", two_files), Error);
  CHECK(read_file(sandbox.path + "/file") == "mine");
  // The second name would be a file and a folder at once.
  const std::vector<FolderFile> contradiction{{"a", "one"}, {"a/b", "two"}};
  CHECK_THROWS_AS(write_folder(sandbox.path + "/saved", contradiction), Error);
  CHECK(sandbox.entries() == 1);
}
