#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/manual/command_description.hpp"

namespace ddl {

/// The command of that path below the program: `{"models", "show"}`. Throws Error, with "did you mean", where there is none.
[[nodiscard]] const CommandDescription& command_named(const CommandDescription& program,
                                                      const std::vector<std::string>& path);

/// A line for each option, or everything: examples, whole descriptions, and what goes with what.
enum class HelpForm { brief, whole };
[[nodiscard]] std::string help_text(const CommandDescription& command, HelpForm form, std::size_t width);
/// The columns of the terminal within readable bounds, and a usual number where the output is none.
[[nodiscard]] std::size_t help_width();
/// What `ddl-oracle help COMMAND...` prints.
[[nodiscard]] std::string help_asked_for(const CommandDescription& program, const std::vector<std::string>& path);

/// The manual page, in the macros of man(7).
[[nodiscard]] std::string man_page(const CommandDescription& program, std::string_view version);

/// A shell, and what makes it complete the program's command lines.
struct Completion {
  std::string_view shell;
  std::string (*write)(const CommandDescription& program);
};
[[nodiscard]] std::span<const Completion> completions();
std::string bash_completion(const CommandDescription& program);
std::string fish_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);

/// Everything that is to be known of an option, as one paragraph.
[[nodiscard]] std::string whole_text_of(const OptionDescription& option);
/// Without what follows its first `;`: a default, or an exception.
[[nodiscard]] std::string_view first_clause(std::string_view text);
/// Whether a value may be a file, as far as that is known.
[[nodiscard]] bool offers_files(const OptionDescription& option);
/// Calls `call` with the program, and with each command of it.
void for_each_command(const CommandDescription& program, const auto& call) {
  call(program);
  for (const CommandDescription& each : program.commands) for_each_command(each, call);
}

}  // namespace ddl
