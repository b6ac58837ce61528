// Translates attention that the graph contains as two matrix products with a softmax between them.

#include <algorithm>

#include <fmt/format.h>

#include "model_zoo/importers/onnx/elementwise.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {
namespace {

bool is_only(const Dimension& dimension, int axis) {
  return std::all_of(dimension.begin(), dimension.end(), [axis](const Atom& atom) { return atom.axis == axis; });
}

bool is_position(const Dimension& dimension) {
  return std::all_of(dimension.begin(), dimension.end(), [](const Atom& atom) { return atom.axis >= first_position; });
}

std::int64_t channels_in(const Dimension& dimension) {
  std::int64_t count = 1;
  for (const Atom& atom : dimension) count *= atom.axis == channels ? atom.size : 1;
  return count;
}

/// Returns the number of heads: the product of the channel dimensions before the last two
/// dimensions, which are tokens and elements of a head.
std::int64_t heads_of(const View& view) {
  std::int64_t heads = 1;
  for (std::size_t d = 0; d + 2 < view.dimensions.size(); ++d) heads *= channels_in(view.dimensions[d]);
  return heads;
}

/// Returns the number of positions over which the dimensions iterate.
std::int64_t positions_in(const View& view) {
  std::int64_t count = 1;
  for (const Dimension& dimension : view.dimensions) {
    for (const Atom& atom : dimension) count *= atom.axis >= first_position ? atom.size : 1;
  }
  return count;
}

/// Checks queries, keys or values. Their dimensions are batch, windows and heads, followed by tokens and elements of a head
/// in either order. Without windows, the tokens are all positions.
void check_part(const Translation& translation, const onnx::NodeProto& node, const View& view, std::size_t tokens,
                std::size_t items, const TensorShape& shape) {
  const Graph& graph = translation.graph();
  if (!is_only(view.dimensions[items], channels) || !has_axis(view.dimensions[items], channels)) {
    graph.fail(node, "a product of two activations is supported in attention only, and this one does not sum over channels");
  }
  if (has_axis(view.dimensions[tokens], batch)) {
    graph.fail(node, "the attention is over dimension 0 of the input, which is the batch",
               "export the network with the batch first: nn.MultiheadAttention(…, batch_first=True)");
  }
  if (!is_position(view.dimensions[tokens]) || positions_in(view) != shape.positions()) {
    graph.fail(node, "the attention is not over all positions, and not in windows that contain all of them");
  }
}

struct Parts {
  View queries, keys, values;
};

/// Returns one tensor with the concatenated parts, such as queries, keys and values.
int packed(Translation& translation, const onnx::NodeProto& node, const std::vector<View>& parts, std::int64_t total) {
  Network& network = translation.network();
  std::vector<int> tensors;
  for (const View& part : parts) {
    const int tensor = translation.with_tokens(part).tensor;
    if (std::find(tensors.begin(), tensors.end(), tensor) == tensors.end()) tensors.push_back(tensor);
  }
  if (tensors.size() == 1 && network.shape(tensors.front()).channels == total) return tensors.front();

  std::int64_t found = 0;
  bool projections = true;
  for (const int tensor : tensors) {
    found += network.shape(tensor).channels;
    projections = projections && tensor >= 0 &&
                  network.layers[static_cast<std::size_t>(tensor)].operation == "fully_connected" &&
                  network.readers(tensor) == 0;
  }
  if (found != total) {
    // If queries, keys and values are one tensor, this tensor is concatenated three times.
    if (const auto count = static_cast<std::int64_t>(parts.size()); tensors.size() == 1 && count * found == total) {
      tensors.assign(parts.size(), tensors.front());
      projections = false;
    } else {
      translation.graph().fail(node, "the attention's queries, keys and values are parts of wider tensors");
    }
  }
  if (projections) {
    const NetworkLayer& first = network.layers[static_cast<std::size_t>(tensors.front())];
    for (const int tensor : tensors) {
      const NetworkLayer& other = network.layers[static_cast<std::size_t>(tensor)];
      projections = projections && other.inputs == first.inputs && other.has("bias", "no") == first.has("bias", "no") &&
                    !other.removed;
    }
  }
  TensorShape shape = network.shape(tensors.front());
  shape.channels = total;
  if (!projections) {
    return translation.add_layer(node, {.operation = "concat", .inputs = tensors, .shape = shape}, "qkv");
  }
  // Separate projections of one tensor are merged into a wider projection.
  NetworkLayer& first = network.layers[static_cast<std::size_t>(tensors.front())];
  first.set("features", fmt::to_string(total));
  first.shape = shape;
  for (const int tensor : tensors) {
    if (tensor != tensors.front()) network.remove(tensor);
  }
  return tensors.front();
}

/// Returns whether each head of queries or keys is divided by its length, as in cosine attention.
bool has_unit_length(const Value& value) {
  return value.moment && value.moment->part == Moment::Part::normalized && !value.moment->centres && value.source.empty();
}

/// Returns the view of queries or keys, which may be divided by their lengths.
View part_of_scores(Translation& translation, const onnx::NodeProto& node, const Value& value) {
  if (!has_unit_length(value)) return is_linear(value.function) ? value.view : translation.plain(node, value);
  translation.assume(node, "the lengths by which queries and keys are divided take no time");
  return value.view;
}

void start(Translation& translation, const onnx::NodeProto& node, const Value& a, const Value& b) {
  const std::size_t rank = a.view.dimensions.size();
  const auto is_part = [](const Value& value) {
    return (!value.moment || has_unit_length(value)) && !value.scores && value.pads.empty();
  };
  const bool plain = is_part(a) && is_part(b);
  if (rank < 2 || b.view.dimensions.size() != rank || !plain) {
    translation.not_understood(node, "a product of two activations is supported in attention only");
    return;
  }
  auto scores = std::make_shared<Scores>();
  scores->queries = part_of_scores(translation, node, a);
  scores->keys = part_of_scores(translation, node, b);
  const View& queries = scores->queries;
  const View& keys = scores->keys;
  const Network& network = translation.network();
  check_part(translation, node, queries, rank - 2, rank - 1, network.shape(queries.tensor));
  check_part(translation, node, keys, rank - 1, rank - 2, network.shape(keys.tensor));
  if (size_of(queries.dimensions[rank - 1]) != size_of(keys.dimensions[rank - 2])) {
    translation.graph().fail(node, "queries and keys have different sizes");
  }
  const std::int64_t windows = positions_in(queries) / size_of(queries.dimensions[rank - 2]);
  if (windows != positions_in(keys) / size_of(keys.dimensions[rank - 1])) {
    translation.graph().fail(node, "queries and keys have different windows");
  }
  Value value{.kind = Value::Kind::network, .view = queries};
  value.view.dimensions[rank - 1] = keys.dimensions[rank - 1];
  value.scores = std::move(scores);
  translation.set_output(node, std::move(value));
}

/// Adds the layer that rotates `turned` channels of each head of queries and keys in `tensor`; no layer for 0 channels.
/// `kv_heads`: 0 if the tensor has only queries or only keys.
void turn(Translation& translation, const onnx::NodeProto& node, std::int64_t turned, std::int64_t heads,
          std::int64_t kv_heads, int& tensor) {
  if (turned == 0) return;
  const TensorShape shape = translation.network().shape(tensor);
  NetworkLayer rotary{
      .operation = "rotary_embedding", .attributes = {{"heads", fmt::to_string(heads)}}, .inputs = {tensor}, .shape = shape};
  if (kv_heads != heads) rotary.set("kv_heads", fmt::to_string(kv_heads));
  if (turned < shape.channels / (heads + 2 * kv_heads)) rotary.set("turned", fmt::to_string(turned));
  tensor = translation.add_layer(node, std::move(rotary), "rotary");
}

/// Returns one tensor with the keys and values of attention to another sequence. If the graph rotates the keys, they are
/// rotated before they are concatenated with the values; keys that already share a tensor with values stay as they are.
int keys_and_values(Translation& translation, const onnx::NodeProto& node, const Parts& parts, std::int64_t width) {
  View keys = parts.keys;
  if (translation.network().shape(keys.tensor).channels == width) {
    const std::int64_t turned = translation.take_rotation(keys);
    keys = translation.with_tokens(keys);
    turn(translation, node, turned, heads_of(parts.keys), 0, keys.tensor);
  }
  return packed(translation, node, {keys, parts.values}, 2 * width);
}

/// Adds attention inside windows of consecutive tokens: window attention on an image whose rows are the windows.
int attend_in_windows(Translation& translation, const onnx::NodeProto& node, int packed, const NetworkLayer& attention,
                      std::int64_t window) {
  TensorShape sequence = translation.network().shape(packed);
  const std::int64_t rows = sequence.extent[0] / window;
  TensorShape image{.channels = sequence.channels, .extent = {rows, window, 1}, .rank = 2};
  const int rearranged = translation.add_layer(
      node,
      {.operation = "reshape",
       .attributes = {{"channels", fmt::to_string(image.channels)}, {"size", fmt::format("{}x{}", rows, window)}},
       .inputs = {packed},
       .shape = image},
      "windows");
  image.channels = sequence.channels = attention.shape.channels;
  const int attended = translation.add_layer(
      node,
      {.operation = "window_attention",
       .attributes = {attention.attributes.front(), {"window", fmt::format("1x{}", window)}, {"positions", "none"}},
       .inputs = {rearranged},
       .shape = image},
      "attention");
  return translation.add_layer(
      node,
      {.operation = "reshape",
       .attributes = {{"channels", fmt::to_string(sequence.channels)}, {"tokens", fmt::to_string(sequence.extent[0])}},
       .inputs = {attended},
       .shape = sequence},
      "tokens");
}

void finish(Translation& translation, const onnx::NodeProto& node, const Value& a, const Value& b) {
  const Scores& scores = *a.scores;
  const std::size_t rank = scores.queries.dimensions.size();
  const bool plain = !b.moment && !b.scores && b.pads.empty();
  if (!scores.normalized || b.view.dimensions.size() != rank || !plain) {
    translation.graph().fail(node, "attention scores are multiplied with a tensor other than the values");
  }
  Parts parts{
      .queries = scores.queries, .keys = scores.keys, .values = is_linear(b.function) ? b.view : translation.plain(node, b)};
  const Network& network = translation.network();
  check_part(translation, node, parts.values, rank - 2, rank - 1, network.shape(parts.values.tensor));
  const std::int64_t size = size_of(parts.queries.dimensions[rank - 1]);
  const std::int64_t heads = heads_of(parts.queries);
  const std::int64_t kv_heads = heads_of(parts.keys);
  if (size_of(parts.values.dimensions[rank - 1]) != size || heads_of(parts.values) != kv_heads || heads % kv_heads != 0) {
    translation.graph().fail(
        node, fmt::format("{} heads of queries, {} of keys and {} of values of {} elements do not match", heads, kv_heads,
                          heads_of(parts.values), size));
  }
  const std::int64_t tokens = size_of(parts.queries.dimensions[rank - 2]);
  const bool has_windows = tokens < positions_in(parts.queries);
  if (has_windows && scores.has_soft_cap) translation.graph().fail(node, "a tanh limits the scores of windows");
  if (has_windows && scores.dropout > 0) {
    translation.graph().fail(node, "attention in windows with dropout of its weights is not supported",
                             "export the network without dropout, or write a model file");
  }
  // Window attention kernels compute all scores, including those that a mask hides, such as the mask of shifted windows.
  if (has_windows && scores.causal) translation.assume(node, "the mask of the windows takes no time");
  if (has_windows && (kv_heads != heads || size_of(parts.values.dimensions[rank - 2]) != tokens ||
                      positions_in(parts.keys) != positions_in(parts.queries))) {
    translation.graph().fail(node, "queries, keys and values have different windows or heads");
  }
  const bool is_one_sequence =
      network.shape(parts.queries.tensor).positions() == network.shape(parts.keys.tensor).positions();
  NetworkLayer layer{.operation = "attention", .attributes = {{"heads", fmt::to_string(heads)}}};
  if (is_one_sequence) {
    layer.inputs = {packed(translation, node, {parts.queries, parts.keys, parts.values}, (heads + 2 * kv_heads) * size)};
    const std::int64_t of_queries = translation.take_rotation(parts.queries);
    const std::int64_t turned = std::max(of_queries, translation.take_rotation(parts.keys));
    turn(translation, node, turned, heads, kv_heads, layer.inputs.front());
  } else {
    layer.inputs = {packed(translation, node, {parts.queries}, heads * size),
                    keys_and_values(translation, node, parts, kv_heads * size)};
    turn(translation, node, translation.take_rotation(parts.queries), heads, 0, layer.inputs.front());
  }
  for (const int input : layer.inputs) {
    if (!network.shape(input).sequence) translation.graph().fail(node, "a single token attends, or is attended to");
  }
  layer.shape = network.shape(layer.inputs.front());
  layer.shape.channels = heads * size;
  if (kv_heads != heads) layer.set("kv_heads", fmt::to_string(kv_heads));
  if (scores.causal) layer.set("causal", "yes");
  if (scores.has_soft_cap) layer.set("soft_cap", "yes");
  if (scores.dropout > 0) layer.set("dropout", fmt::format("{:.6g}", scores.dropout));

  View view = translation.with_tokens(parts.queries);
  std::int64_t stride = heads * size;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    for (Atom& atom : view.dimensions[d]) {
      if (atom.axis != channels) continue;
      stride /= atom.size;
      atom.stride = stride;
    }
    tidy(view.dimensions[d]);
  }
  view.dimensions[rank - 1] = whole(channels, size);
  view.offset = {0, 0, 0, 0};
  view.tensor = has_windows ? attend_in_windows(translation, node, layer.inputs.front(), layer, tokens)
                            : translation.add_layer(node, std::move(layer), "attention");
  translation.set_view(node, std::move(view));
}

/// Returns the queries, keys or values of the operator `Attention`, with the dimensions batch, heads, tokens and elements of
/// a head. An input of rank 3 has the dimensions batch, tokens and channels, and its channels are split into heads.
View part_of_operator(Translation& translation, const onnx::NodeProto& node, int index, std::string_view heads) {
  View view = translation.plain_input(node, index);
  const std::vector<std::int64_t> sizes = sizes_of(view);
  if (sizes.size() == 4) return view;
  const std::int64_t count = integer_attribute(node, heads, 0);
  if (sizes.size() != 3 || count < 1 || sizes[2] % count != 0) {
    translation.graph().fail(
        node, fmt::format("{} channels do not divide into {} heads", sizes.empty() ? 0 : sizes.back(), count));
  }
  const std::vector<std::int64_t> split{sizes[0], sizes[1], count, sizes[2] / count};
  const auto parts = reshaped(view, split);
  if (!parts) translation.unsupported(node, "the channels do not divide into equal heads", "");
  return transposed(*parts, std::vector<std::int64_t>{0, 2, 1, 3});
}

}  // namespace

Translator translate_attention_operator;

void translate_attention(Translation& translation, const onnx::NodeProto& node, const Value& a, const Value& b) {
  if (a.scores) {
    finish(translation, node, a, b);
  } else {
    start(translation, node, a, b);
  }
}

/// Translates the operator `Attention`, which exists since opset 23 and contains the whole attention.
void translate_attention_operator(Translation& translation, const onnx::NodeProto& node) {
  if (translation.find_input(node, 4) != nullptr) {
    translation.unsupported(node, "the node reads keys and values of an earlier step, as in inference",
                            "export the network as it is trained, without a cache");
  }
  const bool in_rows = translation.plain_input(node, 0).dimensions.size() == 3;
  Value queries{.kind = Value::Kind::network, .view = part_of_operator(translation, node, 0, "q_num_heads")};
  Value keys{.kind = Value::Kind::network, .view = part_of_operator(translation, node, 1, "kv_num_heads")};
  Value values{.kind = Value::Kind::network, .view = part_of_operator(translation, node, 2, "kv_num_heads")};
  std::swap(keys.view.dimensions[2], keys.view.dimensions[3]);
  start(translation, node, queries, keys);
  Value weights = translation.output(node);
  if (!weights.scores) translation.unsupported(node, "the shapes of queries and keys do not match", "");
  auto scores = std::make_shared<Scores>(*weights.scores);
  const Value* const mask = translation.find_input(node, 3);
  scores->normalized = true;
  scores->causal = integer_attribute(node, "is_causal", 0) != 0 || (mask != nullptr && is_causal(*mask));
  weights.scores = std::move(scores);
  finish(translation, node, weights, values);
  if (!in_rows) return;
  const View view = transposed(translation.output(node).view, std::vector<std::int64_t>{0, 2, 1, 3});
  const std::vector<std::int64_t> sizes = sizes_of(view);
  const auto rows = reshaped(view, std::vector<std::int64_t>{sizes[0], sizes[1], sizes[2] * sizes[3]});
  if (!rows) translation.unsupported(node, "the heads cannot be merged into channels", "");
  translation.set_view(node, *rows);
}

}  // namespace ddl::onnx_import
