#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model_zoo/files/import.hpp"
#include "model_zoo/importers/onnx/graph.hpp"
#include "model_zoo/importers/onnx/network.hpp"
#include "model_zoo/importers/onnx/rotary.hpp"
#include "model_zoo/importers/onnx/tail.hpp"
#include "model_zoo/importers/onnx/value.hpp"

namespace ddl::onnx_import {

/// Translates a graph to a network, node by node. Each tensor of the graph becomes a value. Each
/// operation with a cost becomes a layer.
class Translation {
 public:
  Translation(const Graph& graph, const ImportOptions& options);

  /// Returns the whole network. Throws Error at the first unsupported node.
  [[nodiscard]] Network run();

  // The translators of operators use the following functions.

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const Network& network() const { return network_; }

  /// Returns input `index` of a node; null if the node omits the input.
  [[nodiscard]] const Value* find_input(const onnx::NodeProto& node, int index) const;
  [[nodiscard]] const Value& input(const onnx::NodeProto& node, int index) const;
  void set_output(const onnx::NodeProto& node, Value value, int index = 0);
  /// Returns the value of a node's first output.
  [[nodiscard]] const Value& output(const onnx::NodeProto& node) const { return values_.at(node.output(0)); }
  /// Sets a plain view as the node's first output.
  void set_view(const onnx::NodeProto& node, View view);

  /// Returns the value as a view of a tensor that a layer produces. If an activation or a norm is
  /// not yet applied, its layer is added. `node`: for errors.
  [[nodiscard]] View plain(const onnx::NodeProto& node, const Value& value);
  [[nodiscard]] View plain_input(const onnx::NodeProto& node, int index) { return plain(node, input(node, index)); }

  // The following functions return the tensor in the layout that a layer needs. If necessary, a
  // layer that reshapes the tensor is added, and the result refers to the new tensor. They throw an
  // Error about the node if the view does not allow a reshape. A rearrangement of elements is treated
  // as a reshape, because costs depend on the number of elements and not on their order.

  /// Returns the tensor with the dimensions batch, channels, and positions, as convolutions read it.
  [[nodiscard]] View as_image(const onnx::NodeProto& node, const View& view);
  /// Returns the tensor with all channels in the last dimension. The preceding dimensions are the
  /// batch and, if there are any, the tokens, in any order.
  [[nodiscard]] View as_rows(const onnx::NodeProto& node, const View& view);
  /// Returns a view of a whole tensor with the elements of `view`. If `view` is a part of a tensor,
  /// layers that cut out the part are added.
  [[nodiscard]] View gathered(const onnx::NodeProto& node, const View& view);
  /// Returns the positions of an image as tokens.
  [[nodiscard]] View with_tokens(const View& view);
  /// Returns a new tensor with the elements of a whole tensor. `axes`: for each dimension of the view,
  /// its axis in the new tensor. `sequence`: whether positions are tokens.
  [[nodiscard]] View relaid(const View& view, const std::vector<int>& axes, bool sequence);
  /// Returns a new tensor with the elements of a whole tensor, viewed as a tensor of the graph with the given sizes.
  [[nodiscard]] View fresh(const onnx::NodeProto& node, const View& view, const std::vector<std::int64_t>& sizes);
  /// Adds a layer that copies an image with its padding, if no layer has applied the padding yet.
  [[nodiscard]] View padded(const onnx::NodeProto& node, const Value& value);
  /// Adds a pooling over the `taken` dimensions of a whole tensor. Each of these dimensions is kept
  /// with one element, or removed.
  [[nodiscard]] View reduced(const onnx::NodeProto& node, const View& view, const std::vector<bool>& taken, bool keeps);
  /// The two functions add a layer that copies the elements that a view repeats, or that an operator broadcasts to `sizes`.
  [[nodiscard]] View repeated_copy(const onnx::NodeProto& node, const View& view);
  [[nodiscard]] View broadcast_to(const onnx::NodeProto& node, View view, const std::vector<std::int64_t>& sizes);
  /// If channels of an image are redistributed to groups, adds a layer that moves the channels.
  /// Otherwise returns the view itself.
  [[nodiscard]] View shuffled(const onnx::NodeProto& node, const View& view);

  /// Adds a layer whose output is viewed with the given sizes. If the graph has no name for the layer, it is named `stem`.
  int add_layer(const onnx::NodeProto& node, NetworkLayer layer, std::string_view stem);
  /// Returns the layer that produced a value, if the value is unchanged and has no other reader.
  [[nodiscard]] NetworkLayer* sole_maker(const onnx::NodeProto& node, int index);

  /// Records a node that looks up an index computed from the tokens. The node is reported if the graph contains no network.
  void lost_lookup(const onnx::NodeProto& node) {
    if (lost_lookup_ == nullptr) lost_lookup_ = &node;
  }

  /// Sets a view of rotated elements as the node's first output: the view of the elements before the rotation.
  void rotate(const onnx::NodeProto& node, View view);
  /// Returns the number of channels of a head that rotary positions rotate in the view's tensor; 0 if there are none. The
  /// caller adds a layer for these channels. A rotation without a layer causes a warning.
  [[nodiscard]] std::int64_t take_rotation(const View& view);

  /// Throws Unsupported about a node.
  [[noreturn]] void unsupported(const onnx::NodeProto& node, std::string_view why, std::string hint) const;
  /// Warns of an assumption about a node. The warning is given once for all nodes with the same assumption.
  void assume(const onnx::NodeProto& node, const std::string& what);
  /// Translates a node that reads and writes each element of a view to an elementwise layer, with a warning.
  void pass(const onnx::NodeProto& node, const View& view, const std::string& what);
  /// Handles an unsupported node. If the user allows unknown nodes and the shape is preserved, an
  /// opaque layer is added; otherwise throws Unsupported.
  void not_understood(const onnx::NodeProto& node, std::string_view why);

 private:
  [[nodiscard]] View composite(const onnx::NodeProto& maker, const View& asked);
  void start();
  void visit(const onnx::NodeProto& node);
  void translate(const onnx::NodeProto& node);
  /// Leaves out a node and ends the network. `reason` is null for all nodes after the first node that is left out.
  void leave_out(const onnx::NodeProto& node, const Error* reason);
  /// Translates the branch of an If that runs. Returns false for operators other than If.
  [[nodiscard]] bool enters_branch(const onnx::NodeProto& node);
  /// Handles a node of rotary positions that consist of several operators. Returns false for any other node.
  [[nodiscard]] bool rotates(const onnx::NodeProto& node);
  [[nodiscard]] bool starts_network(const onnx::NodeProto& node);
  [[nodiscard]] std::vector<int> outputs();
  void remove_unread(const std::vector<int>& outputs);
  void assume_lost_rotations();
  void warn();
  void finish();

  const Graph& graph_;
  const ImportOptions& options_;
  Network network_;
  std::unordered_map<std::string, Value> values_;
  Rotations rotations_;
  /// Rotary positions that rotate the queries or keys in a tensor.
  struct Rotation {
    std::int64_t channels = 0;  ///< rotated channels of a head
    const onnx::NodeProto* node = nullptr;
    bool taken = false;  ///< whether a layer represents the rotation
  };
  std::map<int, Rotation> rotated_;  // by tensor
  const onnx::NodeProto* lost_lookup_ = nullptr;
  std::unordered_set<const onnx::NodeProto*> tail_;  // nodes after the last node with weights
  std::vector<const onnx::NodeProto*> left_out_;
  std::string reason_;     // reason for leaving out the first node
  std::vector<int> ends_;  // tensors that the left-out nodes read
  /// The output of an operator as a function of one element, and the output of the layers that compute the function.
  struct Composite {
    View before, after;
  };
  std::unordered_map<const onnx::NodeProto*, Composite> composites_;
  /// An assumption about nodes, with the number of nodes. Assumptions are ordered by their first node.
  struct Assumption {
    std::string what;
    const onnx::NodeProto* first;
    int nodes;
  };
  std::vector<Assumption> assumptions_;
};

/// A function that translates nodes of one operator.
using Translator = void(Translation& translation, const onnx::NodeProto& node);
/// Returns the translator of an operator with an input from the network; null if there is no translator.
[[nodiscard]] Translator* find_translator(std::string_view operation);

/// Returns a tensor of the file as a value.
[[nodiscard]] Value stored_value(const std::string& name, const StoredTensor& tensor);
/// Evaluates a node that reads only stored values, or values from outside of the network.
void translate_constants(Translation& translation, const onnx::NodeProto& node);
/// Returns whether a mask hides later tokens. A square mask with unknown content is assumed to hide later tokens.
[[nodiscard]] bool is_causal(const Value& mask);

/// Translates a sum, product or similar operator of two activations.
void join_tensors(Translation& translation, const onnx::NodeProto& node, const Value& first, const Value& second);
/// Like join_tensors, for all inputs of a node.
void join_many(Translation& translation, const onnx::NodeProto& node);
/// Like join_tensors, for the activation `index` and a tensor that is not part of the network.
void join_stored(Translation& translation, const onnx::NodeProto& node, int index, const Value& stored);
/// Translates a product of two activations, which belongs to attention: the product is either the scores or the result.
void translate_attention(Translation& translation, const onnx::NodeProto& node, const Value& a, const Value& b);
/// Adds the layer that multiplies the last dimension of `rows` by a stored matrix of `summed` rows and `features` columns.
void add_fully_connected(Translation& translation, const onnx::NodeProto& node, const View& rows, const Value& weight,
                         std::int64_t summed, std::int64_t features, bool bias);
/// Returns whether the node is a further operator of a normalization that consists of several
/// operators. If so, the node is translated.
[[nodiscard]] bool continues_norm(Translation& translation, const onnx::NodeProto& node);
/// Adds the norm that a `normalized` or `scaled` value represents; returns empty if the norm has no trained scale.
[[nodiscard]] std::optional<View> finished_norm(Translation& translation, const onnx::NodeProto& node, const Value& value,
                                                bool bias);

/// Returns the whole numbers of an input or, in older opsets, of an attribute, such as axes or
/// sizes. Empty if the node has neither. Throws Error if the numbers are not known.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_of(const Translation& translation,
                                                                   const onnx::NodeProto& node, int index,
                                                                   std::string_view attribute);
/// Converts a dimension counted from the end to a dimension counted from the start. Throws Error if
/// there is no such dimension.
[[nodiscard]] std::size_t dimension_of(const Translation& translation, const onnx::NodeProto& node, std::int64_t axis,
                                       std::size_t rank);

}  // namespace ddl::onnx_import
