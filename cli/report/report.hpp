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

/// The verdict of a report about one file, for programs that collect verdicts.
struct FileVerdict {
  enum class Level { passed, at_risk, failed, not_judged };
  std::string file;
  int line = 1, column = 1;  ///< position in the file
  Level level = Level::passed;
  std::string title{};    ///< the verdict: `does not fit`
  std::string summary{};  ///< one line
  std::string message{};  ///< several lines
  Document document{};    ///< complete report; empty if the file was not checked
};

/// A predicted step; see cli/report/steps.hpp.
struct NamedStep;

/// The possible contents of a report; document and JSON always exist.
enum class Content { document, json, rows, verdicts, yaml, steps };

/// The result of a command, for every format. Nothing is printed before the whole result is computed.
struct Report {
  Document document{};
  std::function<Document()> page{};  ///< the document with drawings; empty if the report has none
  std::function<nlohmann::ordered_json()> json{};
  std::function<nlohmann::ordered_json()> rows{};   ///< flat objects with the same keys; or the text of a file
  std::function<std::string()> yaml{};              ///< a file that the program can read
  std::function<std::vector<NamedStep>()> steps{};  ///< steps of the answer's plans; throws Error if a step cannot be drawn
  std::vector<FileVerdict> verdicts{};
  std::vector<std::string> warnings{};  ///< each warning has one or several lines
  std::vector<Error> errors{};          ///< errors of those parts of the question that could not be answered
  std::vector<std::string> next{};      ///< suggested next commands, for users at a terminal
  std::string command{};                ///< the command line in shell syntax; empty if there was none
  /// Adds a suggested next command, given as words.
  [[nodiscard]] Report then(const std::vector<std::string>& words) &&;
  ExitStatus status = ExitStatus::ok;

  /// Adds warnings that are new. Several studies may have the same warnings.
  void warn(const std::vector<std::string>& more) {
    for (const std::string& warning : more) {
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
    }
  }
};

/// How and where to write a report. All commands have these options.
struct ReportOptions {
  std::string format = "text";
  std::string output;          ///< the output file; empty or `-`: stdout
  std::string color = "auto";  ///< auto, always, never
  bool wide = false;           ///< text tables have all columns
  bool ascii = false;          ///< ASCII characters only
  bool quiet = false;          ///< no warnings
};

/// Whether `--output` names a file: `-` is the standard output.
[[nodiscard]] inline bool is_file(const std::string& output) { return !output.empty() && output != "-"; }

/// Writes atomically to the file that `option` names. Throws Error if the program read this file as an input.
void write_output(const std::string& path, std::string_view content, std::string_view option = "--output");

/// Writes a file that a command updates, and that it may therefore have read as an input. `made`: as in write_file.
Written write_over(const std::string& path, std::string_view content, const std::function<void(int)>& made = {});

/// Escapes a text for stderr, so that no line is read as a command by the GitHub Actions runner. The runner recognizes `::`
/// after blanks, and the older `##[` anywhere [actions/runner, ActionCommand.cs]; a job file in a pull request may contain
/// both.
[[nodiscard]] std::string defused(std::string_view text);

/// Prints each warning once to stderr, with its number of repetitions.
void print_warnings(std::vector<std::string> warnings);
/// Prints `warning: …` to stderr. Like print_error(), escapes terminal control characters, because the text may contain file
/// names.
void print_warning(const std::string& warning);

/// Prints `error: …` and `hint: …` to stderr.
void print_error(const std::string& message, const std::string& hint);

/// Writes the report to stdout, or atomically to the file. Warnings and unanswered parts go to stderr.
void write_report(const Report& report, const ReportOptions& options);

}  // namespace ddl
