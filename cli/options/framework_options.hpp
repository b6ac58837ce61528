#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace ddl {

/// Returns how to write an option of a framework for `command`: for `--tp` how to write degrees, for `--nodes` what --gpus
/// counts. Empty if frameworks have no such option, or if the command has no replacement.
[[nodiscard]] std::string framework_option_hint(const CLI::App& command, std::string_view option);

}  // namespace ddl
