// The workflows and action.yml must refer to actions of other projects by commit, because a tag may
// be moved to other code later.

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path repository = SOURCE_FOLDER;

std::vector<fs::path> files_that_use_actions() {
  std::vector<fs::path> files{repository / "action.yml"};
  for (const auto& entry : fs::directory_iterator(repository / ".github/workflows")) files.push_back(entry.path());
  return files;
}

bool is_pinned(const std::string& line) {
  static const std::regex own(R"(\s*(- )?uses: \./\S*)");
  static const std::regex commit(R"(\s*(- )?uses: [\w.-]+(/[\w.-]+)+@[0-9a-f]{40}  # v\d+\.\d+\.\d+)");
  return std::regex_match(line, own) || std::regex_match(line, commit);
}

}  // namespace

TEST_CASE("a commit and its version identify an action, but a tag does not") {
  CHECK(is_pinned("      - uses: ./"));
  CHECK(is_pinned("      uses: owner/action/part@0123456789012345678901234567890123456789  # v1.2.3"));
  CHECK_FALSE(is_pinned("      - uses: owner/action@v1.2.3"));
  CHECK_FALSE(is_pinned("      - uses: owner/action@main  # v1.2.3"));
  CHECK_FALSE(is_pinned("      - uses: owner/action@0123456789012345678901234567890123456789"));
}

TEST_CASE("actions of others are pinned to commits") {
  int found = 0;
  for (const fs::path& file : files_that_use_actions()) {
    std::ifstream lines(file);
    REQUIRE(lines.is_open());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("uses: ") == std::string::npos) continue;
      INFO(file.filename().string() << ": " << line);
      CHECK(is_pinned(line));
      ++found;
    }
  }
  CHECK(found > 10);
}
