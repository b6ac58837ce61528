// Usage: transcript [--markdown] PROGRAM FILE. Runs the commands in FILE with PROGRAM's folder on
// PATH, and exits with 0 if all outputs match, else with 1. With DDL_ACCEPT=1 in the environment,
// writes the outputs into FILE, figures included, and exits with 0.

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "tests/cli/sandbox.hpp"
#include "tests/cli/transcript.hpp"

namespace {

int run(const std::string& program, const std::string& path, ddl::TranscriptForm form) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ddl::Error("cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const ddl::Transcript transcript = ddl::parse_transcript(text, path, form);

  const ddl::Sandbox sandbox(program);
  std::vector<ddl::CommandOutcome> outcomes;
  std::string report;
  for (const auto& step : transcript.steps) {
    if (const auto* file = std::get_if<ddl::TranscriptFile>(&step)) {
      sandbox.write(*file);
      continue;
    }
    const auto& command = std::get<ddl::TranscriptCommand>(step);
    outcomes.push_back(sandbox.run(command.shell, form == ddl::TranscriptForm::markdown));
    if (outcomes.back().timed_out) {
      // No command after this one can be judged or accepted.
      std::cout << ddl::judge(transcript, command, outcomes.back());
      return 1;
    }
    report += ddl::judge(transcript, command, outcomes.back());
  }

  std::cout << report;
  const char* accept = std::getenv("DDL_ACCEPT");
  if (accept == nullptr || std::string_view(accept) != "1") {
    if (report.empty()) return 0;
    std::cout << "If this is what it should be: run the test again with DDL_ACCEPT=1, and review the change of the file.\n";
    return 1;
  }
  const std::string accepted = ddl::accept_outcomes(transcript, outcomes);
  if (accepted == text) return 0;
  std::ofstream out(path, std::ios::binary);
  out << accepted;
  if (!out.flush()) throw ddl::Error("cannot write " + path);
  std::cout << "accepted: " << path << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  auto form = ddl::TranscriptForm::plain;
  if (!arguments.empty() && arguments.front() == "--markdown") {
    form = ddl::TranscriptForm::markdown;
    arguments.erase(arguments.begin());
  }
  if (arguments.size() != 2) {
    std::cerr << "usage: transcript [--markdown] PROGRAM FILE\n";
    return 2;
  }
  try {
    return run(arguments[0], arguments[1], form);
  } catch (const std::exception& error) {
    std::cerr << "transcript: " << error.what() << '\n';
    return 2;
  }
}
