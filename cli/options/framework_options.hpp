#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace ddl {

/// What `command` has in place of an option of a framework: for `--tp` how degrees are said, for `--nodes` what --gpus
/// counts. Empty where frameworks have no such option, or the command has nothing in its place.
[[nodiscard]] std::string framework_option_hint(const CLI::App& command, std::string_view option);

}  // namespace ddl
