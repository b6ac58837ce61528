// Translates long short-term memory, and refuses operators that have no layer in model files, with the reason.

#include <fmt/format.h>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_lstm, translate_gru, translate_integers;

void translate_lstm(Translation& translation, const onnx::NodeProto& node) {
  const Value weight = translation.input(node, 1);
  const std::string direction = text_attribute(node, "direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (weight.kind != Value::Kind::stored || !weight.shape || weight.shape->size() != 3) {
    translation.graph().fail(node, "the weights are not a stored tensor of three dimensions");
  }
  const std::int64_t features = (*weight.shape)[1] / 4;
  const View asked = translation.gathered(node, translation.plain_input(node, 0));
  const bool batch_first = integer_attribute(node, "layout", 0) != 0;
  if (asked.dimensions.size() != 3 || (*weight.shape)[0] != directions || (*weight.shape)[1] != 4 * features ||
      features < 1) {
    translation.graph().fail(node, "the input or the weights do not have the dimensions of an LSTM");
  }
  const std::size_t of_tokens = batch_first ? 1 : 0;
  if (has_axis(asked.dimensions[of_tokens], batch)) {
    translation.graph().fail(node, "the LSTM runs over dimension 0 of the input, which is the batch",
                             "export the network with the batch first: nn.LSTM(…, batch_first=True)");
  }
  std::vector<int> axes(3, first_position);
  axes[2] = channels;
  View view = translation.as_rows(node, asked);
  if (!translation.network().shape(view.tensor).sequence) view = translation.relaid(view, axes, true);
  TensorShape shape = translation.network().shape(view.tensor);
  if ((*weight.shape)[2] != shape.channels) {
    translation.graph().fail(
        node, fmt::format("the weights are for {} channels, but the input has {}", (*weight.shape)[2], shape.channels));
  }
  if (translation.find_input(node, 3) == nullptr)
    translation.assume(
        node, fmt::format("an LSTM without biases, whose {} biases are counted nevertheless", 8 * features * directions));
  shape.channels = directions * features;
  NetworkLayer layer{
      .operation = "lstm", .attributes = {{"features", fmt::to_string(features)}}, .inputs = {view.tensor}, .shape = shape};
  if (directions == 2) layer.set("bidirectional", "yes");
  layer.weight = weight.source;
  const int tensor = translation.add_layer(node, std::move(layer), "lstm");
  const Dimension tokens = view.dimensions[of_tokens], samples = view.dimensions[1 - of_tokens];
  const Dimension turns = directions == 2 ? Dimension{{.axis = channels, .size = 2, .stride = features}} : Dimension();
  const Dimension state = whole(channels, features);
  View all{.tensor = tensor, .dimensions = {tokens, turns, samples, state}};
  if (batch_first) all.dimensions = {samples, tokens, turns, state};
  translation.set_output(node, {.kind = Value::Kind::network, .view = std::move(all)});
  View last{.tensor = tensor, .dimensions = {turns, samples, state}};
  if (batch_first) last.dimensions = {samples, turns, state};
  last.offset[first_position] = shape.extent[0] - 1;
  for (const int output : {1, 2}) translation.set_output(node, {.kind = Value::Kind::network, .view = last}, output);
}

void translate_gru(Translation& translation, const onnx::NodeProto& node) {
  translation.unsupported(node, "model files have no GRU and no plain recurrent layer, only an LSTM",
                          "export the network with nn.LSTM: the GRU takes three quarters of the LSTM's time and parameters");
}

void translate_integers(Translation& translation, const onnx::NodeProto& node) {
  translation.unsupported(node, "the network was quantized to integers for inference, and is not trained in this form",
                          "import the floating-point network that was quantized");
}

}  // namespace ddl::onnx_import
