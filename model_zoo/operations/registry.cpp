#include "model_zoo/operations/registry.hpp"

namespace ddl {

// Each in the file of its name.
OperationReader read_activation, read_add, read_attention, read_channel_shuffle, read_concat, read_convolution, read_crop,
    read_dropout, read_elementwise, read_embedding, read_flatten, read_fully_connected, read_identity, read_loss,
    read_multiply, read_norm, read_pool, read_position_embedding, read_reshape, read_resize, read_scale, read_select,
    read_slice, read_softmax, read_transposed_convolution;

std::span<const OperationKind> operation_kinds() {
  static const std::vector<OperationKind> kinds{
      {"activation", "kind", {"kind", "in_place"}, read_activation},
      {"add", "", {}, read_add},
      {"attention", "heads", {"heads", "kv_heads", "causal", "dropout"}, read_attention},
      {"channel_shuffle", "groups", {"groups"}, read_channel_shuffle},
      {"concat", "", {}, read_concat},
      {"convolution", "", {"filters", "kernel", "stride", "padding", "dilation", "groups", "bias"}, read_convolution},
      {"crop", "size", {"size"}, read_crop},
      {"dropout", "rate", {"rate", "of"}, read_dropout},
      {"elementwise", "", {}, read_elementwise},
      {"embedding", "", {"vocabulary", "features"}, read_embedding},
      {"flatten", "", {}, read_flatten},
      {"fully_connected", "features", {"features", "bias", "tied"}, read_fully_connected},
      {"identity", "", {}, read_identity},
      {"loss", "kind", {"kind"}, read_loss},
      {"multiply", "", {}, read_multiply},
      {"norm", "kind", {"kind", "groups", "scale", "bias"}, read_norm},
      {"pool", "", {"kind", "kernel", "stride", "padding", "ceil", "adaptive", "global"}, read_pool},
      {"position_embedding", "positions", {"positions"}, read_position_embedding},
      {"reshape", "", {"channels", "size", "tokens"}, read_reshape},
      {"resize", "", {"kind", "size", "factor"}, read_resize},
      {"scale", "factor", {"factor", "bias"}, read_scale},
      {"select", "token", {"token"}, read_select},
      {"slice", "", {"first", "channels"}, read_slice},
      {"softmax", "", {}, read_softmax},
      {"transposed_convolution",
       "",
       {"filters", "kernel", "stride", "padding", "output_padding", "dilation", "groups", "bias"},
       read_transposed_convolution},
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
