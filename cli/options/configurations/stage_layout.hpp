#pragma once

#include <string_view>
#include <vector>

namespace ddl {

/// Returns the number of blocks of each virtual stage of a layout as Megatron Core writes it, such as `Et*3|(tt|)*29,m|L`:
/// `t` is a block, `|` ends a virtual stage, and `*n` repeats the letter or the bracket before it [NVIDIA, Megatron-LM,
/// megatron/core/transformer/pipeline_parallel_layer_layout.py]. Other letters are layers around the blocks. Layouts with
/// more than 100,000 letters are cut off.
[[nodiscard]] std::vector<int> blocks_of_layout(std::string_view text);

}  // namespace ddl
