#include "model_zoo/importers/hugging_face/decoder_layers.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace ddl {
namespace {

/// Reads the kinds of layers from a list that must have an entry for each layer.
std::optional<std::string> listed(HuggingFaceConfig& config, HuggingFaceConfig::Names names, HuggingFaceConfig::Kinds kinds,
                                  std::int64_t layers) {
  std::optional<std::string> letters = config.pattern(names, kinds);
  if (!letters || static_cast<std::int64_t>(letters->size()) == layers) return letters;
  std::string_view key = *names.begin();
  for (const std::string_view name : names) {
    if (config.has(name) && !config.is_null(name)) key = name;
  }
  config.fail(key, fmt::format("'{}' has {} entries, but there are {} layers", key, letters->size(), layers));
}

/// Returns, for each layer, whether a list of layer numbers contains the layer.
std::vector<bool> marked(const std::vector<std::int64_t>& numbers, std::int64_t layers) {
  std::vector<bool> marks(static_cast<std::size_t>(layers), false);
  for (const std::int64_t number : numbers) {
    if (number < layers) marks[static_cast<std::size_t>(number)] = true;
  }
  return marks;
}

/// Marks layers with a window or chunk by `W`, and all other layers by `F`.
void read_windows(HuggingFaceConfig& config, const DecoderType& type, DecoderLayers& made) {
  const auto layers = static_cast<std::int64_t>(made.letters.size());
  if (type.parts.windows == DecoderWindows::none) {
    config.require_no_windows();
    return;
  }
  const bool in_chunks = type.parts.windows == DecoderWindows::chunks;
  const std::string_view key = in_chunks ? "attention_chunk_size" : "sliding_window";
  const std::int64_t seen = config.is_null(key) ? 0 : config.integer({key}, type.parts.window, 0);
  (in_chunks ? made.chunk : made.window) = seen;
  std::optional<std::string> types = listed(
      config, {"layer_types"}, {{"full_attention", 'F'}, {"sliding_attention", 'W'}, {"chunked_attention", 'W'}}, layers);
  const std::int64_t whole = type.parts.windows == DecoderWindows::last ? config.integer({"max_window_layers"}, 28, 0) : 0;
  const bool used = type.parts.windows != DecoderWindows::last || config.boolean("use_sliding_window", false);
  std::int64_t period = type.parts.period;
  if (type.parts.windows == DecoderWindows::by_layer) {
    // A pattern is a number n (each n-th layer has no window), or letters such as LLLG, where the
    // last letter stands for a layer without a window.
    period = config.is_text("sliding_window_pattern")
                 ? static_cast<std::int64_t>(config.text({"sliding_window_pattern"}, "").size())
                 : config.integer({"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"},
                                  type.parts.period, 0);
  }
  // The layers before those with experts may have a period of their own, after which the other period starts.
  const std::string_view prefix_key = type.parts.prefix_period_key;
  const std::int64_t prefix = prefix_key.empty() ? 0 : config.integer({"first_k_dense_replace"}, 0, 0);
  const std::int64_t prefix_period = prefix_key.empty() ? 1 : config.integer({prefix_key}, 1);
  for (std::int64_t i = 0; i < layers && !types && used; ++i) {
    const bool is_prefix = i < prefix;
    const std::int64_t place = is_prefix ? i : i - prefix, every = is_prefix ? prefix_period : period;
    if (every > 0 ? (place + 1) % every != 0 : i >= whole) made.letters[static_cast<std::size_t>(i)] = 'W';
  }
  if (types) made.letters = *types;
  if (seen == 0) std::replace(made.letters.begin(), made.letters.end(), 'W', 'F');
  if (made.letters.find('W') == std::string::npos) made.window = made.chunk = 0;
}

/// Marks layers without rotary positions by `N`.
void read_unrotated(HuggingFaceConfig& config, const DecoderType& type, DecoderLayers& made) {
  const auto layers = static_cast<std::int64_t>(made.letters.size());
  std::vector<bool> unrotated(made.letters.size(), false);
  if (type.parts.unrotated == DecoderUnrotated::listed) {
    const std::int64_t interval = config.integer({"no_rope_layer_interval"}, type.parts.period, 1);
    const auto rotated = config.numbers("no_rope_layers", 0);
    if (rotated && !rotated->empty() && static_cast<std::int64_t>(rotated->size()) != layers) {
      config.fail("no_rope_layers",
                  fmt::format("'no_rope_layers' has {} entries, but there are {} layers", rotated->size(), layers));
    }
    for (std::size_t i = 0; i < unrotated.size(); ++i) {
      const bool listed_so = rotated && !rotated->empty();
      unrotated[i] = listed_so ? (*rotated)[i] == 0 : (static_cast<std::int64_t>(i) + 1) % interval == 0;
    }
  } else if (type.parts.unrotated == DecoderUnrotated::no_window) {
    const bool any = made.window > 0;
    for (std::size_t i = 0; i < unrotated.size(); ++i) unrotated[i] = any && made.letters[i] == 'F';
  } else if (type.parts.unrotated == DecoderUnrotated::switched) {
    const bool rotary = config.text({"position_embedding_type"}, "nope") == "rope";
    unrotated.assign(unrotated.size(), !rotary);
  }
  for (std::size_t i = 0; i < unrotated.size(); ++i) {
    if (!unrotated[i] || std::string_view("MLSA").find(made.letters[i]) != std::string_view::npos) continue;
    if (made.letters[i] != 'F') {
      config.unknown("no_rope_layers",
                     fmt::format("layer {} has no rotary positions, and does not attend to all tokens", i));
      config.warn(fmt::format("layer {} is read with rotary positions", i));
      continue;
    }
    made.letters[i] = 'N';
  }
}

void read_mamba_layers(HuggingFaceConfig& config, const DecoderType& type, const DecoderDepth& depth, DecoderLayers& made) {
  const DecoderMixer mixer = type.parts.mixer;
  if (mixer != DecoderMixer::listed && mixer != DecoderMixer::indexed && mixer != DecoderMixer::both) return;
  if (type.parts.mixer == DecoderMixer::both) made.letters.assign(made.letters.size(), 'H');
  if (type.parts.mixer == DecoderMixer::indexed) {
    const auto attention = config.numbers("attn_layer_indices", 0);
    const std::vector<bool> marks = marked(attention.value_or(std::vector<std::int64_t>{}), depth.layers);
    for (std::size_t i = 0; i < marks.size(); ++i) made.letters[i] = marks[i] ? 'F' : 'M';
  }
  if (type.parts.mixer != DecoderMixer::both) {
    const auto kinds =
        listed(config, {"layers_block_type", "layer_types"},
               {{"mamba", 'M'}, {"linear_attention", 'M'}, {"attention", 'F'}, {"full_attention", 'F'}}, depth.layers);
    if (kinds) made.letters = *kinds;
    if (!kinds && type.parts.mixer == DecoderMixer::listed) made.letters.assign(made.letters.size(), 'M');
  }
  DecoderMamba& mamba = made.mamba;
  mamba.heads = config.integer({"mamba_n_heads"}, 128);
  const bool narrow = type.parts.mixer == DecoderMixer::both;
  const std::int64_t expanded = config.integer({"mamba_expand"}, 2, 1, 1024) * depth.hidden;
  const std::int64_t inner =
      narrow ? config.is_null("mamba_d_ssm") ? expanded : config.integer({"mamba_d_ssm"}, 1024) : expanded;
  if (inner % mamba.heads != 0)
    config.fail("mamba_n_heads", fmt::format("{} channels are not divisible by {} heads", inner, mamba.heads));
  mamba.head_size = inner / mamba.heads;
  if (config.is_text("mamba_d_head")) {
    static_cast<void>(config.text({"mamba_d_head"}, "auto"));
  } else if (const std::int64_t said = config.integer({"mamba_d_head"}, mamba.head_size); said != mamba.head_size) {
    config.fail("mamba_d_head", fmt::format("{} heads of {} are not the {} channels of Mamba-2", mamba.heads, said, inner));
  }
  mamba.groups = config.integer({"mamba_n_groups"}, 1);
  mamba.state = config.integer({"mamba_d_state"}, 256);
  mamba.convolution = config.integer({"mamba_d_conv"}, 4);
  mamba.scan = config.integer({"mamba_chunk_size"}, 256);
  mamba.has_norm = !narrow || config.boolean("mamba_rms_norm", false);
  mamba.has_bias = config.boolean("mamba_proj_bias", false);
  mamba.has_output_bias = narrow ? config.boolean("projectors_bias", mamba.has_bias) : mamba.has_bias;
  config.require("mamba_conv_bias", true, "the convolution has a bias");
}

void read_delta_layers(HuggingFaceConfig& config, const DecoderType& type, const DecoderDepth& depth, DecoderLayers& made) {
  if (type.parts.mixer != DecoderMixer::delta) return;
  const std::int64_t interval = config.integer({"full_attention_interval"}, 4);
  const auto kinds = listed(config, {"layer_types"}, {{"linear_attention", 'L'}, {"full_attention", 'F'}}, depth.layers);
  for (std::size_t i = 0; i < made.letters.size(); ++i) {
    const bool is_whole = (static_cast<std::int64_t>(i) + 1) % interval == 0;
    made.letters[i] = kinds ? (*kinds)[i] : is_whole ? 'F' : 'L';
  }
  DecoderDelta& delta = made.delta;
  delta.heads = config.integer({"linear_num_value_heads"}, 32);
  delta.head_size = config.integer({"linear_value_head_dim"}, 128);
  delta.key_heads = config.integer({"linear_num_key_heads"}, 16);
  delta.key_size = config.integer({"linear_key_head_dim"}, 128);
  delta.convolution = config.integer({"linear_conv_kernel_dim"}, 4);
  if (delta.heads % delta.key_heads != 0) {
    config.fail("linear_num_key_heads",
                fmt::format("{} heads are not divisible by {} heads of keys", delta.heads, delta.key_heads));
  }
}

/// Marks layers with linear attention by `A`. In `attn_type_list`, the number 0 stands for such a layer.
void read_linear_layers(HuggingFaceConfig& config, const DecoderType& type, const DecoderDepth& depth, DecoderLayers& made) {
  if (type.parts.mixer != DecoderMixer::linear) return;
  const auto kinds = listed(config, {"layer_types"}, {{"linear_attention", 'A'}, {"full_attention", 'F'}}, depth.layers);
  const auto numbers = config.numbers("attn_type_list", 0);
  if (numbers && static_cast<std::int64_t>(numbers->size()) != depth.layers) {
    config.fail("attn_type_list",
                fmt::format("'attn_type_list' has {} entries, but there are {} layers", numbers->size(), depth.layers));
  }
  for (std::size_t i = 0; i < made.letters.size(); ++i)
    made.letters[i] = kinds ? (*kinds)[i] : (numbers ? (*numbers)[i] == 0 : i % 2 == 1) ? 'A' : 'F';
  made.linear_chunk = config.integer({"block_size"}, 256);
}

/// Marks layers with Mamba by `S`.
void read_selective_layers(HuggingFaceConfig& config, const DecoderType& type, const DecoderDepth& depth,
                           DecoderLayers& made) {
  if (type.parts.mixer != DecoderMixer::periodic) return;
  const std::int64_t period = config.integer({"attn_layer_period"}, 8);
  const std::int64_t offset = config.integer({"attn_layer_offset"}, 4, 0, period - 1);
  const auto kinds =
      listed(config, {"layers_block_type", "layer_types"},
             {{"mamba", 'S'}, {"linear_attention", 'S'}, {"attention", 'F'}, {"full_attention", 'F'}}, depth.layers);
  for (std::size_t i = 0; i < made.letters.size(); ++i)
    made.letters[i] = kinds ? (*kinds)[i] : static_cast<std::int64_t>(i) % period == offset ? 'F' : 'S';
  made.selective.inner = config.integer({"mamba_expand"}, 2, 1, 1024) * depth.hidden;
  const std::int64_t rank = (depth.hidden + 15) / 16;
  const bool is_auto = config.is_text("mamba_dt_rank");
  if (is_auto && config.text({"mamba_dt_rank"}, "auto") != "auto")
    config.fail("mamba_dt_rank", "the rank of step sizes is a number, or auto");
  made.selective.rank = is_auto ? rank : config.integer({"mamba_dt_rank"}, rank);
  made.selective.has_convolution_bias = config.boolean("mamba_conv_bias", true);
  made.mamba.state = config.integer({"mamba_d_state"}, 16);
  made.mamba.convolution = config.integer({"mamba_d_conv"}, 4);
  made.mamba.has_bias = made.mamba.has_output_bias = config.boolean("mamba_proj_bias", false);
  config.require("mamba_inner_layernorms", true, "step size, B and C have norms");
  for (const std::string_view key : {"use_mamba_kernels", "use_mambapy", "use_associative_scan", "num_logits_to_keep",
                                     "n_ctx", "calc_logits_for_entire_prompt"})
    config.accept(key);
}

/// Returns, for each layer, whether the layer has experts.
std::vector<bool> sparse_layers(HuggingFaceConfig& config, const DecoderExperts& experts, std::int64_t layers) {
  std::vector<bool> sparse(static_cast<std::size_t>(layers), true);
  const auto choose = [&sparse](const auto& has_experts) {
    for (std::size_t i = 0; i < sparse.size(); ++i) sparse[i] = has_experts(static_cast<std::int64_t>(i));
  };
  if (experts.dense == DecoderDense::first) {
    const std::int64_t dense = config.integer({"first_k_dense_replace", "num_dense_layers"}, experts.dense_layers, 0);
    choose([dense](std::int64_t i) { return i >= dense; });
  } else if (experts.dense == DecoderDense::steps) {
    const std::int64_t step = config.integer({"decoder_sparse_step"}, 1);
    const std::vector<bool> dense =
        marked(config.numbers("mlp_only_layers", 0).value_or(std::vector<std::int64_t>{}), layers);
    choose([&](std::int64_t i) { return !dense[static_cast<std::size_t>(i)] && (i + 1) % step == 0; });
  } else if (experts.dense == DecoderDense::range) {
    const std::int64_t first = config.integer({"moe_layer_start_index"}, 1, 0);
    // The value -1 stands for the last layer.
    const std::int64_t last = config.integer({"moe_layer_end_index"}, layers - 1, -1);
    const std::int64_t step = config.integer({"moe_layer_interval"}, 1);
    choose([&](std::int64_t i) { return (i + 1) % step == 0 && i >= first && (last < 0 || i <= last); });
  } else if (experts.dense == DecoderDense::periodic) {
    const std::int64_t period = config.integer({"expert_layer_period"}, 2);
    const std::int64_t offset = config.integer({"expert_layer_offset"}, 1, 0, period - 1);
    choose([&](std::int64_t i) { return i % period == offset; });
  } else if (experts.dense == DecoderDense::interleaved) {
    const std::int64_t step = config.integer({"interleave_moe_layer_step"}, 1);
    const auto numbers = config.numbers("moe_layers", 0);
    if (numbers) return marked(*numbers, layers);
    choose([step](std::int64_t i) { return (i + 1) % step == 0; });
  }
  if (const auto kinds = listed(config, {"mlp_layer_types"}, {{"dense", 'd'}, {"sparse", 's'}}, layers))
    choose([&kinds](std::int64_t i) { return (*kinds)[static_cast<std::size_t>(i)] == 's'; });
  return sparse;
}

}  // namespace

DecoderLayers read_decoder_layers(HuggingFaceConfig& config, const DecoderType& type, const DecoderDepth& depth) {
  DecoderLayers made{.letters = std::string(static_cast<std::size_t>(depth.layers), 'F')};
  if (type.parts.mixer == DecoderMixer::attention) read_windows(config, type, made);
  read_mamba_layers(config, type, depth, made);
  read_delta_layers(config, type, depth, made);
  read_linear_layers(config, type, depth, made);
  read_selective_layers(config, type, depth, made);
  read_unrotated(config, type, made);
  if (depth.experts == 0) return made;
  const std::vector<bool> sparse = sparse_layers(config, type.parts.experts, depth.layers);
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    if (sparse[i]) made.letters[i] = static_cast<char>(made.letters[i] - 'A' + 'a');
  }
  return made;
}

}  // namespace ddl
