// Checks that comments, strings, data files and pages are written in the words of the field (CONTRIBUTING.md, "Words").

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/architecture/tree.hpp"
#include "tests/catch.hpp"

namespace {

using ddl::checkout, ddl::content_of;
namespace fs = std::filesystem;

/// Returns the comments and strings of C++ code, with all other code blanked out. Line breaks stay.
std::string prose_of(const std::string& text) {
  std::string prose(text.size(), ' ');
  const auto keep = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, text.size()); ++i) prose[i] = text[i];
    return end;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') prose[i] = '\n';
  }
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = keep(i, std::min(text.find('\n', i), text.size()));
    } else if (text[i] == '"') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2U : 1U;
      i = keep(i + 1, end) + 1;
    } else if (text[i] == '\'' && i + 2 < text.size() && (text[i + 2] == '\'' || text[i + 1] == '\\')) {
      i += text[i + 1] == '\\' ? 4U : 3U;
    } else {
      ++i;
    }
  }
  return prose;
}

/// Adds `file:line: word` for each word that the field does not use.
void add_words(const fs::path& path, const std::string& prose, std::vector<std::string>& found) {
  static const std::regex word(
      R"(\b(whoever|nobody|somebody|dealt|deals? out|rests? on|told (?:from|apart)|computed again|held back|nothing where|)"
      R"(in the mean|(?:models?|networks?) of images|pairs of answers|(?:keys|arguments) of the file count|)"
      R"(separated by blanks|blanks|between commas|(?:query|token) sees|beside|taught|stretch(?:es)?|)"
      R"(goes on|looks? whether|stands? in|open (?:sizes?|batch|dimensions?)|)"
      R"(neighbouring|colours?|centred?|behaviour|recognised?|labelled|licences?)\b)",
      std::regex::icase);
  for (auto each = std::sregex_iterator(prose.begin(), prose.end(), word); each != std::sregex_iterator(); ++each) {
    if (each->str() == "Centre") continue;                                                               // a part of names
    if (each->position() > 0 && prose[static_cast<std::size_t>(each->position()) - 1] == '`') continue;  // a name in code
    const auto line = 1 + std::count(prose.begin(), prose.begin() + each->position(), '\n');
    found.push_back(fs::relative(path, checkout).generic_string() + ":" + std::to_string(line) + ": " + each->str());
  }
}

/// Adds `file:line` for each comment after a declaration that begins with `of`, and so lacks the noun of the value.
void add_comments_without_noun(const fs::path& path, const std::string& text, std::vector<std::string>& found) {
  static const std::regex comment(R"([;,{}] +//(?:/<)? of )");
  for (auto each = std::sregex_iterator(text.begin(), text.end(), comment); each != std::sregex_iterator(); ++each) {
    const auto line = 1 + std::count(text.begin(), text.begin() + each->position(), '\n');
    found.push_back(fs::relative(path, checkout).generic_string() + ":" + std::to_string(line));
  }
}

/// Adds `file:line: literal` for each string literal of C++ code that begins with a pronoun. Reasons and hints are printed
/// alone, so that the pronoun has no noun nearby. Literals that continue another literal may begin with any word.
void add_pronouns(const fs::path& path, const std::string& text, std::vector<std::string>& found) {
  static const std::regex begin(R"re("(its?|they|their|them) [^"]{0,30})re");
  for (auto each = std::sregex_iterator(text.begin(), text.end(), begin); each != std::sregex_iterator(); ++each) {
    const auto at = static_cast<std::size_t>(each->position());
    const std::size_t last = at == 0 ? std::string::npos : text.find_last_not_of(" \n", at - 1);
    const std::string before = text.substr(text.rfind('\n', at) + 1, at - text.rfind('\n', at) - 1);
    const bool is_inside = std::ranges::count(before, '"') % 2 == 1 || before.find("//") != std::string::npos;
    if (is_inside || (last != std::string::npos && text[last] == '"')) continue;
    // The subject that a reason is printed with, and headings below the thing that they belong to.
    const std::string literal = each->str().substr(1);
    if (literal == "it " || literal == "its plan: " || literal == "its step") continue;
    const auto line = 1 + std::count(text.begin(), text.begin() + each->position(), '\n');
    found.push_back(fs::relative(path, checkout).generic_string() + ":" + std::to_string(line) + ": " + literal);
  }
}

/// Returns the source files of the modules and tests, relative to the checkout.
std::vector<std::string> source_files() {
  std::vector<std::string> files;
  for (const char* folder : {"core", "model_zoo", "profiler", "estimator", "calibration", "cli", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(checkout / folder)) {
      const std::string extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp") files.push_back(fs::relative(entry.path(), checkout).generic_string());
    }
  }
  return files;
}

/// Returns the C++ files in `backticks` of a page that none of `files` ends with. Names with capitals are files of other
/// projects, or placeholders such as NAME.
std::vector<std::string> missing_files(const std::string& page, const std::vector<std::string>& files) {
  static const std::regex name(R"(`([a-z0-9_/]+\.[ch]pp)`)");
  std::vector<std::string> missing;
  for (auto each = std::sregex_iterator(page.begin(), page.end(), name); each != std::sregex_iterator(); ++each) {
    const std::string file = (*each)[1];
    const bool exists = std::any_of(files.begin(), files.end(),
                                    [&](const std::string& own) { return own == file || own.ends_with("/" + file); });
    if (!exists) missing.push_back(file);
  }
  return missing;
}

std::string words_in(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

TEST_CASE("the words to avoid are found in comments and strings, not in names") {
  std::vector<std::string> found;
  add_words(checkout / "a.cpp", prose_of("int nobody;  // Nobody knows\nf(\"it is dealt\");\nchar c = '\"';  // rests on\n"),
            found);
  CHECK(words_in(found) == "a.cpp:1: Nobody\na.cpp:2: dealt\na.cpp:3: rests on\n");
}

TEST_CASE("comments, strings, scripts and data files use the words of the field") {
  std::vector<std::string> found;
  for (const char* module : {"core", "model_zoo", "profiler", "estimator", "calibration", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(checkout / module)) {
      const std::string extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp" || extension == ".cu" || extension == ".cuh")
        add_words(entry.path(), prose_of(content_of(entry.path())), found);
      if (extension == ".yaml" || extension == ".py" || extension == ".sh")
        add_words(entry.path(), content_of(entry.path()), found);
    }
  }
  INFO(words_in(found));
  CHECK(found.empty());
}

TEST_CASE("comments after declarations begin with the noun of the value") {
  std::vector<std::string> found;
  add_comments_without_noun(checkout / "a.hpp", "Bytes a;  ///< of a step\nBytes b;  // bytes of a step\n", found);
  CHECK(words_in(found) == "a.hpp:1\n");
  found.clear();
  for (const char* module : {"core", "model_zoo", "profiler", "estimator", "calibration", "cli"}) {
    for (const auto& entry : fs::recursive_directory_iterator(checkout / module)) {
      const std::string extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp")
        add_comments_without_noun(entry.path(), content_of(entry.path()), found);
    }
  }
  INFO(words_in(found));
  CHECK(found.empty());
}

TEST_CASE("no string begins with a pronoun") {
  std::vector<std::string> found;
  add_pronouns(checkout / "a.cpp", "f(\"its rate is 2\");\ng(\"the rate of \"\n  \"its layer\");\n// \"it is\"\n", found);
  CHECK(words_in(found) == "a.cpp:1: its rate is 2\n");
  found.clear();
  for (const std::string& file : source_files()) {
    if (!file.starts_with("tests/")) add_pronouns(checkout / file, content_of(checkout / file), found);
  }
  INFO(words_in(found));
  CHECK(found.empty());
}

TEST_CASE("pages use the words of the field") {
  std::vector<std::string> found;
  std::vector<fs::path> pages{checkout / "README.md", checkout / "CHANGELOG.md", checkout / "SECURITY.md",
                              checkout / "calibration/observations/README.md"};
  for (const auto& entry : fs::directory_iterator(checkout / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  for (const fs::path& page : pages) {
    // Code blocks are skipped, because other tests check the program's output and the literals in its source.
    const std::string text = content_of(page);
    std::string prose;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = std::min(text.find("\n```", at), text.size());
      prose += text.substr(at, begin - at);
      const std::size_t end = begin == text.size() ? begin : std::min(text.find("\n```", begin + 4), text.size() - 4) + 4;
      for (std::size_t i = begin; i < end; ++i) prose += text[i] == '\n' ? '\n' : ' ';
      at = end;
    }
    add_words(page, prose, found);
  }
  INFO(words_in(found));
  CHECK(found.empty());
}

TEST_CASE("pages name source files that exist") {
  const std::vector<std::string> files = source_files();
  CHECK(missing_files("`tree.hpp`, `architecture/tree.hpp`, `no_such_file.cpp`", files) ==
        std::vector<std::string>{"no_such_file.cpp"});
  for (const auto& entry : fs::directory_iterator(checkout / "docs")) {
    if (entry.path().extension() != ".md") continue;
    std::vector<std::string> missing = missing_files(content_of(entry.path()), files);
    // These files are added by the examples of extending.md.
    std::erase_if(missing, [](const std::string& file) {
      return file.ends_with("strategies/sequence.cpp") || file.ends_with("operations/running_sum.cpp");
    });
    INFO(entry.path().filename() << ":\n" << words_in(missing));
    CHECK(missing.empty());
  }
}
