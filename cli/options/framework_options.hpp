#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace ddl {

/// Returns a hint that names the replacement for a framework's option in `command`: for `--tp` how to write degrees, for
/// `--nodes` that --gpus counts all nodes. Empty if no framework has this option, or if `command` has no replacement.
[[nodiscard]] std::string framework_option_hint(const CLI::App& command, std::string_view option);

}  // namespace ddl
