#pragma once

#include <span>
#include <string>

namespace ddl {

/// One file of a folder that is written as a whole. The file's name may contain subfolders: `launch/train.py`.
struct FolderFile {
  std::string name, content;
  bool is_program = false;  ///< whether the file is executable
};

/// Writes a folder atomically. The files go to a temporary folder next to `path`, which is renamed to `path` after all files
/// have been synced to disk. An existing folder is replaced with everything in it; a link to a folder is followed. Throws
/// Error with the path and the reason if the folder cannot be written. After an error, the old folder is unchanged.
void write_folder(const std::string& path, std::span<const FolderFile> files);

}  // namespace ddl
