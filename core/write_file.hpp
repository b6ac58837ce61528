#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ddl {

/// How a file was written.
enum class Written {
  replaced,  ///< atomically: a reader sees either the old content or the new one
  in_place   ///< over the old content; a crash while writing leaves a part of the new content
};

/// Writes a file atomically. The content goes to a temporary file in the same folder. No other process uses the temporary
/// name, on any machine or in any container. The temporary file is synced to disk, and then renamed to `path`. Permissions
/// and owner of an existing file are kept. Links are followed, including links to a file that does not exist yet. A file
/// that cannot be replaced, such as a bind mount or a file in a read-only folder, is written in place. A special file
/// (`/dev/stdout`, a pipe) is written to directly. Throws Error with the path and the reason if the file cannot be written.
/// `made`: called with the descriptor of the complete new file, before another process can open the file by its final name.
Written write_file(const std::string& path, std::string_view content, const std::function<void(int)>& made = {});

/// The path of the file that `path` refers to after following links, which may end at a file that does not exist yet. Throws
/// Error if the links are circular.
[[nodiscard]] std::string link_target(const std::string& path);

}  // namespace ddl
