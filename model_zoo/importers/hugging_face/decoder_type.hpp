#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model_zoo/importers/hugging_face/families.hpp"

namespace ddl {

/// A part that a key of the file turns on or off. If there is no key, `usual` says whether all
/// models of the type have the part.
struct DecoderSwitch {
  std::string_view key{};
  bool usual = false;  ///< the value if the file does not have the key
};

enum class DecoderNorm { rms, layer, layer_without_bias, without_weights, rms_without_weights };
/// Whether norms are before each part, after each part, or both before and after.
enum class DecoderNorms { before, behind, both };
/// The heads that a norm of queries and keys covers; see the operation query_key_norm.
enum class DecoderQueryKeyNorm { none, head, each_head, all_heads };

/// The layers with attention to only a window or chunk of tokens.
enum class DecoderWindows {
  none,
  all,       ///< all layers, if `sliding_window` is a number
  last,      ///< layers from `max_window_layers` on, if `use_sliding_window` is true
  by_layer,  ///< as listed in `layer_types`, otherwise all layers but each n-th
  chunks     ///< as listed in `layer_types`, otherwise layers with rotary positions; chunks of `attention_chunk_size`
};

/// The layers without rotary positions.
enum class DecoderUnrotated {
  none,
  listed,     ///< as listed in `no_rope_layers`, otherwise each n-th layer, by `no_rope_layer_interval`
  no_window,  ///< layers without a window, if other layers have one
  switched,   ///< all layers, unless `position_embedding_type` is `rope`
  all         ///< all layers; positions are trained
};

/// The operation that mixes the tokens of a layer.
enum class DecoderMixer {
  attention,
  listed,   ///< as listed in `layers_block_type` or `layer_types`; Mamba-2 if there is no list
  indexed,  ///< attention in the layers listed in `attn_layer_indices`, Mamba-2 in all others
  both,     ///< in each layer, attention and Mamba-2, whose outputs are added
  delta,    ///< as listed in `layer_types`, otherwise a gated delta rule in all layers but each n-th
  linear,   ///< as listed in `layer_types` or `attn_type_list`, otherwise linear attention in each second layer
  periodic  ///< attention in each `attn_layer_period`-th layer from `attn_layer_offset` on, Mamba in all others
};

/// The layers with an MLP and no experts.
enum class DecoderDense {
  none,
  first,        ///< the first `first_k_dense_replace` or `num_dense_layers` layers
  steps,        ///< all layers but each `decoder_sparse_step`-th, and those listed in `mlp_only_layers`
  range,        ///< layers outside of `moe_layer_start_index` to `moe_layer_end_index`
  periodic,     ///< all layers but each `expert_layer_period`-th from `expert_layer_offset` on
  interleaved,  ///< all layers but those in `moe_layers`, or all but each `interleave_moe_layer_step`-th
};

/// The keys for experts, and the library's defaults.
struct DecoderExperts {
  std::string_view count_key{}, other_count_key{};
  std::int64_t count = 0;  ///< 0: the library has no default; if `count_key` is empty, the type has no experts
  std::string_view active_key = "num_experts_per_tok";
  std::int64_t active = 1;
  std::string_view width_key{};  ///< if empty, `intermediate_size` is the width of an expert
  std::int64_t width = 0;
  DecoderDense dense = DecoderDense::none;
  std::int64_t dense_layers = 0;  ///< for DecoderDense::first: default number of layers without experts
  std::string_view dense_width_key{};
  std::int64_t dense_width = 0;
  std::string_view shared_key{};        ///< key for the number of shared experts, which process all tokens
  std::string_view shared_width_key{};  ///< key for the total width of the shared experts
  std::int64_t shared = 0;              ///< the library's default for `shared_width_key` or `shared_key`
  bool has_shared_gate = false, is_sigmoid = false, is_corrected = false, has_groups = false;
};

/// The library's defaults of the sizes that all decoders have.
struct DecoderSizes {
  std::int64_t vocabulary, hidden, feed_forward, layers, heads, kv_heads, tokens;  ///< kv_heads 0: as many as `heads`
};

/// The properties in which a decoder may differ from Llama.
struct DecoderParts {
  std::string_view other_classes{};  ///< the beginning of class names in files of another library
  std::int64_t head_size = 0;        ///< 0: the head size is hidden / heads
  std::string_view activation = "silu";
  std::string_view attention = "sdpa";  ///< the attention implementation that the library uses
  bool is_tied = false;                 ///< whether the head shares the embedding
  double dropout = 0, residual_dropout = 0, embedding_dropout = 0;
  DecoderSwitch attention_bias{};               ///< biases of the matrices before and after attention
  DecoderSwitch qkv_bias{}, projection_bias{};  ///< biases of the matrix before attention, and of the matrix after attention
  DecoderSwitch feed_forward_bias{}, head_bias{};
  DecoderQueryKeyNorm query_key_norm = DecoderQueryKeyNorm::none;
  DecoderSwitch query_key_norm_switch{.usual = true};
  DecoderNorm norm = DecoderNorm::rms;
  DecoderNorms norms = DecoderNorms::before;
  DecoderSwitch parallel{};
  bool is_gated = true;
  bool is_encoder = false;          ///< whether each token attends to all others, and the head predicts masked words
  bool has_embedding_norm = false;  ///< whether the first layer reads a norm of the embedding
  bool has_output_cap = false;      ///< whether the key `final_logit_softcapping` limits the head's output by default
  bool has_output_gate = false;     ///< whether the output of attention is gated
  double turned = 1;                ///< share of a head's channels that rotary positions rotate
  DecoderUnrotated unrotated = DecoderUnrotated::none;
  DecoderWindows windows = DecoderWindows::none;
  std::int64_t window = 0;          ///< default size of the window
  std::int64_t period = 0;          ///< n: each n-th layer has no window, or no rotary positions; 0: all layers have them
  bool has_joined_queries = false;  ///< whether queries, keys and values have one matrix in the library
  /// Key of the period of the first, dense layers, after which `period` starts; empty: these layers are not different.
  std::string_view prefix_period_key{};
  DecoderMixer mixer = DecoderMixer::attention;
  DecoderExperts experts{};
  bool has_gpt_keys = false;      ///< whether the file has the keys n_embd, n_head, n_layer, n_inner and n_positions
  std::string_view accepted{};    ///< a key that only repeats another key
  std::string_view layers_key{};  ///< another key for the number of layers
};

/// A kind of decoder, as a row of a table.
struct DecoderType {
  std::string_view model_type;
  std::string_view classes;  ///< the beginning of the names of the decoder's classes: `Llama`
  DecoderSizes sizes;
  DecoderParts parts{};
};
[[nodiscard]] std::span<const DecoderType> decoder_types();
[[nodiscard]] FamilyModel read_decoder_type(HuggingFaceConfig& config, const DecoderType& type);

}  // namespace ddl
