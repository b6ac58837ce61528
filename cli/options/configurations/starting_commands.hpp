#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/options/configurations/shell_script.hpp"

namespace ddl {

/// Returns the index of the program that words such as `nohup` and `timeout 3600` start. Skips their options, assignments of
/// variables, and numbers.
[[nodiscard]] std::size_t first_program(const std::vector<PlacedText>& words, std::size_t from);
/// Whether a program starts launchers on nodes that its options before `--` count: `gantry run --replicas 2 -- torchrun …`.
[[nodiscard]] bool starts_launchers(std::string_view program);
/// Whether a text counts nodes or devices, which may be named: `8`, `H100:8`.
[[nodiscard]] bool is_count(std::string_view text);
/// Whether a command, such as `echo`, starts no training, whatever its arguments are.
[[nodiscard]] bool is_silent_command(std::string_view name);
/// Returns the index of the word after the options of the launcher at index `launcher`, and after the values of these
/// options, such as `nemo` in `srun --container-image nemo python train.py`.
[[nodiscard]] std::size_t end_of_options(const std::vector<PlacedText>& words, std::size_t launcher);
/// Whether the launcher at index `launcher` starts a command that copies or shows something: `srun -N 2 rsync …`. Only the
/// first word after the launcher's options counts, because others may be arguments of a training: `--prompt cat`.
[[nodiscard]] bool moves_files(const std::vector<PlacedText>& words, std::size_t launcher);

}  // namespace ddl
