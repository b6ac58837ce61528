#pragma once

#include <cstdint>
#include <string>

#include "model_zoo/importers/hugging_face/decoder_type.hpp"

namespace ddl {

/// Sizes of a Mamba-2 mixer.
struct DecoderMamba {
  std::int64_t heads = 1, head_size = 1, groups = 1, state = 1, convolution = 1, scan = 1;
  bool has_norm = true, has_bias = false, has_output_bias = false;
};

/// Sizes of a mixer with a gated delta rule.
struct DecoderDelta {
  std::int64_t heads = 1, head_size = 1, key_heads = 1, key_size = 1, convolution = 1;
};

/// Sizes of a Mamba mixer; state, convolution and biases of projections are those of DecoderMamba.
struct DecoderSelective {
  std::int64_t inner = 1, rank = 1;
  bool has_convolution_bias = true;
};

/// The layers of a decoder, each as a letter of the family `decoder`.
struct DecoderLayers {
  std::string letters{};
  std::int64_t window = 0, chunk = 0;  ///< tokens of a window or chunk; 0: no layer has a window or chunk
  DecoderMamba mamba{};
  DecoderDelta delta{};
  DecoderSelective selective{};
  std::int64_t linear_chunk = 256;  ///< tokens of a chunk of linear attention
};
/// The sizes of a decoder from which the kinds of its layers are determined.
struct DecoderDepth {
  std::int64_t layers, hidden, experts;
};
/// Throws Error if a list does not fit the number of layers, or if the family lacks a kind of layer.
[[nodiscard]] DecoderLayers read_decoder_layers(HuggingFaceConfig& config, const DecoderType& type,
                                                const DecoderDepth& depth);

}  // namespace ddl
