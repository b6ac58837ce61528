// Rotary positions, which rotate pairs of the channels of queries and keys. A view of the unrotated elements represents the
// result. A layer rotary_embedding is added before the attention that reads this view.

#include "model_zoo/importers/onnx/rotary.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {
namespace {

/// The nodes of a graph by the tensors that they produce.
class Producers {
 public:
  explicit Producers(const Graph& graph) {
    // A node's inputs are produced before the node, so the tensor before a row of casts is known at the next cast.
    for (const onnx::NodeProto* const node : graph.nodes()) {
      const bool is_cast = node->op_type() == "Cast" && node->input_size() == 1;
      for (const std::string& output : node->output()) {
        nodes_.emplace(output, node);
        if (is_cast) before_casts_.emplace(output, &before_casts(node->input(0)));
      }
    }
  }
  /// Returns the node that produces a tensor; null if no node does.
  [[nodiscard]] const onnx::NodeProto* find(const std::string& tensor) const {
    const auto found = nodes_.find(tensor);
    return found == nodes_.end() ? nullptr : found->second;
  }
  /// Returns the tensor before casts.
  [[nodiscard]] const std::string& before_casts(const std::string& tensor) const {
    const auto found = before_casts_.find(tensor);
    return found == before_casts_.end() ? tensor : *found->second;
  }

 private:
  std::unordered_map<std::string_view, const onnx::NodeProto*> nodes_;
  std::unordered_map<std::string_view, const std::string*> before_casts_;
};

/// The nodes from a tensor back to the rotated tensor, which only move and negate elements.
class Path {
 public:
  Path(const Producers& producers, const Graph& graph, std::string rotated)
      : producers_(producers), graph_(graph), rotated_(std::move(rotated)) {}

  /// Returns whether all paths from the tensor lead to the rotated tensor. `depth`: the number of nodes before the tensor.
  bool follow(const std::string& tensor, int depth = 0) {
    constexpr int most_nodes = 12;
    if (producers_.before_casts(tensor) == rotated_) return depth > 0;
    const onnx::NodeProto* const found = producers_.find(tensor);
    if (found == nullptr || depth > most_nodes || graph_.uses(tensor) != 1) return false;
    const onnx::NodeProto& node = *found;
    constexpr std::string_view moving[] = {"Slice", "Split", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Neg", "Cast"};
    nodes_.push_back(&node);
    if (node.op_type() == "Concat") {
      return std::all_of(node.input().begin(), node.input().end(),
                         [&](const std::string& part) { return follow(part, depth + 1); });
    }
    if (std::find(std::begin(moving), std::end(moving), node.op_type()) == std::end(moving)) return false;
    negations_ += node.op_type() == "Neg" ? 1 : 0;
    return node.input_size() > 0 && follow(node.input(0), depth + 1);
  }
  [[nodiscard]] int negations() const { return negations_; }
  [[nodiscard]] const std::vector<const onnx::NodeProto*>& nodes() const { return nodes_; }

 private:
  const Producers& producers_;
  const Graph& graph_;
  std::string rotated_;
  std::vector<const onnx::NodeProto*> nodes_;
  int negations_ = 0;
};

const onnx::NodeProto* product_of(const Producers& producers, const Graph& graph, const std::string& tensor) {
  const onnx::NodeProto* const found = producers.find(tensor);
  const bool is_product = found != nullptr && found->op_type() == "Mul" && found->input_size() == 2;
  return is_product && graph.uses(tensor) == 1 ? found : nullptr;
}

}  // namespace

Rotations rotations_in(const Graph& graph) {
  const Producers producers(graph);
  Rotations rotations;
  for (const onnx::NodeProto* const sum : graph.nodes()) {
    if (sum->op_type() != "Add" || sum->input_size() != 2) continue;
    for (int order = 0; order < 8; ++order) {
      const int first = order & 1, factor = (order >> 1) & 1, other = (order >> 2) & 1;
      const onnx::NodeProto* const straight = product_of(producers, graph, sum->input(first));
      const onnx::NodeProto* const turned = product_of(producers, graph, sum->input(1 - first));
      if (straight == nullptr || turned == nullptr || straight == turned) break;
      const std::string& rotated = producers.before_casts(straight->input(factor));
      Path path(producers, graph, rotated);
      if (!path.follow(turned->input(other)) || path.negations() != 1) continue;
      rotations.sums[sum] = rotated;
      for (const onnx::NodeProto* const node : path.nodes()) rotations.rotated[node] = rotated;
      for (const onnx::NodeProto* const node : {sum, straight, turned}) rotations.rotated[node] = rotated;
      break;
    }
  }
  return rotations;
}

bool Translation::rotates(const onnx::NodeProto& node) {
  const auto found = rotations_.rotated.find(&node);
  if (found == rotations_.rotated.end()) return false;
  const auto value = values_.find(found->second);
  if (value == values_.end() || !value->second.is_network()) return false;
  if (rotations_.sums.contains(&node)) rotate(node, plain(node, value->second));
  return true;
}

void Translation::rotate(const onnx::NodeProto& node, View view) {
  if (!view.dimensions.empty()) rotated_[view.tensor] = {.channels = size_of(view.dimensions.back()), .node = &node};
  set_view(node, std::move(view));
}

std::int64_t Translation::take_rotation(const View& view) {
  const auto found = rotated_.find(view.tensor);
  if (found == rotated_.end()) return 0;
  found->second.taken = true;
  return found->second.channels;
}

void Translation::assume_lost_rotations() {
  for (const auto& [tensor, rotation] : rotated_) {
    if (!rotation.taken) assume(*rotation.node, "rotary positions that no layer represents, and that are not counted");
  }
}

Translator translate_rotary;

/// Translates the operator `RotaryEmbedding`, which exists since opset 23. Its input has the dimensions batch, heads, tokens
/// and elements of a head.
void translate_rotary(Translation& translation, const onnx::NodeProto& node) {
  View view = translation.plain_input(node, 0);
  constexpr std::size_t with_heads = 4;
  if (view.dimensions.size() != with_heads) {
    translation.pass(node, view, "RotaryEmbedding, which counts as one pass over the elements");
    return;
  }
  translation.rotate(node, std::move(view));
}

}  // namespace ddl::onnx_import
