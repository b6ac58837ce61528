#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/licenses.hpp"
#include "cli/report/shell_words.hpp"
#include "core/device_lost.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/version.hpp"
#include "profiler/backends/backends.hpp"

namespace ddl {
namespace {

std::string version_text() {
  std::string backends;
  for (const BackendKind& kind : backend_kinds()) backends += fmt::format("{}{}", backends.empty() ? "" : ", ", kind.name);
  return fmt::format("ddl-oracle {}\ncommit {}\nback ends: {} ('ddl-oracle backends' says which run here)", version(),
                     commit(), backends);
}

int run(int argc, char** argv) {
  CommandLine command_line("Predict time and memory of parallel training plans of neural networks, and rank them",
                           "ddl-oracle");
  command_line.add_version(version_text());
  const Command program = command_line.program();
  bool licenses = false;
  program.add_switch("--licenses", licenses, "licenses of the program and its libraries");
  Request request;
  const auto typed = std::span(argv, static_cast<std::size_t>(argc)).subspan(1);
  std::vector<std::string> words{"ddl-oracle"};
  words.insert(words.end(), typed.begin(), typed.end());
  request.command = shell_words(words);
  if (contains(typed, std::string_view("--licenses")) && typed.size() <= 2 &&
      (typed.size() == 1 || contains(typed, std::string_view("--version")))) {
    std::cout << (typed.size() == 1 ? "" : version_text() + "\n") << licenses_text();
    if (!std::cout.flush()) throw Error("cannot write to the standard output");
    return static_cast<int>(ExitStatus::ok);
  }
  add_commands(command_line, request);
  if (const auto asked_for = command_line.parse(with_calibrate_command({typed.begin(), typed.end()}))) {
    std::cout << *asked_for;
    if (!std::cout.flush()) throw Error("cannot write to the standard output");
    return static_cast<int>(ExitStatus::ok);
  }
  Report report = request.run();
  report.command = request.command;
  write_report(report, request.report);
  return static_cast<int>(report.status);
}

}  // namespace
}  // namespace ddl

int main(int argc, char** argv) {
  try {
    return ddl::run(argc, argv);
  } catch (const ddl::Error& error) {
    ddl::print_error(error.what(), error.hint());
  } catch (const ddl::DeviceLost& lost) {
    ddl::print_error(lost.what(), lost.hint());
  } catch (const std::bad_alloc&) {
    ddl::print_error("out of memory", "the input is too large for the memory of this machine");
  } catch (const std::exception& error) {
    ddl::print_error(std::string("internal error: ") + error.what(), "please report it with the command");
  }
  return static_cast<int>(ddl::ExitStatus::could_not_answer);
}
