#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/collective_library.hpp"

namespace ddl {

/// A kind of network, and what published benchmarks of clusters with this network show for all of them.
struct Fabric {
  std::string description;
  bool inside_nodes = false;  ///< joins the devices of a node; else nodes
  Seconds step{};             ///< α of one step of a ring between nodes; inside them, of the level
  LibraryHabits habits;
};

/// Errors are placed: another format, unknown keys, numbers that cannot be.
[[nodiscard]] Fabric parse_fabric(const YamlNode& root);
/// The bundled fabric of this name; an Error placed at the node, with "did you mean", if there is none.
[[nodiscard]] Fabric bundled_fabric(const YamlNode& name);
[[nodiscard]] std::vector<std::string> fabric_names();

}  // namespace ddl
