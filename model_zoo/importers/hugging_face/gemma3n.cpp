#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// Returns a letter for each layer: W with a window, F without. By default, every fifth layer has no window.
std::string gemma3n_letters(HuggingFaceConfig& config, std::size_t layers) {
  constexpr std::size_t period = 5;
  std::string letters;
  if (auto listed = config.pattern({"layer_types"}, {{"sliding_attention", 'W'}, {"full_attention", 'F'}})) {
    letters = *listed;
    if (letters.size() != layers)
      config.fail("layer_types",
                  fmt::format("'layer_types' has {} entries, but there are {} layers", letters.size(), layers));
  } else {
    for (std::size_t layer = 1; layer <= layers; ++layer) letters += layer % period == 0 ? 'F' : 'W';
  }
  return letters;
}

/// Sets the letters of layers with sparse activations in lower case. By default, these are the first ten layers.
void mark_sparse(HuggingFaceConfig& config, std::string& letters) {
  constexpr std::size_t usual = 10;
  const std::size_t count = letters.size();
  std::vector<bool> sparse(count, false);
  for (std::size_t layer = 0; layer < usual && count > usual; ++layer) sparse[layer] = true;
  if (const auto listed = config.positives("activation_sparsity_pattern", count)) sparse = *listed;
  for (std::size_t layer = 0; layer < count; ++layer) {
    if (sparse[layer]) letters[layer] = static_cast<char>(std::tolower(static_cast<unsigned char>(letters[layer])));
  }
}

}  // namespace

// The defaults are those of Gemma3nTextConfig.
FamilyModel read_gemma3n(HuggingFaceConfig& config) {
  FamilyModel model{.family = "gemma3n"};
  const std::int64_t layers = config.layers({"num_hidden_layers"}, 35);
  std::string letters = gemma3n_letters(config, static_cast<std::size_t>(layers));
  const std::int64_t shared = config.integer({"num_kv_shared_layers"}, 15, 0);
  // In the family, layers that share keys and values, and the layers whose keys and values are shared, have no sparse
  // activations.
  const auto own = static_cast<std::size_t>(std::max<std::int64_t>(layers - shared, 0));
  if (shared == 0 || own < 3 || letters.substr(own - 2, 2) != "WF")
    config.fail("num_kv_shared_layers",
                "the layers before those that share keys and values do not end with a layer of each kind");
  mark_sparse(config, letters);
  if (letters.find_first_of("wf", own - 2) != std::string::npos)
    config.fail(
        "activation_sparsity_pattern",
        "no family has sparse activations in layers that share keys and values, or whose keys and values are shared");
  const std::int64_t heads = config.size({"num_attention_heads"}, 8);
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(letters.substr(0, own - 2))));
  model.set("borrowing", fmt::format("\"{}\"", shortest_pattern(letters.substr(own))));
  model.set("layers", layers);
  model.set("hidden", config.size({"hidden_size"}, 2048));
  model.set("heads", heads);
  model.set("kv_heads", kv_heads_of(config, heads, 2));
  model.set("head_size", config.integer({"head_dim"}, 256));
  model.set("feed_forward", config.size({"intermediate_size"}, 16384));
  model.set("rank", config.integer({"laurel_rank"}, 64));
  model.set("per_layer", config.integer({"hidden_size_per_layer_input"}, 256));
  model.set("vocabulary", config.size({"vocab_size"}, 262400));
  model.set("per_layer_vocabulary", config.integer({"vocab_size_per_layer_input"}, 262144));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 32768));
  model.set("window", config.integer({"sliding_window"}, 512));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  config.require_number("altup_num_inputs", 4, "layers of the family have four streams");
  config.require_number("altup_active_idx", 0, "layers of the family compute the first stream");
  config.require("altup_correct_scale", true, "the family scales the corrected stream");
  config.require("attention_bias", false, "no family of Gemma 3n has biases");
  for (const std::string_view key : {"altup_coef_clip", "altup_lr_multiplier", "final_logit_softcapping"})
    config.accept(key);
  if (config.activation({"hidden_activation"}, "gelu_pytorch_tanh") != "gelu")
    config.fail("hidden_activation", "the MLPs of Gemma 3n have gelu");
  if (!config.tied(true)) config.fail("tie_word_embeddings", "the head of Gemma 3n shares the embedding");
  if (config.head_of("Gemma3n") != "language_model")
    config.fail("architectures", "only language models of Gemma 3n are read: Gemma3nForCausalLM");
  return model;
}

}  // namespace ddl
