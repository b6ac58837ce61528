#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/manual/command_description.hpp"

namespace ddl {

/// Returns the command with a path below the program: `{"models", "show"}`. Throws Error with "did
/// you mean" for an unknown command.
[[nodiscard]] const CommandDescription& command_named(const CommandDescription& program,
                                                      const std::vector<std::string>& path);

/// How much help shows: one line for each option; complete descriptions with examples; or these of all options, in groups.
/// The first two forms show only the usual options of a command with many options.
enum class HelpForm { brief, whole, all };
[[nodiscard]] std::string help_text(const CommandDescription& command, HelpForm form, std::size_t width);
/// Returns the number of columns of the terminal, limited to a readable range. Returns a default if
/// the output is not a terminal.
[[nodiscard]] std::size_t help_width();
/// Returns the output of `ddl-oracle help COMMAND...`, `help TOPIC` or `help TERM`.
[[nodiscard]] std::string help_asked_for(const CommandDescription& program, const std::vector<std::string>& path);

/// Returns the manual page, in the macros of man(7).
[[nodiscard]] std::string man_page(const CommandDescription& program, std::string_view version);

/// A shell, and the function that generates its completion script.
struct Completion {
  std::string_view shell;
  std::string (*write)(const CommandDescription& program);
};
[[nodiscard]] std::span<const Completion> completions();
std::string bash_completion(const CommandDescription& program);
std::string fish_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);

/// Returns the complete description of an option, as one paragraph.
[[nodiscard]] std::string whole_text_of(const OptionDescription& option);
/// Returns the text up to its first `;`. In descriptions of options, a default or an exception follows the `;`.
[[nodiscard]] std::string_view first_clause(std::string_view text);
/// Whether an option's value may be a file, as far as the declaration tells.
[[nodiscard]] bool offers_files(const OptionDescription& option);
/// Calls `call` for the program itself, and for each of its commands.
void for_each_command(const CommandDescription& program, const auto& call) {
  call(program);
  for (const CommandDescription& each : program.commands) for_each_command(each, call);
}

}  // namespace ddl
