#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddl {

// A transcript is a text with commands and their output, and is run as a test:
//
//   # A comment.
//   < file job.yaml
//   format: 1
//   < end
//   $ ddl-oracle check job.yaml
//   a line of standard output
//   any [..] text within a line, and any number of lines:
//   ...
//   ! a line of standard error
//   ? 2
//
// `? N` is the exit code, 0 by default. A command continues after a `\` at its end and in lines that start with `> `. An
// output line that would be parsed as something else is escaped by a leading `\`; so a single `\` is an empty line. Other
// empty lines at the end of an output do not count. ` (no-eol)` ends a last line that lacks its line break.
//
// A figure of standard output matches any figure, in any alignment (without_figures.hpp), so that a better formula does not
// change transcripts. After a line `# figures: exact` every figure counts, up to a line `# figures: any`. Figures always
// count in standard error, and in the whole output of a command with exit code 2.
//
// In a markdown file, each ```console block is a part of one transcript without comments, `! ` and `< file`: both outputs
// are expected as one, as a terminal shows them. A block with a name after its language (```yaml job.yaml) creates that
// file.

/// One line of an expected output: a text in which `[..]` matches any text, or a line that matches any number of lines.
struct LinePattern {
  std::string text;
  bool any_lines = false;
};

/// Whether a figure of standard output must match exactly, or may have any value.
enum class Figures : std::uint8_t { any, exact };

/// A command as written, and its expected outcome.
struct TranscriptCommand {
  std::string shell;  ///< command line that `sh -c` runs
  std::vector<LinePattern> output;
  std::vector<LinePattern> errors;
  int exit_code = 0;
  Figures figures = Figures::exact;
  std::size_t line = 0;            ///< index of the first line of the command
  std::size_t expected_begin = 0;  ///< the lines [expected_begin, expected_end) contain the expectation
  std::size_t expected_end = 0;
};

struct TranscriptFile {
  std::string name;
  std::string content;
};

enum class TranscriptForm { plain, markdown };

/// A parsed transcript.
struct Transcript {
  std::string origin;  ///< name of the file, for messages
  TranscriptForm form = TranscriptForm::plain;
  std::vector<std::string> lines;
  std::vector<std::variant<TranscriptFile, TranscriptCommand>> steps;
};

/// The outcome of a command.
struct CommandOutcome {
  std::string output;
  std::string errors;
  int exit_code = 0;
  bool timed_out = false;
};

/// Parses a transcript. Throws Error, with the position in the text, for invalid lines, and for a text without any command.
[[nodiscard]] Transcript parse_transcript(std::string_view text, std::string origin, TranscriptForm form);

/// Returns the lines of `expected` and `actual` as a diff, with `-` or `+` before lines that
/// differ; empty if no line differs.
[[nodiscard]] std::string output_difference(std::span<const LinePattern> expected, std::string_view actual, Figures figures);

/// Returns the differences of an outcome, with the command and its position; empty if the outcome is as expected.
[[nodiscard]] std::string judge(const Transcript& transcript, const TranscriptCommand& command,
                                const CommandOutcome& outcome);

/// Returns the text of the transcript with differing expectations replaced by the outcomes, figures included. There is one
/// outcome for each command. Lines with `[..]` and `...` are kept if they match.
[[nodiscard]] std::string accept_outcomes(const Transcript& transcript, std::span<const CommandOutcome> outcomes);

}  // namespace ddl
