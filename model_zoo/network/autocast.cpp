#include "model_zoo/network/autocast.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "model_zoo/operations/cast.hpp"

namespace ddl {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view type, const std::array<std::string_view, N>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

AutocastTypes autocast_types(const Model& model) {
  constexpr std::array<std::string_view, 8> half{"convolution",
                                                 "transposed_convolution",
                                                 "fully_connected",
                                                 "attention",
                                                 "window_attention",
                                                 "additive_attention",
                                                 "lstm",
                                                 "interaction"};
  // `position_embedding` and `class_token` add fp32 parameters to their input. `embedding` is a table of fp32 parameters.
  constexpr std::array<std::string_view, 6> wide{"softmax",    "loss", "router", "embedding", "position_embedding",
                                                 "class_token"};
  AutocastTypes types;
  for (const Layer& layer : model.layers) {
    const std::string_view type = layer.operation->type();
    bool is_wide = is_one_of(type, wide);
    const bool reads_half = is_one_of(type, half);
    // An untrained factor is a plain number without a tensor type.
    if (type == "scale") is_wide = layer.parameters() > 0;
    if (type == "norm") {
      const std::string_view kind = layer.operation->attribute_values().text("kind");
      is_wide = kind == "layer" || kind == "group";
    }
    const bool reads_wide = type == "norm" && is_wide;
    if (!reads_half && !is_wide) {
      is_wide = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                            [&](int input) { return input >= 0 && types.is_wide[static_cast<std::size_t>(input)]; });
    }
    // A softmax and a loss keep their result. A norm keeps its input in the precision in which the norm reads it.
    types.reads_wide.push_back(reads_wide);
    types.is_wide.push_back(is_wide);
    types.reads_half.push_back(reads_half);
  }
  return types;
}

std::vector<Problem> autocast_casts(const Model& model, const AutocastTypes& types, const CastLayer& layer, Precision half) {
  std::vector<Problem> casts;
  const auto add = [&](Precision from, Precision to, std::int64_t items, std::int64_t samples, Pass pass) {
    if (items > 0) casts.push_back({cast_to(to), {{.channels = items}}, {.channels = items}, samples, from, pass});
  };
  const Layer& whole = model.layers[layer.index];
  const std::string_view type = whole.operation->type();
  const bool reads_half = types.reads_half[layer.index];
  // Losses run in fp32 like norms, but keep no copy of their input. Tensors that are concatenated
  // are first converted to one format. Softmax converts its input within its kernel.
  constexpr std::array<std::string_view, 4> casting{"loss", "concat", "append", "class_token"};
  constexpr std::array<std::string_view, 5> promoting{"add", "shift", "multiply", "scale", "position_embedding"};
  const bool reads_wide = types.reads_wide[layer.index] || (types.is_wide[layer.index] && is_one_of(type, casting));
  const bool promotes = types.is_wide[layer.index] && is_one_of(type, promoting);
  for (std::size_t i = 0; i < whole.inputs.size() && i < layer.inputs.size(); ++i) {
    const int input = whole.inputs[i];
    const bool of_batch = input < 0;
    const bool is_wide = of_batch || types.is_wide[static_cast<std::size_t>(input)];
    const bool narrows = reads_half && is_wide;
    const bool widens = reads_wide && !is_wide;
    const std::int64_t items = layer.inputs[i].items();
    const Precision from = narrows ? Precision::fp32 : half;
    const Precision to = narrows ? half : Precision::fp32;
    if (narrows || widens) add(from, to, items, layer.samples, Pass::forward);
    const bool casts_back = narrows || widens || (promotes && !is_wide);
    if (casts_back && layer.needs_gradient && !of_batch) add(from, to, items, layer.samples, Pass::backward_data);
  }
  if (reads_half) {
    add(Precision::fp32, half, layer.parameters, 1, Pass::forward);
    add(Precision::fp32, half, layer.parameters, 1, Pass::backward_data);
  }
  return casts;
}

}  // namespace ddl
