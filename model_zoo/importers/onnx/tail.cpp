#include "model_zoo/importers/onnx/tail.hpp"

#include <algorithm>
#include <string_view>

namespace ddl::onnx_import {
namespace {

/// The smallest size of a matrix that is treated as trained. Smaller matrices convert the corners of boxes.
constexpr std::int64_t fewest_weights = 17;

std::int64_t items_of(const std::string& tensor, const Graph& graph) {
  const auto found = graph.stored().find(tensor);
  if (found == graph.stored().end()) return -1;
  std::int64_t items = 1;
  for (const std::int64_t size : found->second.shape) items *= size;
  return items;
}

bool has_matrix(const onnx::NodeProto& node, const Graph& graph) {
  return std::any_of(node.input().begin(), node.input().end(), [&](const std::string& input) {
    const auto found = graph.stored().find(input);
    return found != graph.stored().end() && found->second.shape.size() >= 2 && items_of(input, graph) >= fewest_weights;
  });
}

template <std::size_t n>
bool is_one_of(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool has_weights(const onnx::NodeProto& node, const std::unordered_set<std::string>& constants, const Graph& graph) {
  constexpr std::string_view always[] = {
      "Conv", "ConvTranspose",      "ConvInteger",        "QLinearConv",        "DeformConv",       "LSTM", "GRU",
      "RNN",  "BatchNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization", "PRelu"};
  constexpr std::string_view products[] = {"MatMul", "Gemm", "Einsum", "MatMulInteger", "QLinearMatMul"};
  const std::string& kind = node.op_type();
  const bool ours = node.domain().empty() || node.domain() == "ai.onnx";
  if (!ours) return has_matrix(node, graph);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    std::unordered_set<std::string> inner = constants;
    for (const onnx::TensorProto& tensor : attribute.g().initializer()) inner.insert(tensor.name());
    for (const onnx::NodeProto& each : attribute.g().node()) {
      if (each.input_size() == 0) inner.insert(each.output().begin(), each.output().end());
      if (has_weights(each, inner, graph)) return true;
    }
  }
  if (is_one_of(always, kind)) return true;
  const auto is_weight = [&](const std::string& input) {
    const std::int64_t items = items_of(input, graph);
    return constants.contains(input) && (items < 0 || items >= fewest_weights);
  };
  if (is_one_of(products, kind)) return std::any_of(node.input().begin(), node.input().end(), is_weight);
  if (kind == "Gather") return has_matrix(node, graph) && node.input_size() > 1 && !constants.contains(node.input(1));
  return false;
}

std::unordered_set<const onnx::NodeProto*> nodes_after_weights(const Graph& graph) {
  std::unordered_set<std::string> constants;
  for (const auto& [name, tensor] : graph.stored()) constants.insert(name);
  for (const onnx::NodeProto* const node : graph.nodes()) {
    const bool constant = std::all_of(node->input().begin(), node->input().end(),
                                      [&](const std::string& input) { return input.empty() || constants.contains(input); });
    if (constant) constants.insert(node->output().begin(), node->output().end());
  }
  std::unordered_set<const onnx::NodeProto*> tail;
  std::unordered_set<std::string> leading;  // tensors that a node with weights depends on
  bool any = false;
  for (std::size_t i = graph.nodes().size(); i > 0; --i) {
    const onnx::NodeProto* const node = graph.nodes()[i - 1];
    const bool weighted = has_weights(*node, constants, graph);
    const bool leads = weighted || std::any_of(node->output().begin(), node->output().end(),
                                               [&](const std::string& output) { return leading.contains(output); });
    any = any || weighted;
    if (!leads) {
      tail.insert(node);
    } else {
      leading.insert(node->input().begin(), node->input().end());
    }
  }
  if (!any) tail.clear();
  return tail;
}

}  // namespace ddl::onnx_import
