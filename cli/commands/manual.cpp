#include "cli/manual/manual.hpp"

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "core/version.hpp"

namespace ddl {
namespace {

Report report_of_text(const std::string& text) {
  Report report;
  report.document.add(Verbatim{text});
  return report;
}

std::vector<std::string_view> shells() {
  std::vector<std::string_view> names;
  for (const Completion& each : completions()) names.push_back(each.shell);
  return names;
}

std::string completion_for(const std::string& shell, const CommandDescription& program) {
  for (const Completion& each : completions()) {
    if (each.shell == shell) return each.write(program);
  }
  unknown_choice("completion", shell, shells());
}

}  // namespace

void add_help(const Command& program) {
  const Command command = program.add_subcommand("help", "help on a command, a topic or a term");
  command.examples({{"ddl-oracle help recommend", "output of 'ddl-oracle recommend --help'"},
                    {"ddl-oracle help models show", "help on a subcommand of 'models'"},
                    {"ddl-oracle help batch size", "options and commands for a term"}});
}

void add_completion(CommandLine& command_line, Request& request) {
  const Command command = command_line.program().add_subcommand("completion", "print the completion script of a shell");
  command.examples({{"ddl-oracle completion bash > ddl-oracle.bash", "a file to load by 'source ddl-oracle.bash'"},
                    {"ddl-oracle completion zsh --output _ddl-oracle", "a file for a folder of zsh's 'fpath'"},
                    {"ddl-oracle completion fish | source", "for this session of fish"}});
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, fmt::format("{}", fmt::join(shells(), ", "))).required().words([] {
    return std::vector<std::string>{"bash", "zsh", "fish"};
  });
  add_output_option(command, request.report.output, "write the script to this file instead of the standard output");
  request.on_choice(command,
                    [shell, &command_line] { return report_of_text(completion_for(*shell, command_line.describe())); });
}

void add_man(CommandLine& command_line, Request& request) {
  const Command command = command_line.program().add_subcommand("man", "print the manual page");
  command.examples({{"ddl-oracle man > ddl-oracle.1", "the page as roff"},
                    {"ddl-oracle man | man -l -", "the page on the terminal"},
                    {"ddl-oracle man --output ddl-oracle.1", "the page, written to a file"}});
  add_output_option(command, request.report.output, "write the page to this file instead of the standard output");
  request.on_choice(command, [&command_line] { return report_of_text(man_page(command_line.describe(), version())); });
}

}  // namespace ddl
