#pragma once

#include "core/quantity.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// Files may state at most this launch overhead of a kernel.
inline constexpr Seconds longest_launch_overhead{1.0};
/// The former key of the launch overhead, which files of older versions contain.
inline constexpr YamlNode::FormerKey former_launch_overhead{"kernel_start", "launch_overhead"};

/// Reads the launch overhead of a kernel. If the value is negative or above
/// longest_launch_overhead, throws Error that points to the node.
[[nodiscard]] Seconds read_launch_overhead(const YamlNode& node);

}  // namespace ddl
