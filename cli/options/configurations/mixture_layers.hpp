#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// Returns which layers of a mixture have experts, as Megatron-LM reads `--moe-layer-freq` [NVIDIA/Megatron-LM,
/// megatron/training/arguments.py, moe_freq_type]: `2` is every second layer from the first on, `[0]*3+[1]*58` a list.
/// Unset if the text is not such a list of `layers` items.
[[nodiscard]] std::optional<std::vector<bool>> layers_with_experts(std::string_view text, std::int64_t layers);

/// Returns the pattern of the family `decoder`: `F(f)45` for a layer `dense` and 45 layers `mixture`.
[[nodiscard]] std::string pattern_of_layers(const std::vector<bool>& with_experts, char dense, char mixture);

}  // namespace ddl
