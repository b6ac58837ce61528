#pragma once

#include <span>
#include <string>

namespace ddl {

/// A file of a folder that is written at once. Its name may lead into folders of that folder: `launch/train.py`.
struct FolderFile {
  std::string name, content;
  bool is_program = false;  ///< it may be executed
};

/// Writes a folder completely or not at all: the files go to a temporary folder beside it, which is renamed to `path` when
/// the disk has all of them. A folder that is there already is replaced with everything in it; a link to one is followed.
/// An Error naming the path and the reason when it cannot be written; then everything is as before.
void write_folder(const std::string& path, std::span<const FolderFile> files);

}  // namespace ddl
