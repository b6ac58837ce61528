#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "core/embedded.hpp"
#include "tests/catch.hpp"

namespace ddl {
std::span<const EmbeddedFile> odd_files();
std::span<const EmbeddedFile> no_files();
std::span<const EmbeddedFile> large_file();
}  // namespace ddl

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.is_open());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("embedded files are sorted by their names without the extension") {
  std::vector<std::string_view> names;
  for (const ddl::EmbeddedFile& file : ddl::odd_files()) names.push_back(file.name);
  CHECK(names == std::vector<std::string_view>{"a", "a-b", "all-bytes", "crlf", "dotted.v2", "empty", "looks-like-code"});
}

TEST_CASE("embedded files are the files on disk, byte for byte") {
  for (const ddl::EmbeddedFile& file : ddl::odd_files()) {
    INFO(file.path);
    CHECK(file.content == bytes_of(SOURCE_FOLDER "/" + std::string(file.path)));
  }
  REQUIRE(ddl::odd_files()[2].content.size() == 256);
  CHECK(ddl::odd_files()[2].content[0] == '\0');
}

TEST_CASE("an embedded file of a megabyte is whole") {
  REQUIRE(ddl::large_file().size() == 1);
  const std::string_view content = ddl::large_file()[0].content;
  CHECK(content.size() > 1'000'000);
  CHECK((content == bytes_of(LARGE_FOLDER "/megabyte.yaml")));  // the parentheses keep a failure from printing it
}

TEST_CASE("an embedded folder may be empty") { CHECK(ddl::no_files().empty()); }
