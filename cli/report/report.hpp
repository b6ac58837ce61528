#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/document.hpp"
#include "cli/report/exit_status.hpp"
#include "core/error.hpp"
#include "core/write_file.hpp"

namespace ddl {

/// A report's verdict on one file, for programs that collect such verdicts.
struct FileVerdict {
  enum class Level { passed, at_risk, failed, not_judged };
  std::string file;
  int line = 1, column = 1;  ///< position in it
  Level level = Level::passed;
  std::string title{};    ///< `does not fit`
  std::string summary{};  ///< one line
  std::string message{};  ///< several lines
  Document document{};    ///< complete report; empty if the file was not checked
};

/// A predicted step, see cli/report/steps.hpp.
struct NamedStep;

/// The possible contents of a report; document and JSON always exist.
enum class Content { document, json, rows, verdicts, yaml, steps };

/// The result of a command, for every format. Nothing is printed before all of it is computed.
struct Report {
  Document document{};
  std::function<Document()> page{};  ///< the document with its drawings; empty if it has none
  std::function<nlohmann::ordered_json()> json{};
  std::function<nlohmann::ordered_json()> rows{};   ///< flat objects with the same keys; or text, if they are a file
  std::function<std::string()> yaml{};              ///< a file that the program can read
  std::function<std::vector<NamedStep>()> steps{};  ///< of the plans in the answer; Error if one cannot be drawn
  std::vector<FileVerdict> verdicts{};
  std::vector<std::string> warnings{};  ///< each has one or several lines
  std::vector<Error> errors{};          ///< parts of the question that could not be answered, while others could
  std::vector<std::string> next{};      ///< suggested next commands, for users at a terminal
  std::string command{};                ///< the command line, in shell syntax; empty if there was none
  /// Adds a suggested next command, by its words.
  [[nodiscard]] Report then(const std::vector<std::string>& words) &&;
  ExitStatus status = ExitStatus::ok;

  /// Adds only new ones: several studies may have the same warnings.
  void warn(const std::vector<std::string>& more) {
    for (const std::string& warning : more) {
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
    }
  }
};

/// How and where to write a report; the same for all commands.
struct ReportOptions {
  std::string format = "text";
  std::string output;          ///< file; empty or `-`: stdout
  std::string color = "auto";  ///< auto, always, never
  bool wide = false;           ///< text tables have all columns
  bool ascii = false;          ///< ASCII characters only
  bool quiet = false;          ///< no warnings
};

/// Whether `--output` names a file: `-` is the standard output.
[[nodiscard]] inline bool is_file(const std::string& output) { return !output.empty() && output != "-"; }

/// Writes atomically to the file of `option`. Throws Error if that file was read as an input.
void write_output(const std::string& path, std::string_view content, std::string_view option = "--output");

/// The same for a file that may have been read, since it is updated. `made`: as in write_file.
Written write_over(const std::string& path, std::string_view content, const std::function<void(int)>& made = {});

/// Escapes a text for stderr, so that no line is a command of the GitHub Actions runner. The runner recognizes `::` after
/// blanks, and the older `##[` anywhere [actions/runner, ActionCommand.cs]; a job file in a pull request may contain both.
[[nodiscard]] std::string defused(std::string_view text);

/// Prints each one once to stderr, with its number of repetitions.
void print_warnings(std::vector<std::string> warnings);
/// `warning: …` to stderr. It may contain file names: terminal control characters are escaped, here and in errors.
void print_warning(const std::string& warning);

/// `error: …` and `hint: …` to stderr.
void print_error(const std::string& message, const std::string& hint);

/// Writes the report to stdout, or atomically to the file; warnings and unanswered parts to stderr.
void write_report(const Report& report, const ReportOptions& options);

}  // namespace ddl
