#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/document.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/write_file.hpp"

namespace ddl {

/// The exit status of the program. 2 always means "could not answer". An interrupted command
/// reports a partial result, and returns the status that shells use for Ctrl-C.
enum class ExitStatus : int {
  ok = 0,
  nothing_fits = 1,
  beyond_tolerance = 1,
  incomplete = 1,  ///< the report was written; it lists measurements that are still needed
  could_not_answer = 2,
  at_risk = 3,
  interrupted = 130
};

/// The verdict of a report about one file, for programs that collect verdicts.
struct FileVerdict {
  enum class Level { passed, at_risk, failed, not_judged };
  std::string file;
  int line = 1, column = 1;  ///< position in the file
  Level level = Level::passed;
  bool is_allowed = false;  ///< whether a file at risk passes the check
  std::string title{};      ///< the verdict in a few words: `does not fit`
  std::string summary{};    ///< the verdict in one line
  std::string message{};    ///< the verdict in several lines
  Document document{};      ///< the report on the file; empty if the file was not checked
};

/// A predicted step; see cli/report/steps.hpp.
struct NamedStep;

/// The contents that a report may have. Every report has a document and JSON.
enum class Content { document, json, rows, verdicts, yaml, steps };

/// The result of a command, for every format. Nothing is printed before the whole result is computed.
struct Report {
  Document document{};
  std::function<Document()> page{};  ///< the document with drawings; empty if the report has none
  std::function<nlohmann::ordered_json()> json{};
  std::function<nlohmann::ordered_json()> rows{};   ///< flat objects with equal keys, or the text of a CSV file
  std::function<std::string()> yaml{};              ///< a file that the program can read
  std::function<std::vector<NamedStep>()> steps{};  ///< predicted steps of the plans; throws Error if a step cannot be drawn
  std::vector<FileVerdict> verdicts{};
  std::vector<std::string> warnings{};  ///< each warning has one or several lines
  std::vector<Error> errors{};          ///< one error for each part of the question without an answer
  std::vector<std::string> next{};      ///< suggested next commands, for users at a terminal
  std::string command{};                ///< the command line in shell syntax; empty if no command line was given
  /// Adds a suggested next command, given as words.
  [[nodiscard]] Report then(const std::vector<std::string>& words) &&;
  ExitStatus status = ExitStatus::ok;

  /// Adds those warnings that the report does not have yet, because several studies may have the same warnings.
  void warn(const std::vector<std::string>& more) {
    for (const std::string& warning : more) {
      if (!contains(warnings, warning)) warnings.push_back(warning);
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

/// Whether the value of `--output` names a file. `-` is the standard output.
[[nodiscard]] inline bool is_file(const std::string& output) { return !output.empty() && output != "-"; }

/// Writes atomically to the file that `option` names. Throws Error if the program has read this file as an input.
void write_output(const std::string& path, std::string_view content, std::string_view option = "--output");
/// Throws Error with `hint` if the value of `--output` names an existing file.
void refuse_existing(const std::string& output, const std::string& hint);

/// Writes a file that the command updates, and therefore may have read as an input. `made`: called
/// with the descriptor of the complete file, before the file has its final name.
Written write_over(const std::string& path, std::string_view content, const std::function<void(int)>& made = {});

/// Escapes a text for stderr, so that the GitHub Actions runner reads no line as a command. The
/// runner recognizes `::` after spaces, and the older `##[` anywhere [actions/runner,
/// ActionCommand.cs]. A job file in a pull request may contain both forms.
[[nodiscard]] std::string defused(std::string_view text);

/// Prints each warning once to stderr, with its number of repetitions.
void print_warnings(std::vector<std::string> warnings);
/// Prints `warning: …` to stderr. Escapes terminal control characters, because the text may contain file names.
void print_warning(const std::string& warning);

/// Prints `error: …` and `hint: …` to stderr.
void print_error(const std::string& message, const std::string& hint);

/// Writes the report to stdout, or atomically to the file. Warnings and unanswered parts go to stderr.
void write_report(const Report& report, const ReportOptions& options);

}  // namespace ddl
