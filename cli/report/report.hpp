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

/// How one file fares that a report judges, for programs that gather such verdicts.
struct FileVerdict {
  enum class Level { passed, at_risk, failed, not_judged };
  std::string file;
  int line = 1, column = 1;  ///< in it
  Level level = Level::passed;
  std::string title{};    ///< `does not fit`
  std::string summary{};  ///< one line
  std::string message{};  ///< several
  Document document{};    ///< all of it; empty where the file was not judged
};

/// A predicted step, as cli/report/steps.hpp has it.
struct NamedStep;

/// What a report may hold; document and JSON are always there.
enum class Content { document, json, rows, verdicts, yaml, steps };

/// What a command found out, for every format. Nothing is printed before all of it is computed.
struct Report {
  Document document{};
  std::function<Document()> page{};  ///< the document with its drawings; empty where it has none
  std::function<nlohmann::ordered_json()> json{};
  std::function<nlohmann::ordered_json()> rows{};   ///< flat objects with the same keys; or text, where they are a file's
  std::function<std::string()> yaml{};              ///< a file that the program reads back
  std::function<std::vector<NamedStep>()> steps{};  ///< of the plans that it answers with; Error where one cannot be drawn
  std::vector<FileVerdict> verdicts{};
  std::vector<std::string> warnings{};  ///< beside it, each one line or several
  std::vector<Error> errors{};          ///< parts of the question that have no answer, where others have
  std::vector<std::string> next{};      ///< commands that go on from here, for whoever reads it on a terminal
  std::string command{};                ///< the command line that it answers, for a shell; empty where nobody typed one
  /// Adds a command, by its words, to what goes on from here.
  [[nodiscard]] Report then(const std::vector<std::string>& words) &&;
  ExitStatus status = ExitStatus::ok;

  /// Those that it does not have yet: several studies may warn of the same.
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
  bool wide = false;           ///< tables of text have all columns
  bool ascii = false;          ///< text has no sign but those of ASCII
  bool quiet = false;          ///< no warnings
};

/// Whether `--output` names a file: `-` is the standard output.
[[nodiscard]] inline bool is_file(const std::string& output) { return !output.empty() && output != "-"; }

/// Writes whole or not at all to the file of `option`. Throws Error where that is a file that was read.
void write_output(const std::string& path, std::string_view content, std::string_view option = "--output");

/// The same for a file that may have been read, since it is renewed. `made`: as write_file has it.
Written write_over(const std::string& path, std::string_view content, const std::function<void(int)>& made = {});

/// A text for stderr, of which no line is a command of the runner of GitHub Actions. It takes as one what begins with `::`
/// behind blanks, and the older `##[` wherever it stands [actions/runner, ActionCommand.cs]; a job file of a pull request
/// may hold both.
[[nodiscard]] std::string defused(std::string_view text);

/// Each once, with the number of times that it is repeated, to stderr.
void print_warnings(std::vector<std::string> warnings);
/// `warning: …` to stderr. It may name files: what a terminal takes as a command stands as an escape, here and in errors.
void print_warning(const std::string& warning);

/// `error: …` and `hint: …` to stderr.
void print_error(const std::string& message, const std::string& hint);

/// Writes the report to stdout, or whole or not at all to the file; what it warns of and could not answer to
/// stderr.
void write_report(const Report& report, const ReportOptions& options);

}  // namespace ddl
