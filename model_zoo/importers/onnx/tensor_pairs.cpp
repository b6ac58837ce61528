// Translates sums and products of several activations, which may have different layouts.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {
namespace {

/// Brings two whole tensors into one layout.
bool lie_alike(Translation& translation, View& a, View& b) {
  if (a.dimensions == b.dimensions && translation.network().shape(a.tensor) == translation.network().shape(b.tensor))
    return true;
  if (sizes_of(a) != sizes_of(b)) return false;
  View tokens_a = translation.with_tokens(a);
  View tokens_b = translation.with_tokens(b);
  const Network& network = translation.network();
  if (tokens_a.dimensions == tokens_b.dimensions && network.shape(tokens_a.tensor) == network.shape(tokens_b.tensor)) {
    a = std::move(tokens_a);
    b = std::move(tokens_b);
    return true;
  }
  // If the tensors have the same number of elements in different orders, both are brought into the order of the graph.
  std::vector<int> axes(a.dimensions.size(), channels);
  a = translation.relaid(a, axes, false);
  b = translation.relaid(b, axes, false);
  return a.dimensions == b.dimensions && network.shape(a.tensor) == network.shape(b.tensor);
}

/// Returns whether a tensor is repeated along some dimensions of another tensor, and has the same
/// size in all other dimensions.
bool is_repeated(const View& small, const View& large) {
  if (small.dimensions.size() > large.dimensions.size()) return false;
  const std::vector<std::int64_t> sizes = sizes_of(large);
  return broadcast(sizes_of(small), sizes) == sizes;
}

/// Brings both tensors into a layout in which shared dimensions are channels, and all other dimensions of the larger tensor
/// are positions. The smaller tensor then has one value for each channel.
void lay_as_gate(Translation& translation, View& small, View& large) {
  small.dimensions.insert(small.dimensions.begin(), large.dimensions.size() - small.dimensions.size(), Dimension());
  std::vector<int> axes;
  for (std::size_t d = 0; d < large.dimensions.size(); ++d) {
    axes.push_back(size_of(small.dimensions[d]) == size_of(large.dimensions[d]) ? channels : first_position);
  }
  small = translation.relaid(small, std::vector<int>(axes.size(), channels), false);
  large = translation.relaid(large, axes, false);
}

/// Returns whether `gate` has one number per channel, and `view` has the same channels at more positions.
bool is_gate(const Network& network, const View& gate, const View& view) {
  const TensorShape& shape = network.shape(gate.tensor);
  if (shape.positions() != 1 || shape.channels != network.shape(view.tensor).channels) return false;
  if (gate.dimensions.size() != view.dimensions.size()) return false;
  for (std::size_t d = 0; d < view.dimensions.size(); ++d) {
    const bool positions = !view.dimensions[d].empty() && view.dimensions[d].front().axis >= first_position;
    if (positions ? !gate.dimensions[d].empty() : gate.dimensions[d] != view.dimensions[d]) return false;
  }
  return true;
}

/// Removes a repetition that only expands `value` to the sizes of the given view.
Value unrepeated(Value value, const View& other) {
  std::vector<Dimension>& dimensions = value.view.dimensions;
  for (std::size_t d = 0; d < dimensions.size() && dimensions.size() == other.dimensions.size(); ++d) {
    const bool fits = !has_axis(other.dimensions[d], repeated) && size_of(other.dimensions[d]) == size_of(dimensions[d]);
    if (fits && has_axis(dimensions[d], repeated) && dimensions[d].size() == 1) dimensions[d].clear();
  }
  return value;
}

}  // namespace

void join_tensors(Translation& translation, const onnx::NodeProto& node, const Value& first, const Value& second) {
  const std::string& kind = node.op_type();
  View a = translation.gathered(node, translation.plain(node, unrepeated(first, second.view)));
  View b = translation.gathered(node, translation.plain(node, unrepeated(second, first.view)));
  const bool multiplies = kind == "Mul" || kind == "Div";
  bool alike = lie_alike(translation, a, b);
  if (!alike && is_gate(translation.network(), a, b)) std::swap(a, b);
  if (!alike && !is_gate(translation.network(), b, a)) {
    if (is_repeated(a, b) && !is_repeated(b, a)) std::swap(a, b);
    if (!is_repeated(b, a)) {
      const auto joint = broadcast(sizes_of(a), sizes_of(b));
      if (!joint) {
        translation.graph().fail(node, fmt::format("tensors of {} and {} are combined", fmt::join(sizes_of(a), " x "),
                                                   fmt::join(sizes_of(b), " x ")));
      }
      a = translation.broadcast_to(node, std::move(a), *joint);
    }
    lay_as_gate(translation, b, a);
  }
  if (kind == "Max" || kind == "Min" || kind == "Pow" || kind == "Mod")
    translation.assume(node,
                       fmt::format("{} of two activations, which counts as their {}", kind, alike ? "sum" : "product"));
  if (!alike && !multiplies && (kind == "Add" || kind == "Sub" || kind == "Sum"))
    translation.assume(node, "the sum of an activation and a smaller activation, which counts as their product");
  const bool adds = alike && !multiplies;
  NetworkLayer layer{.operation = adds ? "add" : "multiply",
                     .inputs = {a.tensor, b.tensor},
                     .shape = translation.network().shape(a.tensor)};
  a.tensor = translation.add_layer(node, std::move(layer), adds ? "add" : "multiply");
  translation.set_view(node, std::move(a));
}

void join_many(Translation& translation, const onnx::NodeProto& node) {
  View all;
  std::vector<int> tensors;
  for (int i = 0; i < node.input_size(); ++i) {
    View view = translation.gathered(node, translation.plain_input(node, i));
    if (tensors.empty()) all = view;
    if (!lie_alike(translation, all, view) || (!tensors.empty() && all.tensor != tensors.front())) {
      translation.not_understood(node, "more than two tensors of different layouts are combined");
      return;
    }
    tensors.push_back(view.tensor);
  }
  NetworkLayer layer{.operation = "add", .inputs = tensors, .shape = translation.network().shape(all.tensor)};
  all.tensor = translation.add_layer(node, std::move(layer), "add");
  translation.set_view(node, std::move(all));
}

}  // namespace ddl::onnx_import
