#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddl {

// A transcript is a text that shows commands and what they print, and is run as a test:
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
// `? N` is the exit code, 0 where none is written. A command goes on after a `\` at its end and in lines that start with `>
// `. An output line that would be taken for something else starts with a `\`, which is dropped; so a lone `\` is an empty
// line. Other empty lines at the end of an output do not count. ` (no-eol)` ends a last line that lacks its line break.
//
// A figure of standard output matches any figure, in any alignment (without_figures.hpp), so that a better formula does not
// change what a transcript says. Behind a line `# figures: exact` every figure counts, up to a line `# figures: any`.
// Figures always count in standard error, in the whole output of a command with exit code 2, and in a markdown file.
//
// In a markdown file, each ```console block is a piece of one transcript without comments, `! ` and `< file`: both outputs
// are expected as one, as a terminal shows them. A block with a name behind its language (```yaml job.yaml) creates that
// file.

/// One line of an expected output: a text in which `[..]` stands for anything, or any number of lines.
struct LinePattern {
  std::string text;
  bool any_lines = false;
};

/// Whether a figure of standard output must be the one that is written, or may be any.
enum class Figures : std::uint8_t { any, exact };

/// A command as written, and what must come of it.
struct TranscriptCommand {
  std::string shell;  ///< what `sh -c` runs
  std::vector<LinePattern> output;
  std::vector<LinePattern> errors;
  int exit_code = 0;
  Figures figures = Figures::exact;
  std::size_t line = 0;            ///< index of the first line of the command
  std::size_t expected_begin = 0;  ///< the lines [expected_begin, expected_end) say what is expected
  std::size_t expected_end = 0;
};

struct TranscriptFile {
  std::string name;
  std::string content;
};

enum class TranscriptForm { plain, markdown };

/// A parsed transcript.
struct Transcript {
  std::string origin;  ///< for messages
  TranscriptForm form = TranscriptForm::plain;
  std::vector<std::string> lines;
  std::vector<std::variant<TranscriptFile, TranscriptCommand>> steps;
};

/// What came of a command.
struct CommandOutcome {
  std::string output;
  std::string errors;
  int exit_code = 0;
  bool timed_out = false;
};

/// An Error, placed in the text, for whatever is not understood, and for a text without any command.
[[nodiscard]] Transcript parse_transcript(std::string_view text, std::string origin, TranscriptForm form);

/// The lines of `expected` and `actual` side by side, `-` and `+` before those that differ; empty when none does.
[[nodiscard]] std::string output_difference(std::span<const LinePattern> expected, std::string_view actual, Figures figures);

/// What is wrong with an outcome, with the command and its place; empty when it is as expected.
[[nodiscard]] std::string judge(const Transcript& transcript, const TranscriptCommand& command,
                                const CommandOutcome& outcome);

/// The text of the transcript with the outcomes, one for each command, in place of what they differ from, figures included.
/// Lines with `[..]` and `...` stay where they match.
[[nodiscard]] std::string accept_outcomes(const Transcript& transcript, std::span<const CommandOutcome> outcomes);

}  // namespace ddl
