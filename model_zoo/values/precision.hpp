#pragma once

#include "core/enum_array.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// Number format of activations and of the matrix operations. fp16 and bf16 mean mixed precision with fp32 master weights.
/// fp8 is bf16, except that matrix products of layers with weights read inputs with 8 bits [Micikevicius et al., "FP8
/// formats for deep learning", arXiv 2209.05433; NVIDIA, Transformer Engine documentation]. With nvfp4, these inputs have 4
/// bits per element, and one scale of 8 bits per 16 elements [NVIDIA, "Pretraining large language models with NVFP4", arXiv
/// 2509.25149]. With mxfp8, mxfp6 and mxfp4, they have one scale of 8 bits per 32 elements [Rouhani et al., "Microscaling
/// data formats for deep learning", arXiv 2310.10537]. With int8, they are integers, as in SwitchBack [Wortsman et al.,
/// arXiv 2304.13013] and in torchao's INT8 mixed-precision training.
enum class Precision { fp32, tf32, fp16, bf16, fp8, nvfp4, mxfp8, mxfp6, mxfp4, int8 };

/// Returns the number of bytes per element of an activation, δ in the literature.
[[nodiscard]] constexpr double item_bytes(Precision p) { return p == Precision::fp32 || p == Precision::tf32 ? 4.0 : 2.0; }
[[nodiscard]] constexpr bool is_mixed(Precision p) { return item_bytes(p) < 4.0; }
/// Returns whether only the products of linear layers have this precision. All other operations are then in bf16.
[[nodiscard]] constexpr bool is_narrow(Precision p) { return p >= Precision::fp8; }
/// Returns the bits per element of an input of a product, without scales; 0 if products read inputs of item_bytes().
[[nodiscard]] constexpr int narrow_bits(Precision p) {
  if (p == Precision::nvfp4 || p == Precision::mxfp4) return 4;
  if (p == Precision::mxfp6) return 6;
  return is_narrow(p) ? 8 : 0;
}
/// Returns the number of elements with one scale of 8 bits in the inputs of narrow products. fp8 and int8 have larger
/// groups, and also count as 32.
[[nodiscard]] constexpr int scaled_items(Precision p) { return p == Precision::nvfp4 ? 16 : 32; }
/// Returns the precision in which weights and gradients are exchanged and updated: bf16 if products are narrower.
[[nodiscard]] constexpr Precision update_precision(Precision p) { return is_narrow(p) ? Precision::bf16 : p; }
template <>
inline constexpr EnumNames<Precision> enum_names<Precision>{"fp32",  "tf32",  "fp16",  "bf16",  "fp8",
                                                            "nvfp4", "mxfp8", "mxfp6", "mxfp4", "int8"};

}  // namespace ddl
