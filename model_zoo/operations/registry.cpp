#include "model_zoo/operations/registry.hpp"

namespace ddl {

// Each reader is defined in the file with the name of its operation.
OperationReader read_activation, read_add, read_additive_attention, read_append, read_attention, read_channel_shuffle,
    read_class_token, read_combine, read_concat, read_convolution, read_crop, read_deformable_attention,
    read_disentangled_attention, read_dispatch, read_dropout, read_elementwise, read_embedding, read_flatten,
    read_fourier_mixing, read_fully_connected, read_gated_delta, read_gather, read_identity, read_index_scores, read_input,
    read_interaction, read_latent_keys_and_values, read_linear_attention, read_loss, read_lstm, read_mamba1, read_mamba2,
    read_multiply, read_norm, read_pick, read_pool, read_position_embedding, read_query_key_norm, read_reshape, read_resize,
    read_rotary_embedding, read_router, read_rwkv7, read_scale, read_scatter, read_select, read_shift, read_similarities,
    read_slice, read_softmax, read_space_to_depth, read_token_shift, read_transposed_convolution, read_window_attention;

std::span<const OperationKind> operation_kinds() {
  static const std::vector<OperationKind> kinds{
      {"activation", "kind", {"kind", "in_place", "composed"}, read_activation},
      {"add", "", {}, read_add},
      {"additive_attention", "features", {"features", "normalized"}, read_additive_attention},
      {"append", "", {}, read_append},
      {"attention",
       "heads",
       {"heads", "kv_heads", "value_size", "causal", "window", "sinks", "soft_cap", "padded", "fused", "document", "alibi",
        "buckets", "tied", "dropout"},
       read_attention},
      {"channel_shuffle", "groups", {"groups"}, read_channel_shuffle},
      {"class_token", "", {"each"}, read_class_token},
      {"combine", "", {}, read_combine},
      {"concat", "", {}, read_concat},
      {"convolution",
       "",
       {"filters", "kernel", "stride", "padding", "dilation", "groups", "bias", "linear"},
       read_convolution},
      {"crop", "size", {"size"}, read_crop},
      {"deformable_attention", "heads", {"heads", "points"}, read_deformable_attention},
      {"disentangled_attention",
       "heads",
       {"heads", "positions", "terms", "features", "matrices", "matrix_biases", "biases", "table", "norm", "nearest",
        "padded", "dropout"},
       read_disentangled_attention},
      {"dispatch", "active", {"active"}, read_dispatch},
      {"dropout", "rate", {"rate", "of"}, read_dropout},
      {"elementwise", "", {}, read_elementwise},
      {"embedding", "", {"vocabulary", "features", "tied"}, read_embedding},
      {"flatten", "", {}, read_flatten},
      {"fourier_mixing", "blocks", {"blocks"}, read_fourier_mixing},
      {"fully_connected",
       "features",
       {"features", "bias", "tied", "experts", "keys", "adapter", "adapted", "drops"},
       read_fully_connected},
      {"gated_delta",
       "",
       {"heads", "head_size", "key_heads", "key_size", "kernel", "chunk", "channel_decay"},
       read_gated_delta},
      {"gather", "tokens", {"tokens"}, read_gather},
      {"identity", "", {}, read_identity},
      {"index_scores", "", {"heads", "selected"}, read_index_scores},
      {"input", "", {"channels", "size", "tokens", "features"}, read_input, true},
      {"interaction", "", {}, read_interaction},
      {"latent_keys_and_values",
       "heads",
       {"heads", "key_size", "shared", "value_size", "bias"},
       read_latent_keys_and_values},
      {"linear_attention", "heads", {"heads", "chunk", "norm"}, read_linear_attention},
      {"loss", "kind", {"kind", "soft_cap"}, read_loss},
      {"lstm", "features", {"features", "bidirectional"}, read_lstm},
      {"mamba1", "", {"state", "rank", "heads", "kernel", "bias", "norms"}, read_mamba1},
      {"mamba2", "", {"heads", "head_size", "state", "groups", "kernel", "chunk", "norm"}, read_mamba2},
      {"multiply", "", {}, read_multiply},
      {"norm", "kind", {"kind", "groups", "scale", "bias"}, read_norm},
      {"pick", "tokens", {"tokens"}, read_pick},
      {"pool", "", {"kind", "kernel", "stride", "padding", "ceil", "adaptive", "global"}, read_pool},
      {"position_embedding", "positions", {"positions", "repeated"}, read_position_embedding},
      {"query_key_norm", "heads", {"heads", "kv_heads", "of", "scale", "bias"}, read_query_key_norm},
      {"reshape", "", {"channels", "size", "tokens"}, read_reshape},
      {"resize", "", {"kind", "size", "factor"}, read_resize},
      {"rotary_embedding", "heads", {"heads", "kv_heads", "turned"}, read_rotary_embedding},
      {"router", "experts", {"experts", "active", "scores", "bias", "correction", "groups", "active_groups"}, read_router},
      {"rwkv7", "heads", {"heads", "chunk"}, read_rwkv7},
      {"scale", "factor", {"factor", "bias", "shift"}, read_scale},
      {"scatter", "tokens", {"tokens"}, read_scatter},
      {"select", "token", {"token"}, read_select},
      {"shift", "", {}, read_shift},
      {"similarities", "", {"groups"}, read_similarities},
      {"slice", "", {"first", "channels", "tokens"}, read_slice},
      {"softmax", "", {}, read_softmax},
      {"space_to_depth", "block", {"block"}, read_space_to_depth},
      {"token_shift", "", {"keeps"}, read_token_shift},
      {"transposed_convolution",
       "",
       {"filters", "kernel", "stride", "padding", "output_padding", "dilation", "groups", "bias"},
       read_transposed_convolution},
      {"window_attention", "", {"heads", "window", "shift", "positions", "padded"}, read_window_attention},
  };
  return kinds;
}

const OperationKind* find_operation_kind(std::string_view key) {
  for (const OperationKind& kind : operation_kinds()) {
    if (kind.key == key) return &kind;
  }
  return nullptr;
}

}  // namespace ddl
