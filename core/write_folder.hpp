#pragma once

#include <span>
#include <string>

namespace ddl {

/// A file of a folder that is written as a whole. Its name may contain subfolders: `launch/train.py`.
struct FolderFile {
  std::string name, content;
  bool is_program = false;  ///< it is executable
};

/// Writes a folder atomically: the files go to a temporary folder next to it, which is renamed to `path` after all of them
/// have been synced to disk. An existing folder is replaced with everything in it; a link to one is followed. Throws an
/// Error with the path and the reason if it cannot be written; then nothing has changed.
void write_folder(const std::string& path, std::span<const FolderFile> files);

}  // namespace ddl
