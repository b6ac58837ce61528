#pragma once

#include "core/quantity.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// The longest launch overhead of a kernel that is accepted in files.
inline constexpr Seconds longest_launch_overhead{1.0};
/// The former key of the launch overhead, which files of older versions contain.
inline constexpr YamlNode::FormerKey former_launch_overhead{"kernel_start", "launch_overhead"};

/// Reads the launch overhead of a kernel. Throws Error that points to the node if it is not from zero to
/// longest_launch_overhead.
[[nodiscard]] Seconds read_launch_overhead(const YamlNode& node);

}  // namespace ddl
