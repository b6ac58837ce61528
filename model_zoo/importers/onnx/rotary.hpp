#pragma once

#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/graph.hpp"

namespace ddl::onnx_import {

/// Rotary positions that consist of several operators: x · cosines + y · sines, where y has the elements of x in another
/// order, some of them negated.
struct Rotations {
  /// For the sum and for every node between x and the sum, the name of x.
  std::unordered_map<const onnx::NodeProto*, std::string> rotated;
  /// For the sum of a rotation, the name of x.
  std::unordered_map<const onnx::NodeProto*, std::string> sums;
};

/// Finds the rotary positions of a graph.
[[nodiscard]] Rotations rotations_in(const Graph& graph);

}  // namespace ddl::onnx_import
