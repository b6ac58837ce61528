#pragma once

#include <string>

#include <sys/stat.h>

namespace ddl {

/// Records that a file is an input. The file is identified by device, inode and time of change, which are the same for all
/// its names. Pipes and devices are ignored.
void note_input_file(const struct stat& status);

/// Returns whether the file at this path was read as an input, under any name. Writing it would destroy the input.
[[nodiscard]] bool is_input_file(const std::string& path);

}  // namespace ddl
