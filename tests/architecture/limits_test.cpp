// Checks that every limit on user input is a number that the test can read from the source. The
// test writes all limits to limits.md in its working folder.

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "tests/architecture/tree.hpp"
#include "tests/catch.hpp"

namespace {

using ddl::checkout, ddl::content_of;
namespace fs = std::filesystem;

struct Constant {
  std::string file, name;
  friend auto operator<=>(const Constant&, const Constant&) = default;
};

/// Returns the initializers of all constants whose name starts like the name of a limit. The
/// constants are in namespaces and classes only, or with `of_functions` also inside functions.
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

/// Evaluates the few forms of initializers of limits: `16`, `100'000`, `1'000.0`, `std::size_t{16}
/// << 20U`, `10 * max_layers`.
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

}  // namespace

TEST_CASE("every limit of user input is a positive number in a table") {
  const std::map<Constant, std::string> limits = limits_of_source(true);
  std::ofstream table("limits.md");
  table << "| limit | at most | file |\n| --- | --- | --- |\n";
  std::size_t rows = 0;
  for (const auto& [constant, initializer] : limits) {
    // The estimator reads no user input, so its limits concern only its own data.
    if (constant.file.starts_with("estimator/")) continue;
    INFO(constant.name << " in " << constant.file << ": " << initializer);
    const auto value = Initializer(initializer, limits).value();
    if (!value) continue;  // a quantity, or an expression of other constants
    CHECK(*value > 0);
    table << "| `" << constant.name << "` | " << *value << " | `" << constant.file << "` |\n";
    ++rows;
  }
  CHECK(rows > 100);
}
