#include <algorithm>
#include <string>

#include "model_zoo/importers/hugging_face/families.hpp"
#include "model_zoo/values/pattern.hpp"

namespace ddl {
namespace {

/// Replaces each H, a layer with a shared block, by the letter of its block: in upper case for the first use of a block.
std::string with_blocks(std::string letters, std::int64_t blocks) {
  std::int64_t uses = 0;
  for (char& letter : letters) {
    if (letter != 'H') continue;
    const char first = uses < blocks ? 'A' : 'a';
    letter = static_cast<char>(first + uses % blocks);
    ++uses;
  }
  return letters;
}

/// Reads the keys that Zamba and Zamba2 share. `letters`: the kinds of layers, if the file does not list them.
FamilyModel read_zamba_parts(HuggingFaceConfig& config, std::string letters, std::int64_t hidden, std::int64_t heads,
                             std::int64_t blocks, std::string_view classes) {
  FamilyModel model{.family = "zamba2"};
  const auto layers = letters.size();
  if (const auto listed =
          config.pattern({"layers_block_type", "layer_types"}, {{"mamba", 'M'}, {"linear_attention", 'M'}, {"hybrid", 'H'}}))
    letters = *listed;
  if (letters.size() != layers)
    config.fail("layers_block_type",
                fmt::format("the list has {} entries, but there are {} layers", letters.size(), layers));
  if (blocks > 2) config.fail("num_mem_blocks", "the family has one or two shared blocks");
  model.set("pattern", fmt::format("\"{}\"", shortest_pattern(with_blocks(std::move(letters), blocks))));
  model.set("hidden", hidden);
  model.set("heads", heads);
  model.set("kv_heads", config.is_null("num_key_value_heads") ? heads : config.integer({"num_key_value_heads"}, heads));
  if (config.integer({"attention_hidden_size"}, 2 * hidden) != 2 * hidden)
    config.fail("attention_hidden_size", "attention reads the layer's input and the embedding");
  model.set("head_size", config.integer({"attention_head_dim"}, 2 * hidden / heads));
  model.set("inner", config.integer({"mamba_expand"}, 2, 1, 1024) * hidden);
  model.set("convolution", config.integer({"mamba_d_conv"}, 4));
  model.set("activation", config.activation({"hidden_act"}, "gelu"));
  model.set("vocabulary", config.size({"vocab_size"}, 32000));
  model.set("tokens", config.tokens({"max_position_embeddings"}, 4096));
  model.set("fused", config.fused());
  model.set_number("dropout", config.fraction({"attention_dropout"}, 0));
  model.set_head(config, classes, true);
  // Keys that repeat others, and keys of the authors' own library.
  for (const std::string_view key :
       {"hybrid_layer_ids", "mamba_headdim", "kv_channels", "num_query_groups", "num_logits_to_keep", "use_mamba_kernels",
        "use_mem_eff_path", "use_long_context", "ffn_hidden_size", "use_shared_mlp_adapter", "use_shared_block_lora",
        "use_low_rank_mamba_proj", "lora_rank", "num_mem_heads", "gated_linear_unit", "rope_theta", "use_associative_scan"})
    config.accept(key);
  return model;
}

}  // namespace

// Defaults of Zamba2Config.
FamilyModel read_zamba2(HuggingFaceConfig& config) {
  const std::int64_t hidden = config.size({"hidden_size"}, 2560);
  const std::int64_t heads = config.heads({"num_attention_heads"}, 32, 2 * hidden);
  const auto layers = static_cast<std::size_t>(config.layers({"num_hidden_layers"}, 54));
  std::string letters(layers, 'M');
  if (const auto numbers = config.numbers("hybrid_layer_ids", 0)) {
    for (const std::int64_t number : *numbers) {
      if (number >= static_cast<std::int64_t>(layers))
        config.fail("hybrid_layer_ids", fmt::format("there is no layer {}", number));
      letters[static_cast<std::size_t>(number)] = 'H';
    }
  } else {
    for (const std::size_t number : {6U, 12U, 18U, 24U, 30U, 36U, 42U, 47U, 51U}) {
      if (number < layers) letters[number] = 'H';
    }
  }
  FamilyModel model =
      read_zamba_parts(config, std::move(letters), hidden, heads, config.integer({"num_mem_blocks"}, 1), "Zamba2");
  const std::int64_t inner = config.integer({"mamba_expand"}, 2, 1, 1024) * hidden;
  const std::int64_t mamba_heads = config.integer({"n_mamba_heads"}, 8);
  if (inner % mamba_heads != 0)
    config.fail("n_mamba_heads", fmt::format("{} channels are not divisible by {} heads", inner, mamba_heads));
  model.set("mamba_heads", mamba_heads);
  model.set("feed_forward",
            config.is_null("intermediate_size") ? 4 * hidden : config.integer({"intermediate_size"}, 4 * hidden));
  model.set("mamba_groups", config.integer({"mamba_ngroups"}, 1));
  model.set("state", config.integer({"mamba_d_state"}, 64));
  model.set("scan", config.integer({"chunk_size"}, 256));
  const std::int64_t rank = config.integer({"adapter_rank"}, 128);
  model.set("rank", rank);
  if (config.boolean("use_shared_attention_adapter", false)) model.set("attention_rank", rank);
  if (config.boolean("use_mem_rope", false)) model.set("turned", config.integer({"attention_head_dim"}, 2 * hidden / heads));
  const bool has_bias = config.boolean("add_bias_linear", false);
  model.set_flag("bias", has_bias);
  if (has_bias) config.fail("add_bias_linear", "the matrices of shared blocks have no biases");
  config.require("use_conv_bias", true, "the convolution has a bias");
  return model;
}

// Defaults of ZambaConfig: Mamba with heads of its own, and one shared block without adapters.
FamilyModel read_zamba(HuggingFaceConfig& config) {
  const std::int64_t hidden = config.size({"hidden_size"}, 3712);
  const std::int64_t heads = config.heads({"num_attention_heads"}, 16, 2 * hidden);
  const auto layers = static_cast<std::size_t>(config.layers({"num_hidden_layers"}, 76));
  const auto period = static_cast<std::size_t>(config.integer({"attn_layer_period"}, 6));
  const auto offset = static_cast<std::size_t>(config.integer({"attn_layer_offset"}, 4, 0));
  std::string letters(layers, 'M');
  for (std::size_t i = 2; i < layers; ++i) {
    if (i == 2 || (i - 3) % period == offset) letters[i] = 'H';
  }
  FamilyModel model = read_zamba_parts(config, std::move(letters), hidden, heads, 1, "Zamba");
  const std::int64_t inner = config.integer({"mamba_expand"}, 2, 1, 1024) * hidden;
  const std::int64_t mamba_heads = config.integer({"n_mamba_heads"}, 2);
  if (inner % mamba_heads != 0)
    config.fail("n_mamba_heads", fmt::format("{} channels are not divisible by {} heads", inner, mamba_heads));
  model.set_flag("selective", true);
  model.set("mamba_heads", mamba_heads);
  model.set("feed_forward", config.size({"intermediate_size"}, 14848));
  model.set("state", config.integer({"mamba_d_state"}, 16));
  const std::int64_t rank = (hidden + 15) / 16;
  model.set("step_rank", config.is_text("mamba_dt_rank") ? rank : config.integer({"mamba_dt_rank"}, rank));
  if (config.is_text("mamba_dt_rank") && config.text({"mamba_dt_rank"}, "auto") != "auto")
    config.fail("mamba_dt_rank", "the rank of step sizes is a number, or auto");
  model.set_flag("bias", config.boolean("mamba_proj_bias", false));
  model.set_flag("convolution_bias", config.boolean("mamba_conv_bias", true));
  if (config.activation({"hidden_mamba_act"}, "silu") != "silu")
    config.fail("hidden_mamba_act", "Mamba has the activation silu");
  return model;
}

}  // namespace ddl
