#pragma once

#include <string_view>

#include "calibration/inputs/host_tools/gpu_list.hpp"

namespace ddl {

/// The text after the first `key:` of each line, as amd-smi and xpu-smi print it, and the memory that follows a name. The
/// number of a GPU stands in the line `GPU: 0`, or before its name; if it comes again, another host begins.
[[nodiscard]] ListedGpus keyed_lines(const ToolLines& lines, std::string_view key, std::string_view memory_key);

}  // namespace ddl
