#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace ddl {

/// Returns a hint for a user who typed a framework's option, or a common word for a concept, in `command`. For example, the
/// hint for
/// `--tp` explains how to write degrees, and the hint for `--nodes` says that --gpus counts the
/// GPUs of all nodes. Empty if no framework has this option, or if `command` has no replacement.
[[nodiscard]] std::string framework_option_hint(const CLI::App& command, std::string_view option);
/// Returns the hint of the synonym that is nearest to an unknown option: misspelt (`--batchsize`), or a part of the other
/// (`--checkpoint` of `activation-checkpointing`). Empty if none is near, or if `command` has no replacement.
[[nodiscard]] std::string near_synonym_hint(const CLI::App& command, std::string_view option);

}  // namespace ddl
