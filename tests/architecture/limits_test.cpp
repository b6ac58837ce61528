// docs/limits.md agrees with the source: each row has the value of its constant, and every limit has a row.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path checkout = SOURCE_FOLDER;

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Constant {
  std::string file, name;
  friend auto operator<=>(const Constant&, const Constant&) = default;
};

/// The initializers of all constants whose name starts like a limit's; in namespaces and classes only, or also inside
/// functions.
std::map<Constant, std::string> limits_of_source(bool of_functions) {
  static const std::string prefix = R"(constexpr\s+[\w:]+\s+((?:max|most|largest)_\w+)\s*=\s*([^;]+);)";
  static const std::regex any(prefix);
  static const std::regex global(R"(\n(?:inline |  static )?)" + prefix);
  const std::regex& limit = of_functions ? any : global;
  std::map<Constant, std::string> limits;
  for (const char* module : {"core", "model_zoo", "profiler", "calibration", "cli", "estimator"}) {
    if (!fs::exists(checkout / module)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(checkout / module)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp") continue;
      const std::string text = content_of(entry.path());
      const std::string file = fs::relative(entry.path(), checkout);
      for (auto found = std::sregex_iterator(text.begin(), text.end(), limit); found != std::sregex_iterator(); ++found) {
        limits[{file, (*found)[1]}] = (*found)[2];
      }
    }
  }
  return limits;
}

/// Evaluates the few forms that limits are written in: `16`, `100'000`, `1'000.0`, `std::size_t{16} << 20U`, `10 *
/// max_layers`.
class Initializer {
 public:
  Initializer(std::string_view text, const std::map<Constant, std::string>& limits) : limits_(limits) {
    static const std::regex types(R"(std::size_t|std::int64_t|int|'|\.0\b)");
    text_ = std::regex_replace(std::string(text), types, "");
  }
  std::optional<std::int64_t> value() {
    std::optional<std::int64_t> result = product();
    while (result && take("<<")) {
      const auto by = product();
      if (!by) return std::nullopt;
      result = *result << *by;
    }
    skip();
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view sign) {
    skip();
    if (std::string_view(text_).substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }
  std::optional<std::int64_t> product() {
    auto result = factor();
    while (result && take("*")) {
      const auto by = factor();
      if (!by) return std::nullopt;
      result = *result * *by;
    }
    return result;
  }
  std::optional<std::int64_t> factor() {
    if (take("{") || take("(")) {
      const auto inner = product();
      if (!take("}") && !take(")")) return std::nullopt;
      return inner;
    }
    skip();
    std::string word;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      word += text_[at_++];
    }
    if (word.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return std::stoll(word);
    for (const auto& [constant, initializer] : limits_) {
      if (constant.name == word) return Initializer(initializer, limits_).value();
    }
    return std::nullopt;
  }

  std::string text_;
  std::size_t at_ = 0;
  const std::map<Constant, std::string>& limits_;
};

/// `100,000`, `16 MiB`, `1 GiB`, `2^53`.
std::optional<std::int64_t> documented_value(std::string text) {
  std::erase(text, ',');
  std::smatch parts;
  if (std::regex_match(text, parts, std::regex(R"(2\^(\d+))"))) return std::int64_t{1} << std::stoi(parts[1]);
  if (std::regex_match(text, parts, std::regex(R"((\d+) MiB)"))) return std::stoll(parts[1]) << 20;
  if (std::regex_match(text, parts, std::regex(R"((\d+) GiB)"))) return std::stoll(parts[1]) << 30;
  if (std::regex_match(text, std::regex(R"(\d+)"))) return std::stoll(text);
  return std::nullopt;
}

struct Row {
  std::string limit, value;
  Constant constant;
};

std::vector<Row> rows_of_table() {
  static const std::regex row(R"re(\| (.+) \| (.+) \| `(\w+)` \| `([\w/.]+)` \|)re");
  std::vector<Row> rows;
  std::istringstream lines(content_of(checkout / "docs/limits.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch cells;
    if (std::regex_match(line, cells, row)) rows.push_back({cells[1], cells[2], {cells[4], cells[3]}});
  }
  return rows;
}

}  // namespace

TEST_CASE("every documented limit has the value of its constant") {
  const std::map<Constant, std::string> limits = limits_of_source(true);
  const std::vector<Row> rows = rows_of_table();
  REQUIRE(rows.size() > 20);
  for (const Row& row : rows) {
    INFO(row.limit << ": " << row.constant.name << " in " << row.constant.file);
    const auto found = limits.find(row.constant);
    REQUIRE(found != limits.end());
    INFO("in the source: " << found->second << ", in docs/limits.md: " << row.value);
    const auto documented = documented_value(row.value);
    REQUIRE(documented.has_value());
    CHECK(Initializer(found->second, limits).value() == *documented);
  }
}

TEST_CASE("every limit of what a user hands in is documented") {
  const std::vector<Row> rows = rows_of_table();
  for (const auto& limit : limits_of_source(false)) {
    const Constant& constant = limit.first;
    // The estimator reads no input: its limits are those of its own tables.
    if (constant.file.starts_with("estimator/")) continue;
    INFO("add a row to docs/limits.md: | ... | ... | `" << constant.name << "` | `" << constant.file << "` |");
    CHECK(std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.constant == constant; }));
  }
}
