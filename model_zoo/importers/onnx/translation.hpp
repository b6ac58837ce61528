#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model_zoo/importers/import.hpp"
#include "model_zoo/importers/onnx/graph.hpp"
#include "model_zoo/importers/onnx/network.hpp"
#include "model_zoo/importers/onnx/value.hpp"

namespace ddl::onnx_import {

/// Walks through a graph and builds the network: a value for each tensor of the graph, a layer for what costs something.
class Translation {
 public:
  Translation(const Graph& graph, const ImportOptions& options);

  /// The whole network; an Error at the first node that is not understood.
  [[nodiscard]] Network run();

  // What translators of operators are made of.

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const Network& network() const { return network_; }

  /// Input `index` of a node; nothing where it is left out.
  [[nodiscard]] const Value* find_input(const onnx::NodeProto& node, int index) const;
  [[nodiscard]] const Value& input(const onnx::NodeProto& node, int index) const;
  void set_output(const onnx::NodeProto& node, Value value, int index = 0);
  /// What a node's first output has been set to.
  [[nodiscard]] const Value& output(const onnx::NodeProto& node) const { return values_.at(node.output(0)); }
  /// A plain view as the node's first output.
  void set_view(const onnx::NodeProto& node, View view);

  /// The value as a view of a tensor that a layer makes: adds the activation or norm that is still to be done. The node
  /// asks.
  [[nodiscard]] View plain(const onnx::NodeProto& node, const Value& value);
  [[nodiscard]] View plain_input(const onnx::NodeProto& node, int index) { return plain(node, input(node, index)); }

  // The tensor in the layout that a layer needs, reshaped by a layer where it is not; the view is of the new tensor. An
  // Error about the node where the view does not allow it.

  /// Batch, channels, then the positions, as convolutions have them.
  [[nodiscard]] View as_image(const onnx::NodeProto& node, const View& view);
  /// All channels last, tokens or nothing before, in any order with the batch.
  [[nodiscard]] View as_rows(const onnx::NodeProto& node, const View& view);
  /// All of a tensor: where the view is of a part of it, a layer cuts that out.
  [[nodiscard]] View gathered(const onnx::NodeProto& node, const View& view);
  /// Positions of an image become tokens.
  [[nodiscard]] View with_tokens(const View& view);

  /// Adds a layer whose output has the given view sizes; `stem` names it where the graph does not.
  int add_layer(const onnx::NodeProto& node, NetworkLayer layer, std::string_view stem);
  /// The layer that made a value as it is, if its result is read here alone.
  [[nodiscard]] NetworkLayer* sole_maker(const onnx::NodeProto& node, int index);

  /// A node that looks something up by what the graph computes of the tokens: said where no network comes of the rest.
  void lost_lookup(const onnx::NodeProto& node) {
    if (lost_lookup_ == nullptr) lost_lookup_ = &node;
  }

  /// A node that is not understood: an opaque layer where the user allows it and the shape stays, an Error otherwise.
  void not_understood(const onnx::NodeProto& node, std::string_view why);

 private:
  [[nodiscard]] View composite(const onnx::NodeProto& maker, const View& asked);
  [[nodiscard]] View cropped(const onnx::NodeProto& node, const View& view);
  void start();
  void visit(const onnx::NodeProto& node);
  void translate(const onnx::NodeProto& node);
  void finish();

  const Graph& graph_;
  const ImportOptions& options_;
  Network network_;
  std::unordered_map<std::string, Value> values_;
  const onnx::NodeProto* lost_lookup_ = nullptr;
  /// What an operator's output was as a function of one item, and what the layers that stand for it make.
  struct Composite {
    View before, after;
  };
  std::unordered_map<const onnx::NodeProto*, Composite> composites_;
};

/// Translates nodes of one kind of operator.
using Translator = void(Translation& translation, const onnx::NodeProto& node);
/// The translator of an operator with an input from the network; none where there is none.
[[nodiscard]] Translator* find_translator(std::string_view operation);

/// What a node makes of stored and side values alone.
void translate_constants(Translation& translation, const onnx::NodeProto& node);
/// Whether a mask hides the tokens that come later; one whose contents are not in the file is taken to where it is square.
[[nodiscard]] bool is_causal(const Value& mask);

/// The attention that a product of two values of the network is part of: the scores, or the result.
void translate_attention(Translation& translation, const onnx::NodeProto& node);
/// Whether the node goes on with a normalization that the graph spells out; it is translated then.
[[nodiscard]] bool continues_norm(Translation& translation, const onnx::NodeProto& node);
/// Adds the norm that a `normalized` or `scaled` value stands for; nothing where it has no trained scale.
[[nodiscard]] std::optional<View> finished_norm(Translation& translation, const onnx::NodeProto& node, const Value& value,
                                                bool bias);

/// The whole numbers of an input or, in older opsets, an attribute: axes, sizes. Nothing where there are none; an Error
/// where they are not known.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_of(const Translation& translation,
                                                                   const onnx::NodeProto& node, int index,
                                                                   std::string_view attribute);
/// A dimension counted from the end made one from the start; an Error where there is none such.
[[nodiscard]] std::size_t dimension_of(const Translation& translation, const onnx::NodeProto& node, std::int64_t axis,
                                       std::size_t rank);

}  // namespace ddl::onnx_import
