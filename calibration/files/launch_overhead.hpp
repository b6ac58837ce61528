#pragma once

#include "core/quantity.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// Longest time that a host may be said to take to start one kernel.
inline constexpr Seconds longest_launch_overhead{1.0};
/// What files of older versions call it.
inline constexpr YamlNode::FormerKey former_launch_overhead{"kernel_start", "launch_overhead"};

/// What a host takes to start one kernel: from nothing to longest_launch_overhead, else an Error at the node.
[[nodiscard]] Seconds read_launch_overhead(const YamlNode& node);

}  // namespace ddl
