#include "model_zoo/importers/onnx/translation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/elementwise.hpp"
#include "model_zoo/importers/onnx/names.hpp"
#include "model_zoo/importers/onnx/shape_inference.hpp"

namespace ddl::onnx_import {
namespace {

constexpr std::size_t most_layers = 100'000;  // the limit of a model file

/// Returns whether a layer with channels before positions reads the tensor.
bool is_read_as_image(const Graph& graph, const std::string& tensor) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&tensor](const onnx::NodeProto* node) {
    constexpr std::string_view kinds[] = {"Conv", "ConvTranspose", "BatchNormalization", "MaxPool", "AveragePool", "Pad"};
    return node->input_size() > 0 && node->input(0) == tensor &&
           std::find(std::begin(kinds), std::end(kinds), node->op_type()) != std::end(kinds);
  });
}

/// Returns whether a recurrent layer reads the tensor. The first dimension of such a tensor is the
/// sequence, the second the batch.
bool is_read_in_steps(const Graph& graph, const std::string& tensor) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&tensor](const onnx::NodeProto* node) {
    return node->op_type() == "LSTM" && node->input_size() > 0 && node->input(0) == tensor &&
           integer_attribute(*node, "layout", 0) == 0;
  });
}

}  // namespace

Value stored_value(const std::string& name, const StoredTensor& tensor) {
  Value value{
      .kind = Value::Kind::stored, .shape = tensor.shape, .source = name, .source_shape = tensor.shape, .named = true};
  if (tensor.numbers) value.numbers = std::make_shared<const Numbers>(*tensor.numbers);
  return value;
}

Translation::Translation(const Graph& graph, const ImportOptions& options)
    : graph_(graph), options_(options), rotations_(rotations_in(graph)) {}

Network Translation::run() {
  for (const auto& [name, tensor] : graph_.stored()) values_.emplace(name, stored_value(name, tensor));
  tail_ = nodes_after_weights(graph_);
  start();
  for (const onnx::NodeProto* const node : graph_.nodes()) visit(*node);
  finish();
  return std::move(network_);
}

void Translation::start() {
  bool has_input = false;
  for (const DataInput& data : graph_.data()) {
    const std::vector<std::int64_t>& sizes = data.shape;
    if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; })) {
      graph_.fail(fmt::format("the input {} is empty", quote(data.name)));
    }
    Value value{.kind = Value::Kind::side, .shape = sizes, .integral = data.integral};
    const Dimension samples = sizes.empty() ? Dimension() : whole(batch, sizes[0]);
    const bool are_tokens = data.integral && sizes.size() == 2;
    if (are_tokens) {
      const TensorShape shape{.extent = {sizes[1], 1, 1}, .rank = 1, .sequence = true};
      value.view = {.tensor = -1, .dimensions = {samples, whole(first_position, sizes[1])}};
      value.tokens = !has_input || network_.input == shape;
      if (!has_input) network_.input = shape;
      has_input = true;
    } else if (!has_input) {
      if (sizes.size() < 2 || sizes.size() > 2 + most_positions) {
        graph_.fail(fmt::format("the input {} has {} dimensions", quote(data.name), sizes.size()),
                    "the first is the batch; a model's input has one to four others");
      }
      value.kind = Value::Kind::network;
      if (sizes.size() == 3 && is_read_in_steps(graph_, data.name)) {
        network_.input = {.channels = sizes[2], .extent = {sizes[0], 1, 1}, .rank = 1, .sequence = true};
        value.view = {.tensor = -1,
                      .dimensions = {whole(first_position, sizes[0]), whole(batch, sizes[1]), whole(channels, sizes[2])}};
      } else if (sizes.size() == 3 && !is_read_as_image(graph_, data.name)) {
        network_.input = {.channels = sizes[2], .extent = {sizes[1], 1, 1}, .rank = 1, .sequence = true};
        value.view = {.tensor = -1, .dimensions = {samples, whole(first_position, sizes[1]), whole(channels, sizes[2])}};
      } else {
        network_.input = image_shape(std::span(sizes).subspan(1));
        value.view = image_view(-1, samples, network_.input);
      }
      has_input = true;
    }
    values_.emplace(data.name, std::move(value));
  }
}

void Translation::visit(const onnx::NodeProto& node) {
  const auto is_left_out = [this](const std::string& input) {
    const auto found = values_.find(input);
    return found != values_.end() && found->second.left_out;
  };
  if (std::any_of(node.input().begin(), node.input().end(), is_left_out)) {
    leave_out(node, nullptr);
    return;
  }
  try {
    if (!rotates(node)) translate(node);
  } catch (const Unsupported& reason) {
    if (!tail_.contains(&node)) throw;
    leave_out(node, &reason);
    return;
  }
  // Outputs that a translator does not set, such as the indices of a pooling, have no value.
  for (const std::string& output : node.output()) {
    if (!output.empty()) values_.try_emplace(output, Value{.kind = Value::Kind::side});
  }
}

void Translation::translate(const onnx::NodeProto& node) {
  if (enters_branch(node)) return;
  bool reads_network = false;
  for (int i = 0; i < node.input_size(); ++i) {
    const Value* const value = find_input(node, i);
    reads_network = reads_network || (value != nullptr && value->is_network());
    // Tokens are row numbers of a table. Other values that are computed from tokens do not belong to the network.
    if (value != nullptr && value->tokens && node.op_type() == "Gather" && i == 1) reads_network = true;
  }
  if (!reads_network && !starts_network(node)) {
    translate_constants(*this, node);
    return;
  }
  if (!node.domain().empty() && node.domain() != "ai.onnx") {
    not_understood(node, fmt::format("operators of {} are not supported", quote(node.domain())));
    return;
  }
  if (continues_norm(*this, node)) return;
  if (Translator* const translator = find_translator(node.op_type())) {
    translator(*this, node);
  } else {
    not_understood(node, "this operator is not supported");
  }
}

std::vector<int> Translation::outputs() {
  std::vector<int> found;
  const auto add = [&found](int tensor) {
    if (tensor >= 0 && std::find(found.begin(), found.end(), tensor) == found.end()) found.push_back(tensor);
  };
  for (const onnx::ValueInfoProto& output : graph_.file().graph().output()) {
    const Value value = values_.at(output.name());
    if (!value.is_network()) continue;
    onnx::NodeProto end;
    end.set_name(output.name());
    end.set_op_type("output");
    end.add_input(output.name());
    // Keys and values for the next inference step are not outputs of training. The queries' layer includes their layers.
    if (value.is_plain() && value.view.tensor >= 0 && network_.layers[static_cast<std::size_t>(value.view.tensor)].removed)
      continue;
    add(plain(end, value).tensor);
  }
  for (const int tensor : ends_) add(tensor);
  return found;
}

void Translation::finish() {
  std::vector<int> ends = outputs();
  if (ends.empty() && lost_lookup_ != nullptr) {
    graph_.fail(
        *lost_lookup_,
        "the looked-up values are computed from the model's tokens; tokens may only be cast, reshaped, transposed or sliced",
        "export the part of the network that follows the processing of tokens");
  }
  if (ends.empty()) {
    graph_.fail("no output of the graph comes from a supported layer",
                "check that the file contains a network, whose layers compute its outputs from its input");
  }
  if (!left_out_.empty()) remove_unread(ends);
  assume_lost_rotations();
  warn();
  for (const NetworkLayer& layer : network_.layers) {
    if (layer.operation == "loss") return;
  }
  // A softmax over classes is part of the cross-entropy loss.
  for (int& end : ends) {
    const NetworkLayer& last = network_.layers[static_cast<std::size_t>(end)];
    const int before = last.inputs.front();
    const bool of_classes = last.operation == "softmax" && network_.readers(end) == 0 && before >= 0 &&
                            network_.layers[static_cast<std::size_t>(before)].operation == "fully_connected";
    if (!of_classes) continue;
    network_.remove(end);
    end = before;
  }
  const auto is_head = [this](int tensor) {
    return network_.layers[static_cast<std::size_t>(tensor)].operation == "fully_connected";
  };
  if (std::all_of(ends.begin(), ends.end(), is_head)) {
    network_.add({.operation = "loss", .attributes = {{"kind", "cross_entropy"}}, .inputs = ends, .name = "loss"});
    network_.warnings.emplace_back("the graph has no loss: cross entropy is added after its output");
  } else {
    network_.warnings.emplace_back("the graph has no loss, and its output is not a fully connected layer: no loss is added");
  }
}

const Value* Translation::find_input(const onnx::NodeProto& node, int index) const {
  if (index >= node.input_size() || node.input(index).empty()) return nullptr;
  const auto found = values_.find(node.input(index));
  return found == values_.end() ? nullptr : &found->second;
}

const Value& Translation::input(const onnx::NodeProto& node, int index) const {
  const Value* const value = find_input(node, index);
  if (value == nullptr) graph_.fail(node, fmt::format("the input {} is missing", index));
  return *value;
}

void Translation::set_output(const onnx::NodeProto& node, Value value, int index) {
  if (index < node.output_size() && !node.output(index).empty())
    values_.insert_or_assign(node.output(index), std::move(value));
}

void Translation::set_view(const onnx::NodeProto& node, View view) {
  set_output(node, {.kind = Value::Kind::network, .view = std::move(view)});
}

View Translation::plain(const onnx::NodeProto& node, const Value& asked) {
  // The value is copied because `values_` may change before the value is used for the last time.
  const Value value = asked;  // NOLINT(performance-unnecessary-copy-initialization)
  if (!value.is_network()) {
    graph_.fail(node, "the node reads weights or another input of the graph, but a layer must read activations",
                "a model has one input, and weights only in layers");
  }
  if (value.scores) unsupported(node, "the node reads attention scores, but is not part of a supported attention", "");
  if (!value.pads.empty()) return padded(node, value);
  if (value.moment) {
    if (const auto view = finished_norm(*this, node, value, false)) return *view;
    const bool is_length = value.moment->part == Moment::Part::deviation && !value.moment->centres;
    if (value.moment->part == Moment::Part::mean || is_length) {
      // No normalization reads this mean or length over the channels.
      const View whole_view = gathered(node, value.view);
      std::vector<bool> taken;
      for (const Dimension& dimension : whole_view.dimensions) taken.push_back(has_axis(dimension, channels));
      return reduced(node, whole_view, taken, true);
    }
    unsupported(node, "the node reads part of a normalization that is not supported", "");
  }
  if (is_linear(value.function)) return value.view;
  if (const auto kind = activation_of(value.function)) {
    View view = gathered(*value.maker, value.view);
    const TensorShape shape = network_.shape(view.tensor);
    NetworkLayer layer{.operation = "activation", .attributes = {{"kind", *kind}}, .inputs = {view.tensor}, .shape = shape};
    layer.name = layer_name(*value.maker, {}, *kind);
    view.tensor = network_.add_once(std::move(layer));
    return view;
  }
  return composite(*value.maker, value.view);
}

/// Translates several functions in a row, or functions of several tensors. The operators are translated one at a time,
/// starting from the last one. `asked` is the operator's output as its reader sees it, possibly reshaped or transposed.
View Translation::composite(const onnx::NodeProto& maker, const View& asked) {
  auto found = composites_.find(&maker);
  if (found == composites_.end()) {
    const View before = values_.at(maker.output(0)).view;
    bool nothing_to_do = true;
    for (int i = 0; i < maker.input_size(); ++i) {
      const Value* const part = find_input(maker, i);
      if (part == nullptr || !part->is_network() || part->is_plain()) continue;
      nothing_to_do = false;
      View view = plain(maker, *part);
      values_.insert_or_assign(maker.input(i), Value{.kind = Value::Kind::network, .view = std::move(view)});
    }
    if (nothing_to_do) {
      const bool first = find_input(maker, 0) != nullptr && find_input(maker, 0)->is_network();
      pass(maker, plain_input(maker, first ? 0 : 1),
           fmt::format("{}, which counts as one pass over the elements", maker.op_type()));
    } else {
      find_translator(maker.op_type())(*this, maker);
    }
    const View after = plain(maker, values_.at(maker.output(0)));
    found = composites_.emplace(&maker, Composite{.before = before, .after = after}).first;
  }
  const auto [before, after] = found->second;
  if (asked.dimensions == before.dimensions && asked.offset == before.offset) return after;
  // If both views have the same tensor, its layout is used as the layout of the layers, and changes
  // of the view are applied to that layout.
  View from = gathered(maker, before);
  View to = gathered(maker, asked);
  if (from.dimensions != after.dimensions) {
    from = with_tokens(from);
    to = with_tokens(to);
  }
  const bool fits = from.tensor == to.tensor && from.dimensions == after.dimensions && from.offset == after.offset &&
                    network_.shape(from.tensor) == network_.shape(after.tensor);
  if (!fits) return fresh(maker, gathered(maker, after), sizes_of(asked));
  to.tensor = after.tensor;
  return to;
}

int Translation::add_layer(const onnx::NodeProto& node, NetworkLayer layer, std::string_view stem) {
  if (network_.layers.size() == most_layers)
    graph_.fail(node, fmt::format("the network has more than {} layers", most_layers));
  if (layer.name.empty()) layer.name = layer_name(node, layer.weight, stem);
  return network_.add(std::move(layer));
}

NetworkLayer* Translation::sole_maker(const onnx::NodeProto& node, int index) {
  const Value& value = input(node, index);
  if (!value.is_plain() || value.view.tensor < 0 || graph_.uses(node.input(index)) != 1) return nullptr;
  return network_.readers(value.view.tensor) == 0 ? &network_.layers[static_cast<std::size_t>(value.view.tensor)] : nullptr;
}

void Translation::unsupported(const onnx::NodeProto& node, std::string_view why, std::string hint) const {
  throw Unsupported(fmt::format("{}: {}: {}", graph_.origin(), description_of(node), why), std::move(hint));
}

void Translation::assume(const onnx::NodeProto& node, const std::string& what) {
  const auto same = [&what](const Assumption& each) { return each.what == what; };
  const auto found = std::find_if(assumptions_.begin(), assumptions_.end(), same);
  if (found != assumptions_.end()) {
    ++found->nodes;
  } else {
    assumptions_.push_back({.what = what, .first = &node, .nodes = 1});
  }
}

void Translation::pass(const onnx::NodeProto& node, const View& asked, const std::string& what) {
  View view = gathered(node, asked);
  NetworkLayer layer{.operation = "elementwise", .inputs = {view.tensor}, .shape = network_.shape(view.tensor)};
  view.tensor = add_layer(node, std::move(layer), "elementwise");
  assume(node, what);
  set_view(node, std::move(view));
}

void Translation::not_understood(const onnx::NodeProto& node, std::string_view why) {
  View view;
  std::vector<int> tensors;
  std::vector<KnownInput> known;
  for (int i = 0; i < node.input_size(); ++i) {
    const Value* const value = find_input(node, i);
    known.emplace_back();
    if (value == nullptr) continue;
    known.back() = {.shape = value->is_network() ? sizes_of(value->view) : value->shape, .numbers = value->numbers.get()};
  }
  constexpr std::string_view inside[] = {"If", "Loop", "Scan"};  // shape inference of these operators evaluates subgraphs
  const bool has_graphs = std::find(std::begin(inside), std::end(inside), node.op_type()) != std::end(inside);
  const bool may_stay = options_.allow_unknown && !has_graphs;
  for (int i = 0; may_stay && i < node.input_size(); ++i) {
    const Value* const value = find_input(node, i);
    if (value == nullptr || !value->is_network()) continue;
    const View part = gathered(node, plain(node, Value(*value)));
    if (tensors.empty()) view = part;
    if (network_.shape(part.tensor) == network_.shape(view.tensor)) tensors.push_back(part.tensor);
  }
  // Tokens that no table has looked up yet are not the output of a layer.
  if (!tensors.empty()) {
    const auto sizes =
        node.domain().empty() && graph_.is_known(node) ? inferred_sizes(node, graph_.opset(), known) : std::nullopt;
    if (sizes && *sizes != sizes_of(view)) {
      unsupported(node, fmt::format("{}, and the node changes the shape of the input", why),
                  "only operators that keep the shape can become unknown layers; remove the node before the export");
    }
    const int layer = add_layer(node, {.operation = "elementwise", .inputs = tensors, .shape = network_.shape(view.tensor)},
                                "elementwise");
    view.tensor = layer;
    network_.warnings.push_back(
        fmt::format("{}: {}; kept as an elementwise layer that reads and writes its elements", description_of(node), why));
    set_view(node, std::move(view));
    for (int i = 1; i < node.output_size(); ++i) set_output(node, {.kind = Value::Kind::side}, i);
    return;
  }
  unsupported(node, why,
              "--allow-unknown keeps a node that does not change shapes as an elementwise layer; docs/import.md lists "
              "supported operators");
}

std::optional<std::vector<std::int64_t>> integers_of(const Translation& translation, const onnx::NodeProto& node, int index,
                                                     std::string_view attribute) {
  if (const Value* const value = index < 0 ? nullptr : translation.find_input(node, index)) {
    if (value->numbers == nullptr || !value->numbers->integral) {
      translation.graph().fail(
          node, fmt::format("{} is unknown: it is computed from values that are not in the file", quote(node.input(index))),
          "export the network without sizes that depend on the content of tensors");
    }
    return value->numbers->integers;
  }
  if (attribute.empty() || find_attribute(node, attribute) == nullptr) return std::nullopt;
  return integers_attribute(node, attribute);
}

std::size_t dimension_of(const Translation& translation, const onnx::NodeProto& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    translation.graph().fail(node, fmt::format("there is no dimension {} among {}", axis, count));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

}  // namespace ddl::onnx_import
