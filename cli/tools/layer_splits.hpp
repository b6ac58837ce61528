#pragma once

#include <variant>

#include <nlohmann/json.hpp>

#include "cli/tools/launcher.hpp"

namespace ddl {

/// How parallel_layers.py splits the linear layers at the end of a network.
struct LayerSplits {
  int ranks = 1;  ///< number of ranks that split a layer
  /// A row for each linear layer from the first split layer on: empty, or the part of the weights that a rank has, and how
  /// the ranks share the input and the output (`["columns", "samples", "channels"]`).
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
};
/// Returns how parallel_layers.py runs a plan with segments, or why the script cannot run it.
[[nodiscard]] std::variant<LayerSplits, CannotLaunch> layer_splits(const LaunchRequest& request);

}  // namespace ddl
