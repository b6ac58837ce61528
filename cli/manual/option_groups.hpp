#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cli/manual/command_description.hpp"

namespace ddl {

/// A heading of the help, and the options below it.
struct OptionGroup {
  std::string_view heading;
  std::vector<std::string_view> options;  ///< the long names without dashes; the order of the help
};
/// The groups of the options of `recommend` and `explain`, in the order of the help. The choices of a plan
/// (plan_choices) are added to the group of options that fix the plan.
[[nodiscard]] std::span<const OptionGroup> option_groups();
/// Returns the heading of an option; empty if the option belongs to no group.
[[nodiscard]] std::string_view heading_of(const OptionDescription& option);
/// Returns the command's options in a group, in the order of the group.
[[nodiscard]] std::vector<const OptionDescription*> options_of(const OptionGroup& group, const CommandDescription& command);

/// Commands with more options than this show only usual options in their help.
inline constexpr std::size_t most_options_shown = 20;
/// Whether the help of a command with many options shows this option by default.
[[nodiscard]] bool is_usual(const OptionDescription& option);

}  // namespace ddl
