#include "tests/architecture/rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

#include "tests/architecture/tree.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

struct Module {
  std::string_view name;
  std::vector<std::string_view> built_on;
};

const std::vector<Module>& modules() {
  static const std::vector<Module> list{
      {"core", {}},
      {"model_zoo", {"core"}},
      {"profiler", {"core", "model_zoo"}},
      {"estimator", {"core", "model_zoo"}},
      {"calibration", {"core", "model_zoo", "profiler", "estimator"}},
      {"cli", {"core", "model_zoo", "profiler", "estimator", "calibration"}},
  };
  return list;
}

/// Headers of files, streams, clock, YAML and randomness.
constexpr std::array<std::string_view, 17> impure_headers{
    "fstream",      "filesystem",           "iostream",         "cstdio", "stdio.h",  "chrono",  "ctime",
    "time.h",       "sys/time.h",           "random",           "thread", "unistd.h", "fcntl.h", "core/yaml_node.hpp",
    "core/csv.hpp", "core/source_text.hpp", "core/embedded.hpp"};

/// Returns C++ code with comments and texts in quotes blanked out. Line breaks stay.
std::string code_of(const std::string& text) {
  std::string code = text;
  const auto blank = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, code.size()); ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
    return end;
  };
  const auto past = [&](std::string_view mark, std::size_t from) {
    const std::size_t found = text.find(mark, from);
    return found == std::string::npos ? text.size() : found + mark.size();
  };
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    const bool in_word = i > 0 && is_word(text[i - 1]);
    if (rest.starts_with("//")) {
      i = blank(i, std::min(text.find('\n', i), text.size()));
    } else if (rest.starts_with("/*")) {
      i = blank(i, past("*/", i + 2));
    } else if (rest.starts_with("R\"") && !in_word) {
      const std::size_t open = std::min(text.find('(', i), text.size() - 1);
      i = blank(i, past(")" + text.substr(i + 2, open - i - 2) + "\"", open));
    } else if (rest.front() == '"' || (rest.front() == '\'' && !in_word)) {  // 1'000 is a number
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != rest.front() && text[end] != '\n') end += text[end] == '\\' ? 2U : 1U;
      i = blank(i, end + 1);
    } else {
      ++i;
    }
  }
  return code;
}

class Inspection {
 public:
  explicit Inspection(const fs::path& root) : root_(root) {
    for (const Module& module : modules()) {
      inspect_folder(std::string(module.name), {".cpp", ".hpp", ".cu", ".cuh"}, {".cpp", ".cu", ".yaml", ".csv"}, &module);
    }
    inspect_folder("tests", {}, {".cpp", ".transcript"}, nullptr);
    for (const std::string& each : two_) violations_.push_back(each + ": two types of one name");
    for (const auto& [folder, edges] : edges_) add_circles(folder, edges);
    std::ranges::sort(violations_);
  }

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  void inspect_folder(const std::string& folder, const std::set<std::string>& sources, const std::set<std::string>& listed,
                      const Module* module) {
    if (!fs::exists(root_ / folder)) return;
    for (auto entry = fs::recursive_directory_iterator(root_ / folder); entry != fs::recursive_directory_iterator();
         ++entry) {
      // Fixtures are trees that violate the rules on purpose.
      if (entry->is_directory() && entry->path().filename() == "fixtures") {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file()) {
        const std::string extension = entry->path().extension();
        const fs::path path = fs::relative(entry->path(), root_);
        if (sources.contains(extension)) {
          inspect_source(path, *module);
          inspect_types(path);
        }
        if (listed.contains(extension)) inspect_listing(path);
      }
    }
  }

  /// The includes between the folders inside one folder, each with an example.
  using Edges = std::map<std::pair<std::string, std::string>, std::string>;

  /// Records which of two folders, inside the innermost folder that contains both, includes the other. A folder's own files
  /// and its subfolders are one room. The files at the top of a module are a separate room, `.`.
  void note_edge(const fs::path& from, std::size_t line, const fs::path& to) {
    const fs::path source = from.parent_path(), target = to.parent_path();
    const auto [left, right] = std::mismatch(source.begin(), source.end(), target.begin(), target.end());
    fs::path common;
    for (auto part = source.begin(); part != left; ++part) common /= *part;
    const bool at_top = std::distance(common.begin(), common.end()) == 1;
    if (common.empty() || (left == source.end() && right == target.end())) return;
    if (!at_top && (left == source.end() || right == target.end())) return;
    const auto name = [](auto part, auto end) { return part == end ? std::string(".") : part->generic_string(); };
    edges_[common.generic_string()].emplace(std::pair{name(left, source.end()), name(right, target.end())},
                                            from.generic_string() + ":" + std::to_string(line + 1));
  }

  void add_circles(const std::string& folder, const Edges& edges) {
    std::map<std::string, std::set<std::string>> reached;
    for (const auto& [edge, example] : edges) reached[edge.first].insert(edge.second);
    for (bool grew = true; grew;) {
      grew = false;
      for (auto& [from, targets] : reached) {
        for (const std::string& through : std::set(targets)) {
          for (const std::string& target : reached[through]) grew = targets.insert(target).second || grew;
        }
      }
    }
    for (const auto& [edge, example] : edges) {
      const auto& [from, to] = edge;
      if (reached[to].contains(from))
        violations_.push_back(example + ": " + folder + ": " + from + " includes " + to + ", which leads back to it");
    }
  }

  void inspect_source(const fs::path& path, const Module& module) {
    static const std::regex include(R"re(^\s*#\s*include\s*([<"])([^">]+)[">])re");
    static const std::regex condition(R"(^\s*#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b)");
    // The pattern matches calls and declarations, but no members such as `group.abort()`.
    static const std::regex ending(R"((^|[^\w.>])(exit|_exit|_Exit|quick_exit|abort|terminate)\s*\()");
    static const std::regex impure(R"((^|[^\w.>])(s?rand|fopen|getenv|std::time|std::clock|std::remove|std::rename)\s*\()");

    const std::string text = content_of(root_ / path);
    const std::vector<std::string> lines = lines_of(text);
    const std::vector<std::string> code = lines_of(code_of(text));
    const bool pure = module.name == "estimator";
    const bool back_end = module.name == "profiler" && std::distance(path.begin(), path.end()) > 3;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::smatch match;
      // The path of an include is a text, so it is read from the original line, unless the line is a comment.
      if (code[i].find('#') != std::string::npos && std::regex_search(lines[i], match, include)) {
        inspect_include(path, i, module, match[2], match[1] == "\"");
      }
      if (!back_end && std::regex_search(code[i], match, condition)) {
        add(path, i, "#" + match.str(1) + " outside a back end's own folder");
      }
      if (path != fs::path("cli/main.cpp") && std::regex_search(code[i], match, ending)) {
        add(path, i, match.str(2) + " outside cli/main.cpp: throw ddl::Error");
      }
      if (pure && std::regex_search(code[i], match, impure)) {
        add(path, i, "estimator must be pure: no " + match.str(2));
      }
    }
  }

  /// Types that are defined at the left margin, outside unnamed scopes.
  void inspect_types(const fs::path& path) {
    static const std::regex opens(R"(^(?:inline )?namespace ?([\w:]*) ?\{\s*$)"), closes(R"(^\}\s*$)");
    static const std::regex type(
        R"(^(?:template.*> )?(?:struct|class|union|enum class) ([A-Z]\w*)(?: final)?(?: :.*)? ?\{)");
    const std::vector<std::string> lines = lines_of(content_of(root_ / path));
    const std::vector<std::string> code = lines_of(code_of(content_of(root_ / path)));
    std::vector<std::string> scopes;
    for (std::size_t i = 0; i < code.size(); ++i) {
      std::smatch match;
      if (std::regex_search(code[i], match, opens)) scopes.push_back(match[1]);
      // Clang-format writes the name of a scope after its closing brace.
      if (std::regex_search(code[i], closes) && lines[i].find("// namespace") != std::string::npos && !scopes.empty()) {
        scopes.pop_back();
      }
      if (std::ranges::find(scopes, "") != scopes.end() || !std::regex_search(code[i], match, type)) continue;
      std::string name;
      for (const std::string& scope : scopes) name += scope + "::";
      name += match[1];
      const auto [first, is_new] = types_.emplace(name, path.generic_string());
      if (!is_new)
        two_.insert(name + ": in " + std::min(first->second, path.generic_string()) + " and in " +
                    std::max(first->second, path.generic_string()));
    }
  }

  void inspect_include(const fs::path& path, std::size_t line, const Module& module, const std::string& header,
                       bool quoted) {
    if (module.name == "estimator" &&
        (std::ranges::find(impure_headers, header) != impure_headers.end() || header.starts_with("yaml-cpp/"))) {
      add(path, line, "estimator must be pure: no " + header);
      return;
    }
    if (module.name == "estimator" && (header.starts_with("fmt/") || header == "core/units.hpp")) {
      add(path, line, "estimator writes no sentences: no " + header);
      return;
    }
    const std::string target = header.substr(0, header.find('/'));
    if (target == module.name) note_edge(path, line, header);
    const bool known =
        target == "tests" || std::ranges::any_of(modules(), [&](const Module& m) { return m.name == target; });
    if (!known) {
      if (quoted) add(path, line, "'" + header + "' does not start at the top folder");
    } else if (target != module.name && std::ranges::find(module.built_on, target) == module.built_on.end()) {
      add(path, line, std::string(module.name) + " must not include " + target);
    }
  }

  /// Checks that a file is listed: a CMakeLists.txt of its folder or of a folder above names the
  /// file, with or without folders.
  void inspect_listing(const fs::path& path) {
    for (fs::path folder = path.parent_path(); !folder.empty(); folder = folder.parent_path()) {
      for (std::string line : lines_of(content_of(root_ / folder / "CMakeLists.txt"))) {
        line.resize(std::min(line.find('#'), line.size()));
        std::ranges::replace_if(
            line, [](char c) { return c == '(' || c == ')' || c == '"'; }, ' ');
        std::istringstream words(line);
        for (std::string word; words >> word;) {
          if (word.starts_with("${")) word.erase(0, word.find('/') + 1);  // a variable that contains a folder
          if (("/" + path.generic_string()).ends_with("/" + word)) return;
        }
      }
    }
    violations_.push_back(path.generic_string() + ": not listed in a CMakeLists.txt");
  }

  void add(const fs::path& path, std::size_t line, const std::string& what) {
    violations_.push_back(path.generic_string() + ":" + std::to_string(line + 1) + ": " + what);
  }

  fs::path root_;
  std::vector<std::string> violations_;
  std::map<std::string, std::string> types_;  ///< the file that defines each type
  std::set<std::string> two_;
  std::map<std::string, Edges> edges_;  ///< for each folder, the includes between the folders inside it
};

}  // namespace

std::vector<std::string> architecture_violations(const fs::path& root) { return Inspection(root).violations(); }

}  // namespace ddl
