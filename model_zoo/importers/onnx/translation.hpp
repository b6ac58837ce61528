#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model_zoo/files/import.hpp"
#include "model_zoo/importers/onnx/graph.hpp"
#include "model_zoo/importers/onnx/network.hpp"
#include "model_zoo/importers/onnx/tail.hpp"
#include "model_zoo/importers/onnx/value.hpp"

namespace ddl::onnx_import {

/// Walks through a graph and builds the network: a value for each tensor of the graph, a layer for each operation with a
/// cost.
class Translation {
 public:
  Translation(const Graph& graph, const ImportOptions& options);

  /// The whole network; an Error at the first unsupported node.
  [[nodiscard]] Network run();

  // Building blocks for the translators of operators.

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const Network& network() const { return network_; }

  /// Input `index` of a node; null if it is omitted.
  [[nodiscard]] const Value* find_input(const onnx::NodeProto& node, int index) const;
  [[nodiscard]] const Value& input(const onnx::NodeProto& node, int index) const;
  void set_output(const onnx::NodeProto& node, Value value, int index = 0);
  /// The value of a node's first output.
  [[nodiscard]] const Value& output(const onnx::NodeProto& node) const { return values_.at(node.output(0)); }
  /// Sets a plain view as the node's first output.
  void set_view(const onnx::NodeProto& node, View view);

  /// The value as a view of a tensor that a layer produces: adds the pending activation or norm. The node is used for
  /// errors.
  [[nodiscard]] View plain(const onnx::NodeProto& node, const Value& value);
  [[nodiscard]] View plain_input(const onnx::NodeProto& node, int index) { return plain(node, input(node, index)); }

  // The tensor in the layout that a layer needs; a layer that reshapes it is added if necessary, and the view then refers to
  // the new tensor. An Error about the node if the view does not allow it. Rearranged items are a reshape: a cost depends on
  // how many there are, not on their order.

  /// Batch, channels, then the positions, as convolutions have them.
  [[nodiscard]] View as_image(const onnx::NodeProto& node, const View& view);
  /// All channels last, tokens or nothing before them, in any order with the batch.
  [[nodiscard]] View as_rows(const onnx::NodeProto& node, const View& view);
  /// The whole tensor of a view: if the view is a part of a tensor, layers that cut it out are added.
  [[nodiscard]] View gathered(const onnx::NodeProto& node, const View& view);
  /// The positions of an image as tokens.
  [[nodiscard]] View with_tokens(const View& view);
  /// A new tensor with the items of a whole one: `axes` names its axis for each dimension of the view, `sequence` whether
  /// positions are tokens.
  [[nodiscard]] View relaid(const View& view, const std::vector<int>& axes, bool sequence);
  /// A new tensor with the items of a whole one, as a tensor of the graph with these sizes.
  [[nodiscard]] View fresh(const onnx::NodeProto& node, const View& view, const std::vector<std::int64_t>& sizes);
  /// An image with its pending padding, as a layer that copies it.
  [[nodiscard]] View padded(const onnx::NodeProto& node, const Value& value);
  /// A pooling over the `taken` dimensions of a whole tensor, which are kept with one item each or removed.
  [[nodiscard]] View reduced(const onnx::NodeProto& node, const View& view, const std::vector<bool>& taken, bool keeps);
  /// The tensor with the items that a view repeats, or that an operator broadcasts to these sizes, as a layer that copies
  /// them.
  [[nodiscard]] View repeated_copy(const onnx::NodeProto& node, const View& view);
  [[nodiscard]] View broadcast_to(const onnx::NodeProto& node, View view, const std::vector<std::int64_t>& sizes);
  /// Channels of an image that are redistributed to groups form a layer: it moves them. Otherwise the view itself.
  [[nodiscard]] View shuffled(const onnx::NodeProto& node, const View& view);

  /// Adds a layer whose output has the given view sizes; `stem` is its name if the graph has none.
  int add_layer(const onnx::NodeProto& node, NetworkLayer layer, std::string_view stem);
  /// The layer that produced a value unchanged, if this is its only reader.
  [[nodiscard]] NetworkLayer* sole_maker(const onnx::NodeProto& node, int index);

  /// Records a node that looks something up with an index computed from the tokens: reported if the rest yields no network.
  void lost_lookup(const onnx::NodeProto& node) {
    if (lost_lookup_ == nullptr) lost_lookup_ = &node;
  }

  /// Throws Unsupported about a node.
  [[noreturn]] void unsupported(const onnx::NodeProto& node, std::string_view why, std::string hint) const;
  /// Warns of an assumption about a node, once for all nodes of which it is made.
  void assume(const onnx::NodeProto& node, const std::string& what);
  /// A node that reads each item of a view and writes one: an elementwise layer, with a warning.
  void pass(const onnx::NodeProto& node, const View& view, const std::string& what);
  /// Handles an unsupported node: an opaque layer if the user allows it and the shape is preserved, Unsupported otherwise.
  void not_understood(const onnx::NodeProto& node, std::string_view why);

 private:
  [[nodiscard]] View composite(const onnx::NodeProto& maker, const View& asked);
  void start();
  void visit(const onnx::NodeProto& node);
  void translate(const onnx::NodeProto& node);
  /// Ends the network at a node, or follows one that did; `reason` is null then.
  void leave_out(const onnx::NodeProto& node, const Error* reason);
  /// Translates the branch of an If that is taken; false for other operators.
  [[nodiscard]] bool enters_branch(const onnx::NodeProto& node);
  [[nodiscard]] bool starts_network(const onnx::NodeProto& node);
  [[nodiscard]] std::vector<int> outputs();
  void remove_unread(const std::vector<int>& outputs);
  void warn();
  void finish();

  const Graph& graph_;
  const ImportOptions& options_;
  Network network_;
  std::unordered_map<std::string, Value> values_;
  const onnx::NodeProto* lost_lookup_ = nullptr;
  std::unordered_set<const onnx::NodeProto*> tail_;  // nodes after the last weights
  std::vector<const onnx::NodeProto*> left_out_;
  std::string reason_;     // of the first of them
  std::vector<int> ends_;  // tensors that they read
  /// The output of an operator as a function of one item, and the layers that represent it.
  struct Composite {
    View before, after;
  };
  std::unordered_map<const onnx::NodeProto*, Composite> composites_;
  /// What is assumed of how many nodes, in the order of the first one.
  struct Assumption {
    std::string what;
    const onnx::NodeProto* first;
    int nodes;
  };
  std::vector<Assumption> assumptions_;
};

/// Translates nodes of one kind of operator.
using Translator = void(Translation& translation, const onnx::NodeProto& node);
/// The translator of an operator with an input from the network; null if there is none.
[[nodiscard]] Translator* find_translator(std::string_view operation);

/// A tensor of the file as a value.
[[nodiscard]] Value stored_value(const std::string& name, const StoredTensor& tensor);
/// Evaluates a node that only reads stored and side values.
void translate_constants(Translation& translation, const onnx::NodeProto& node);
/// Whether a mask hides later tokens; a square mask with unknown content is assumed to.
[[nodiscard]] bool is_causal(const Value& mask);

/// Translates a sum, product or similar of two activations.
void join_tensors(Translation& translation, const onnx::NodeProto& node, const Value& first, const Value& second);
/// The same for all inputs of a node.
void join_many(Translation& translation, const onnx::NodeProto& node);
/// The same for the activation `index` and a tensor that is not part of the network.
void join_stored(Translation& translation, const onnx::NodeProto& node, int index, const Value& stored);
/// Translates the attention that a product of two values of the network belongs to: the scores, or the result.
void translate_attention(Translation& translation, const onnx::NodeProto& node);
/// Whether the node continues a normalization that the graph spells out; if so, it is translated.
[[nodiscard]] bool continues_norm(Translation& translation, const onnx::NodeProto& node);
/// Adds the norm that a `normalized` or `scaled` value represents; empty if it has no trained scale.
[[nodiscard]] std::optional<View> finished_norm(Translation& translation, const onnx::NodeProto& node, const Value& value,
                                                bool bias);

/// The whole numbers of an input or, in older opsets, an attribute: axes, sizes. Empty if there are none; an Error if they
/// are not known.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_of(const Translation& translation,
                                                                   const onnx::NodeProto& node, int index,
                                                                   std::string_view attribute);
/// Converts a dimension counted from the end to one counted from the start; an Error if it does not exist.
[[nodiscard]] std::size_t dimension_of(const Translation& translation, const onnx::NodeProto& node, std::int64_t axis,
                                       std::size_t rank);

}  // namespace ddl::onnx_import
