// Checks the limits of growth. Every setting is used by several bundled files, every bundled file is used, functions have at
// most 80 lines, files have at most 500, and pages have fewer than 55,000 words. budget.csv lists the exceptions, each with
// its reason.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/architecture/tree.hpp"
#include "tests/catch.hpp"

namespace {

using ddl::checkout, ddl::content_of, ddl::lines_of;
namespace fs = std::filesystem;

constexpr std::size_t most_function_lines = 80;
constexpr std::size_t most_file_lines = 500;

std::vector<fs::path> files_in(const fs::path& folder, const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(checkout / folder)) {
    if (entry.is_regular_file() && extensions.contains(entry.path().extension())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<fs::path> sources() {
  std::vector<fs::path> all;
  for (const char* module : {"core", "model_zoo", "profiler", "estimator", "calibration", "cli"}) {
    std::ranges::copy(files_in(module, {".cpp", ".hpp", ".cu", ".cuh"}), std::back_inserter(all));
  }
  return all;
}

/// The exceptions beyond the budget, as `kind,name`.
using Beyond = std::set<std::string>;

Beyond listed(const std::string& kind) {
  Beyond names;
  for (const std::string& line : lines_of(content_of(checkout / "tests/architecture/budget.csv"))) {
    const std::size_t comma = line.find(','), second = line.find(',', comma + 1);
    if (line.substr(0, comma) != kind) continue;
    REQUIRE(second != std::string::npos);
    CHECK(line.size() > second + 15);  // a reason
    names.insert(line.substr(comma + 1, second - comma - 1));
  }
  return names;
}

std::string joined_names(const Beyond& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

void check(const std::string& kind, const Beyond& found) {
  const Beyond known = listed(kind);
  Beyond more, fewer;
  std::ranges::set_difference(found, known, std::inserter(more, more.end()));
  std::ranges::set_difference(known, found, std::inserter(fewer, fewer.end()));
  INFO("beyond the budget, and not in tests/architecture/budget.csv:\n" << joined_names(more));
  INFO("in budget.csv, and within the budget:\n" << joined_names(fewer));
  CHECK(more.empty());
  CHECK(fewer.empty());
}

/// Finds long functions that begin at the left margin or inside a class, in the layout of
/// clang-format.
void add_long_functions(const fs::path& path, Beyond& found) {
  static const std::regex begin(
      R"(^( {0,2})(?![ }#/]|namespace|class|struct|enum|union|extern|using|if|for|while|switch|do |else|public|private|case|return).*\()");
  static const std::regex name(R"(([\w~]+)\()");
  const std::vector<std::string> lines = lines_of(content_of(path));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(lines[i], match, begin)) continue;
    std::size_t head = i;
    const auto ends = [&](char sign) { return !lines[head].empty() && lines[head].back() == sign; };
    while (head + 1 < lines.size() && !ends('{') && !ends(';') && !ends('}')) ++head;
    if (!ends('{')) continue;
    const std::string close = match.str(1) + "}";
    std::size_t last = head + 1;
    while (last < lines.size() && !lines[last].starts_with(close)) ++last;
    std::smatch called;
    if (last - i + 1 > most_function_lines && std::regex_search(lines[i], called, name))
      found.insert(fs::relative(path, checkout).generic_string() + ":" + called.str(1));
  }
}

}  // namespace

TEST_CASE("no function has over 80 lines, except those listed with a reason") {
  Beyond found;
  for (const fs::path& path : sources()) add_long_functions(path, found);
  check("function", found);
}

TEST_CASE("no file has over 500 lines, except those listed with a reason") {
  Beyond found;
  for (const fs::path& path : sources()) {
    if (lines_of(content_of(path)).size() > most_file_lines) found.insert(fs::relative(path, checkout).generic_string());
  }
  check("file", found);
}

TEST_CASE("no setting is used by only one bundled file, except those listed with a reason") {
  const std::string table = content_of(checkout / "estimator/inputs/setting_rows.cpp") +
                            content_of(checkout / "estimator/inputs/training_rows.cpp");
  static const std::regex row(R"re(\{\.key = "(\w+)"[^}]*\})re");
  Beyond found;
  for (auto each = std::sregex_iterator(table.begin(), table.end(), row); each != std::sregex_iterator(); ++each) {
    const std::string key = (*each)[1], text = (*each)[0];
    if (text.find(".has_option = true") != std::string::npos) continue;  // people use it
    std::size_t uses = 0;
    const std::regex said("(^|\\n) *" + key + ":");
    for (const char* folder : {"calibration/software", "calibration/coefficients"}) {
      for (const fs::path& path : files_in(folder, {".yaml"})) uses += std::regex_search(content_of(path), said) ? 1U : 0U;
    }
    std::set<std::string> sets;
    for (const fs::path& path : files_in("calibration/observations", {".csv"})) {
      for (const std::string& line : lines_of(content_of(path))) {
        if (line.find(key + "=") != std::string::npos) sets.insert(line.substr(0, line.find(',')));
      }
    }
    if (uses + sets.size() < 2) found.insert(key);
  }
  check("setting", found);
}

TEST_CASE("every bundled software, machine and model is used") {
  std::string everything = content_of(checkout / "README.md");
  for (const char* folder : {"docs", "tests", "calibration", "model_zoo", "profiler"}) {
    for (const fs::path& path : files_in(folder, {".md", ".cpp", ".hpp", ".csv", ".yaml", ".transcript", ".py", ".txt"})) {
      if (path.filename() == "CMakeLists.txt") continue;  // a list of what is bundled is no use of it
      const std::string parent = path.parent_path().filename();
      const bool names_itself = parent == "software" || parent == "machines" || parent == "models" || parent == "families";
      for (const std::string& line : lines_of(content_of(path))) {
        if (!names_itself || line.starts_with("extends:") || line.starts_with("family:")) everything += line + '\n';
      }
    }
  }
  // Words of everything, so that a name is not found inside another one.
  std::set<std::string, std::less<>> words;
  std::string word;
  for (const char c : everything) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.') {
      word += c;
    } else {
      while (word.ends_with('.')) word.pop_back();
      words.insert(word);
      word.clear();
    }
  }
  Beyond found;
  for (const char* folder : {"calibration/software", "calibration/machines", "model_zoo/models"}) {
    for (const fs::path& path : files_in(folder, {".yaml"})) {
      // A model of a family is a few numbers. Users need each model, and other models test the family.
      if (content_of(path).find("\nfamily:") == std::string::npos && !words.contains(path.stem().string()))
        found.insert(path.stem().string());
    }
  }
  check("bundled", found);
}

TEST_CASE("README and the pages in docs/ have fewer than 55,000 words, and CHANGELOG has at most 60 lines") {
  std::vector<fs::path> pages = files_in("docs", {".md"});
  pages.push_back(checkout / "README.md");
  std::size_t words = 0;
  for (const fs::path& page : pages) {
    std::istringstream text(content_of(page));
    for (std::string word; text >> word;) ++words;
  }
  CHECK(words < 55'000);
  CHECK(lines_of(content_of(checkout / "CHANGELOG.md")).size() <= 60);
}
