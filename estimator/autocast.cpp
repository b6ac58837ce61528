#include "estimator/autocast.hpp"

#include <algorithm>
#include <array>
#include <string_view>

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
  // The latter three add fp32 parameters to what they read, or are a table of them.
  constexpr std::array<std::string_view, 6> wide{"softmax",    "loss", "router", "embedding", "position_embedding",
                                                 "class_token"};
  AutocastTypes types;
  for (const Layer& layer : model.layers) {
    const std::string_view type = layer.operation->type();
    bool is_wide = is_one_of(type, wide);
    const bool reads_half = is_one_of(type, half);
    // A factor that is not trained is a number, which has no type.
    if (type == "scale") is_wide = layer.parameters() > 0;
    if (type == "norm") {
      const std::string attributes = layer.operation->attributes();
      is_wide = attributes.starts_with("kind=layer") || attributes.starts_with("kind=group");
    }
    const bool reads_wide = type == "norm" && is_wide;
    if (!reads_half && !is_wide) {
      is_wide = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                            [&](int input) { return input >= 0 && types.is_wide[static_cast<std::size_t>(input)]; });
    }
    // A softmax and a loss keep what they make of their input; norms keep it as they read it.
    types.reads_wide.push_back(reads_wide);
    types.is_wide.push_back(is_wide);
    types.reads_half.push_back(reads_half);
  }
  return types;
}

}  // namespace ddl
