#pragma once

#include <string>
#include <unordered_set>

#include <onnx/onnx_pb.h>

#include "core/error.hpp"
#include "model_zoo/importers/onnx/graph.hpp"

namespace ddl::onnx_import {

/// An operator that no layer represents. If no later node has weights, it ends the network; otherwise it is an error.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// Whether a node multiplies or looks up trained weights, judged by its operator and the tensors that it reads.
/// `constants` are the tensors that do not depend on the data.
[[nodiscard]] bool has_weights(const onnx::NodeProto& node, const std::unordered_set<std::string>& constants,
                               const Graph& graph);
/// The nodes at the end of a graph on which no node with weights depends, such as the decoding of boxes. Empty if no node
/// has weights.
[[nodiscard]] std::unordered_set<const onnx::NodeProto*> nodes_after_weights(const Graph& graph);

}  // namespace ddl::onnx_import
