#pragma once

#include "core/quantity.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// Longest time that a host may be said to take to start one kernel.
inline constexpr Seconds longest_kernel_start{1.0};

/// What a host takes to start one kernel: from nothing to longest_kernel_start, else an Error at the node.
[[nodiscard]] Seconds read_kernel_start(const YamlNode& node);

}  // namespace ddl
