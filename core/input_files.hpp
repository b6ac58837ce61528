#pragma once

#include <string>

#include <sys/stat.h>

namespace ddl {

/// Keeps in mind that a file is read: by device, inode and time of change, which all of its
/// names share. Pipes and devices do not count.
void note_input_file(const struct stat& status);

/// Whether the file of this path, by whatever name, is one that was read: writing it would destroy an input.
[[nodiscard]] bool is_input_file(const std::string& path);

}  // namespace ddl
