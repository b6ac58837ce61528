#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ddl {

/// How a file was written.
enum class Written {
  replaced,  ///< in one step: whoever reads it sees the old content or the new one
  in_place   ///< where it cannot be replaced: a crash while it was written would have left half of it
};

/// Writes completely or not at all: the content goes to a temporary file in the same folder, of a name that no other process
/// has, whatever its machine or container; when the disk has it, it is renamed over `path`. Permissions and owner of an
/// existing file stay, and links are followed, also those to a file that is not there yet. A file that cannot be replaced,
/// such as a bind mount or one in a folder that cannot be written, is written in place. What is no regular file
/// (`/dev/stdout`, a pipe) is written to directly. An Error naming the path and the reason when it cannot be written. `made`
/// is called with the descriptor of the file that will replace, when all is in it and before anybody can open it.
Written write_file(const std::string& path, std::string_view content, const std::function<void(int)>& made = {});

/// Where the content of `path` lies: behind its links, which may end at a file that is not there yet. An Error where they go
/// in circles.
[[nodiscard]] std::string link_target(const std::string& path);

}  // namespace ddl
