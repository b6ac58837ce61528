#pragma once

#include <string>
#include <unordered_set>

#include <onnx/onnx_pb.h>

#include "core/error.hpp"
#include "model_zoo/importers/onnx/graph.hpp"

namespace ddl::onnx_import {

/// An Error about an operator that no layer represents. The operator ends the network if no later node has weights.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// Returns whether a node multiplies or looks up trained weights. The operator, and the tensors
/// that the node reads, decide. `constants`: the tensors that do not depend on the data.
[[nodiscard]] bool has_weights(const onnx::NodeProto& node, const std::unordered_set<std::string>& constants,
                               const Graph& graph);
/// Returns the nodes at the end of a graph that no node with weights depends on, such as the
/// decoding of boxes. Empty if no node has weights.
[[nodiscard]] std::unordered_set<const onnx::NodeProto*> nodes_after_weights(const Graph& graph);

}  // namespace ddl::onnx_import
