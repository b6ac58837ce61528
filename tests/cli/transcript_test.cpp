#include "tests/cli/transcript.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/cli/sandbox.hpp"

namespace {

using ddl::TranscriptForm;

struct Result {
  std::string report;
  std::string accepted;
};

Result run(std::string_view text, TranscriptForm form = TranscriptForm::plain) {
  const ddl::Transcript transcript = ddl::parse_transcript(text, "t", form);
  const ddl::Sandbox sandbox(TRANSCRIPT_PROGRAM, std::chrono::seconds(20));
  Result result;
  std::vector<ddl::CommandOutcome> outcomes;
  for (const auto& step : transcript.steps) {
    if (const auto* file = std::get_if<ddl::TranscriptFile>(&step)) {
      sandbox.write(*file);
    } else {
      const auto& command = std::get<ddl::TranscriptCommand>(step);
      outcomes.push_back(sandbox.run(command.shell, form == TranscriptForm::markdown));
      result.report += ddl::judge(transcript, command, outcomes.back());
    }
  }
  result.accepted = ddl::accept_outcomes(transcript, outcomes);
  return result;
}

/// Returns the differences when a transcript is run; empty if there are none.
std::string report_of(std::string_view text) { return run(text).report; }
std::string markdown_report_of(std::string_view text) { return run(text, TranscriptForm::markdown).report; }

std::string problem_of(std::string_view text, TranscriptForm form = TranscriptForm::plain) {
  try {
    (void)ddl::parse_transcript(text, "t", form);
  } catch (const ddl::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a transcript passes if its commands print the expected output") {
  CHECK(report_of("$ echo one; echo two\none\ntwo\n").empty());
  CHECK(report_of("# a comment\n\n$ echo one\none\n\n# another\n$ true\n").empty());
}

TEST_CASE("a wrong output fails, with the place, the command and the lines that differ") {
  CHECK(report_of("\n$ echo one; echo two; echo three\none\n2\nthree\n") ==
        "t:2: $ echo one; echo two; echo three\n"
        "  output (- expected, + was):\n"
        "      one\n"
        "    - 2\n"
        "    + two\n"
        "      three\n");
}

TEST_CASE("a missing and an unexpected line of output fail") {
  CHECK(report_of("$ echo one\none\ntwo\n").find("- two") != std::string::npos);
  CHECK(report_of("$ echo one; echo two\none\n").find("+ two") != std::string::npos);
  CHECK(report_of("$ echo one\n").find("+ one") != std::string::npos);
  CHECK(report_of("$ true\none\n").find("- one") != std::string::npos);
}

TEST_CASE("standard error is compared separately from standard output") {
  CHECK(report_of("$ echo wrong >&2; echo right\nright\n! wrong\n").empty());
  CHECK(report_of("$ echo wrong >&2\n! other\n").find("errors") != std::string::npos);
  CHECK(report_of("$ echo wrong >&2\n").find("errors") != std::string::npos);
  CHECK(report_of("$ echo wrong >&2\nwrong\n").find("+ wrong") != std::string::npos);
  CHECK(report_of("$ true\n! wrong\n").find("- wrong") != std::string::npos);
  CHECK(report_of("$ echo one >&2; echo >&2; echo two >&2\n! one\n!\n! two\n").empty());
}

TEST_CASE("the exit code must be the expected one, by default 0") {
  CHECK(report_of("$ exit 3\n? 3\n").empty());
  CHECK(report_of("$ exit 3\n").find("exit code: expected 0, was 3") != std::string::npos);
  CHECK(report_of("$ exit 3\n? 1\n").find("exit code: expected 1, was 3") != std::string::npos);
  CHECK(report_of("$ true\n? 1\n").find("exit code: expected 1, was 0") != std::string::npos);
  CHECK(report_of("$ kill -9 $$\n? 137\n").empty());
}

TEST_CASE("[..] matches any text within a line") {
  CHECK(report_of("$ echo 'took 12.5 ms in all'\ntook [..] ms in all\n").empty());
  CHECK(report_of("$ echo 'took 12.5 ms in all'\n[..]12.5[..]\n").empty());
  CHECK(report_of("$ echo one\none[..]\n").empty());
  CHECK_FALSE(report_of("# figures: exact\n$ echo 'took 12.5 ms in all'\ntook [..] s in all\n").empty());
  CHECK_FALSE(report_of("$ echo 'took 12.5 ms in all'\n[..] ms\n").empty());
  CHECK_FALSE(report_of("$ echo aba\nab[..]ba\n").empty());  // the two ends of the pattern must not overlap
}

TEST_CASE("... matches any number of lines, including none") {
  CHECK(report_of("# figures: exact\n$ seq 9\n1\n...\n9\n").empty());
  CHECK(report_of("# figures: exact\n$ seq 9\n...\n").empty());
  CHECK(report_of("# figures: exact\n$ seq 2\n1\n...\n2\n...\n").empty());
  CHECK(report_of("# figures: exact\n$ seq 9\n...\n3\n...\n7\n...\n").empty());
  CHECK(report_of("# figures: exact\n$ seq 9 >&2\n! 1\n! ...\n! 9\n").empty());
  CHECK_FALSE(report_of("# figures: exact\n$ seq 9\n1\n...\n8\n").empty());
  CHECK_FALSE(report_of("# figures: exact\n$ seq 9\n...\n7\n...\n3\n...\n").empty());
  CHECK(report_of("# figures: exact\n$ seq 9\n1\n...\n8\n").find("- 8") ==
        std::string::npos);  // 8 is expected; only 9 is wrong
}

TEST_CASE("a backslash makes a line output that would be parsed as something else") {
  CHECK(
      report_of("$ echo '$ x'; echo '# x'; echo '! x'; echo '? 2'; echo ...\n\\$ x\n\\# x\n\\! x\n\\? 2\n\\...\n").empty());
  CHECK_FALSE(report_of("$ seq 3\n\\...\n").empty());
}

TEST_CASE("empty lines count within an output, and at its end only if marked") {
  CHECK(report_of("$ echo one; echo; echo two\none\n\ntwo\n\n\n").empty());
  CHECK_FALSE(report_of("$ echo one; echo two\none\n\ntwo\n").empty());
  CHECK_FALSE(report_of("$ echo one; echo\none\n\n").empty());
  CHECK(report_of("$ echo one; echo\none\n\\\n").empty());
  CHECK(report_of("$ echo one; echo wrong >&2\none\n\n! wrong\n").empty());
}

TEST_CASE("a figure of standard output matches any figure") {
  CHECK(report_of("$ echo 'took 12.5 ms in 3 steps'\ntook 2 s in 64 steps\n").empty());
  CHECK(report_of("$ echo '  forward     82.1   27 %'\n  forward  3.50  9 %\n").empty());
  CHECK(report_of("$ echo '1,128,256'\n4,16,32\n").empty());
  CHECK(report_of("$ echo 'took 12.5 ms in all'\ntook 3 s in [..]\n").empty());
  CHECK(report_of("$ echo '  12 data 5'\n  [..] data 6\n").empty());
  CHECK(report_of("$ seq 9\n5\n...\n1\n").empty());
}

TEST_CASE("a difference in anything but figures fails if any figure is allowed") {
  CHECK_FALSE(report_of("$ echo 'took 12.5 ms'\ntakes 12.5 ms\n").empty());           // another word
  CHECK_FALSE(report_of("$ echo 'took 12.5 ms'; exit 1\ntook 3 ms\n").empty());       // another exit code
  CHECK_FALSE(report_of("$ echo 'took 12.5 ms'; exit 1\ntook 3 ms\n? 3\n").empty());  // another exit code
  CHECK_FALSE(report_of("$ seq 3\n1\n2\n").empty());                                  // an additional line
  CHECK_FALSE(report_of("$ seq 3\n1\n2\n3\n4\n").empty());                            // a missing line
  CHECK_FALSE(report_of("$ echo 'bound by 12'\nbound by forward\n").empty());         // a figure in place of a word
  CHECK_FALSE(report_of("$ echo 'bound by forward'\nbound by 12\n").empty());         // a word in place of a figure
  CHECK_FALSE(report_of("$ echo 'took nan ms'\ntook 12.5 ms\n").empty());
  CHECK_FALSE(report_of("$ echo 'took inf ms'\ntook 12.5 ms\n").empty());
  CHECK_FALSE(report_of("$ echo 'took -inf ms'\ntook 12.5 ms\n").empty());
  CHECK_FALSE(report_of("$ echo 'took - ms'\ntook 12.5 ms\n").empty());
  CHECK_FALSE(report_of("$ echo 'took 12.5'\ntook 12.5 ms\n").empty());  // no unit
  CHECK_FALSE(report_of("$ echo 'took 12.5 ms in all'\ntook [..] MiB in all\n").empty());
  CHECK_FALSE(report_of("$ printf 12\n34\n").empty());
}

TEST_CASE("a difference shows the lines as they are, figures included") {
  CHECK(report_of("$ echo 12 ms; echo done\n3 s\nended\n") ==
        "t:1: $ echo 12 ms; echo done\n"
        "  output (- expected, + was):\n"
        "      12 ms\n"
        "    - ended\n"
        "    + done\n");
}

TEST_CASE("figures are compared in standard error, and in all output of a command with exit code 2") {
  CHECK_FALSE(report_of("$ echo 'line 4' >&2\n! line 5\n").empty());
  CHECK_FALSE(report_of("$ echo ' 12 ^' >&2; exit 2\n! 12 ^\n? 2\n").empty());
  CHECK_FALSE(report_of("$ echo 12; exit 2\n13\n? 2\n").empty());
  CHECK(report_of("$ echo 12; exit 1\n13\n? 1\n").empty());
}

TEST_CASE("figures are compared after '# figures: exact', until '# figures: any'") {
  CHECK(report_of("# figures: exact\n$ echo 12\n12\n").empty());
  CHECK_FALSE(report_of("# figures: exact\n$ echo 12\n13\n").empty());
  CHECK_FALSE(report_of("# figures: exact\n$ echo 12\n12\n$ echo 1  2\n1  2\n").empty());
  CHECK(report_of("# figures: exact\n$ echo 12\n12\n# figures: any\n$ echo 12\n13\n").empty());
  CHECK_FALSE(report_of("$ echo 12\n13\n# figures: exact\n$ echo 12\n13\n").empty());
  CHECK(problem_of("$ true\n# figures: exactly\n$ true\n") == "t:2: figures are 'exact' or 'any', not 'exactly'");
}

TEST_CASE("figures of a markdown file are compared only for commands with exit code 2") {
  CHECK(markdown_report_of("```console\n$ echo 12\n13\n```\n").empty());
  CHECK_FALSE(markdown_report_of("```console\n$ echo 12; exit 2\n13\n? 2\n```\n").empty());
}

TEST_CASE("a missing final line break is reported") {
  CHECK(report_of("$ printf one\none (no-eol)\n").empty());
  CHECK_FALSE(report_of("$ printf one\none\n").empty());
}

TEST_CASE("a command may have several lines") {
  CHECK(report_of("$ echo one \\\n    two\none two\n").empty());
  CHECK(report_of("$ cat <<END\n> one\n> two\n> END\none\ntwo\n").empty());
}

TEST_CASE("the commands of a transcript run in a fresh folder, in which the transcript may create files") {
  CHECK(report_of("$ ls\n").empty());
  CHECK(report_of("< file a/b.txt\n# not a comment\n\n$ neither a command\n< end\n"
                  "$ cat a/b.txt\n\\# not a comment\n\n\\$ neither a command\n")
            .empty());
  CHECK(report_of("$ echo one > f\n$ cat f\none\n").empty());
}

TEST_CASE("commands have no input, no colors and 100 columns") {
  CHECK(report_of("$ cat\n$ echo $NO_COLOR ${COLUMNS:-unset}\n1 unset\n").empty());
  CHECK(report_of("$ command -v transcript > /dev/null\n").empty());  // in the folder of the given program
}

TEST_CASE("a command that does not end is killed") {
  const ddl::Transcript transcript = ddl::parse_transcript("$ sleep 100; true\n", "t", TranscriptForm::plain);
  const auto& command = std::get<ddl::TranscriptCommand>(transcript.steps.front());
  const ddl::Sandbox sandbox(TRANSCRIPT_PROGRAM, std::chrono::milliseconds(50));
  CHECK(ddl::judge(transcript, command, sandbox.run(command.shell, false)).find("did not end in time") != std::string::npos);
}

TEST_CASE("accepting rewrites only lines that differ") {
  CHECK(run("# why\n$ echo one\n1\n\n$ seq 9\n1\n...\n9\n\n$ exit 1\n").accepted ==
        "# why\n$ echo one\none\n\n$ seq 9\n1\n...\n9\n\n$ exit 1\n? 1\n");
  // An expectation that matches keeps its wildcards.
  CHECK(run("$ echo 12 ms; echo b >&2\n[..] ms\n! a\n").accepted == "$ echo 12 ms; echo b >&2\n[..] ms\n! b\n");
  CHECK(run("$ true\nnothing\n! at all\n? 3\n").accepted == "$ true\n");
}

TEST_CASE("accepting rewrites figures that match, and keeps the wildcards around them") {
  CHECK(run("$ echo 12 ms; echo 'of  64'\n3 s\nof 64\n").accepted == "$ echo 12 ms; echo 'of  64'\n12 ms\nof  64\n");
  CHECK(run("$ echo 12 ms in 5; seq 9; echo end\n[..] ms in 4\n...\n8\n9\nEnd\n").accepted ==
        "$ echo 12 ms in 5; seq 9; echo end\n[..] ms in 4\n...\n8\n9\nend\n");
}

TEST_CASE("an accepted transcript passes") {
  const std::string accepted =
      run("$ echo '$ x'; echo; echo '# y'; echo '> z'; echo; echo '\\'; echo ...; echo '? 1'; echo\n"
          "$ echo '...' >&2; echo >&2; exit 7\n"
          "$ printf one\n")
          .accepted;
  INFO(accepted);
  CHECK(report_of(accepted).empty());
}

TEST_CASE("text that is not a transcript is refused, with the line") {
  CHECK(problem_of("$ true\n# x\nstray\n") ==
        "t:3: expected a command ('$ '), a comment ('# ') or a file ('< file '), not 'stray'");
  CHECK(problem_of("\n< file x\nabc\n$ true\n") == "t:2: the file has no '< end'");
  CHECK(problem_of("# nothing to run\n") == "t:1: no command ('$ ') to run");
  CHECK(problem_of("") == "t:1: no command ('$ ') to run");
}

TEST_CASE("only the console blocks of a markdown file are run") {
  CHECK(markdown_report_of(
            "# Title\n\n```sh\n$ false\n```\n\n```console\n$ echo one\none\n\n$ echo '# two'\n# two\n```\n$ false\n")
            .empty());
  CHECK(markdown_report_of("text\n```console\n$ echo one\n1\n```\n") ==
        "t:3: $ echo one\n  output (- expected, + was):\n    - 1\n    + one\n");
  CHECK(markdown_report_of("```console\n$ exit 2\n```\n").find("expected 0, was 2") != std::string::npos);
  CHECK(markdown_report_of("```console\n$ exit 2\n? 2\n```\n").empty());
}

TEST_CASE("in a markdown file, standard output and standard error are one output") {
  CHECK(markdown_report_of("```console\n$ echo one; echo two >&2; echo three\none\ntwo\nthree\n```\n").empty());
}

TEST_CASE("a markdown block with a name creates a file") {
  CHECK(markdown_report_of("```yaml job.yaml\nformat: 1\n```\n```console\n$ cat job.yaml\nformat: 1\n```\n").empty());
}

TEST_CASE("./dev run in a markdown file runs the program") {
  const ddl::Transcript transcript =
      ddl::parse_transcript("```console\n$ ./dev run check \\\n    a.yaml\n```\n", "t", TranscriptForm::markdown);
  CHECK(std::get<ddl::TranscriptCommand>(transcript.steps.front()).shell == "ddl-oracle check \\\n    a.yaml");
}

TEST_CASE("accepting keeps a markdown file's text") {
  CHECK(run("# Title\n```console\n$ echo one\n1\n\n$ echo '```'\n```\ntext\n\n", TranscriptForm::markdown).accepted ==
        "# Title\n```console\n$ echo one\none\n\n$ echo '```'\n\\```\n```\ntext\n\n");
}

TEST_CASE("a markdown file that would not be tested is refused") {
  CHECK(problem_of("```sh\n$ true\n```\n", TranscriptForm::markdown) == "t:1: no command ('$ ') to run");
  CHECK(problem_of("a\n```console\n$ true\n", TranscriptForm::markdown) == "t:2: the block that starts here does not end");
  CHECK(problem_of("- a\n  ```console\n  $ true\n  ```\n", TranscriptForm::markdown).starts_with("t:2: a console block"));
  CHECK(problem_of("```console\n\ntrue\n```\n", TranscriptForm::markdown) ==
        "t:3: a console block starts with a command ('$ '), not with 'true'");
}

TEST_CASE("the program ends with 0, 1 or 2, and rewrites its file only with DDL_ACCEPT=1") {
  // Transcripts of the transcript runner itself: it is in the folder of the program that is on PATH.
  CHECK(report_of("< file good.transcript\n$ echo one\none\n< end\n"
                  "$ transcript x good.transcript\n"
                  "< file bad.transcript\n$ echo one\n1\n< end\n"
                  "$ transcript x bad.transcript\n...\n? 1\n"
                  "$ cat bad.transcript\n\\$ echo one\n1\n"
                  "$ DDL_ACCEPT=1 transcript x bad.transcript\n...\naccepted: bad.transcript\n"
                  "$ cat bad.transcript\n\\$ echo one\none\n"
                  "$ transcript x bad.transcript\n"
                  "< file other.transcript\n$ echo 12\n3\n< end\n"
                  "$ transcript x other.transcript\n"
                  "$ DDL_ACCEPT=1 transcript x other.transcript\naccepted: other.transcript\n"
                  "# figures: exact\n"
                  "$ cat other.transcript\n\\$ echo 12\n12\n"
                  "$ DDL_ACCEPT=1 transcript x other.transcript\n"
                  "$ transcript\n! usage: transcript [--markdown] PROGRAM FILE\n? 2\n"
                  "$ transcript x nowhere\n! transcript: cannot read nowhere\n? 2\n"
                  "< file readme.md\n```console\n$ echo one\n1\n```\n< end\n"
                  "$ transcript --markdown x readme.md\n...\n? 1\n")
            .empty());
}
