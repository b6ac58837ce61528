#pragma once

#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/communication_library.hpp"

namespace ddl {

/// A type of network, such as InfiniBand, with values that are fitted to published benchmarks of clusters.
struct Fabric {
  std::string description;
  bool inside_nodes = false;  ///< whether the network connects the devices of a node; otherwise it connects nodes
  Seconds step{};             ///< between nodes, α of one step of a ring; inside a node, α of the level
  LibraryConstants constants;
};

/// Parses a fabric file. Throws Error with a position in the file for another format, unknown keys and impossible numbers.
[[nodiscard]] Fabric parse_fabric(const YamlNode& root);
/// The bundled fabric of this name. Throws Error that points to the node, with "did you mean", if there is none.
[[nodiscard]] Fabric bundled_fabric(const YamlNode& name);
[[nodiscard]] std::vector<std::string> fabric_names();

}  // namespace ddl
