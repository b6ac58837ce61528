// The table of the supported operators. Elementwise functions of one tensor have one line each. For
// all other operators, a comment names the file with their translators.

#include <algorithm>
#include <string_view>
#include <utility>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

// windows.cpp
Translator translate_convolution, translate_transposed_convolution, translate_pool;
// reductions.cpp
Translator translate_global_pool, translate_reduction;
// resizing.cpp
Translator translate_pad, translate_resize, translate_space_to_depth, translate_depth_to_space;
// products.cpp
Translator translate_product, translate_gemm;
// einsum.cpp
Translator translate_einsum;
// attention.cpp
Translator translate_attention_operator;
// rotary.cpp
Translator translate_rotary;
// recurrent.cpp
Translator translate_lstm, translate_gru, translate_integers;
// norms.cpp
Translator translate_batch_norm, translate_layer_norm, translate_group_norm, translate_instance_norm;
// elementwise_nodes.cpp
Translator translate_function, translate_joined, translate_clip, translate_prelu, translate_pass, translate_softmax,
    translate_test, translate_where;
// concatenation.cpp
Translator translate_concat;
// shape_operators.cpp
Translator translate_reshape, translate_flatten, translate_squeeze, translate_transpose, translate_slice, translate_split,
    translate_gather, translate_expand, translate_shape, translate_identity, translate_quantized, translate_dropout;

namespace {

constexpr std::pair<std::string_view, Translator*> translators[] = {
    {"Conv", translate_convolution},
    {"ConvTranspose", translate_transposed_convolution},
    {"MaxPool", translate_pool},
    {"AveragePool", translate_pool},
    {"GlobalMaxPool", translate_global_pool},
    {"GlobalAveragePool", translate_global_pool},
    {"ReduceMean", translate_reduction},
    {"ReduceSum", translate_reduction},
    {"ReduceMax", translate_reduction},
    {"ReduceMin", translate_reduction},
    {"ReduceL1", translate_reduction},
    {"ReduceL2", translate_reduction},
    {"ReduceSumSquare", translate_reduction},
    {"Pad", translate_pad},
    {"Resize", translate_resize},
    {"Upsample", translate_resize},
    {"SpaceToDepth", translate_space_to_depth},
    {"DepthToSpace", translate_depth_to_space},
    {"MatMul", translate_product},
    {"Gemm", translate_gemm},
    {"Einsum", translate_einsum},
    {"Attention", translate_attention_operator},
    {"BatchNormalization", translate_batch_norm},
    {"LayerNormalization", translate_layer_norm},
    {"RMSNormalization", translate_layer_norm},
    {"GroupNormalization", translate_group_norm},
    {"InstanceNormalization", translate_instance_norm},
    {"LSTM", translate_lstm},
    {"GRU", translate_gru},
    {"RNN", translate_gru},
    {"DynamicQuantizeLinear", translate_integers},
    {"ConvInteger", translate_integers},
    {"MatMulInteger", translate_integers},
    {"QLinearConv", translate_integers},
    {"QLinearMatMul", translate_integers},
    {"Relu", translate_function},
    {"Gelu", translate_function},
    {"Swish", translate_function},
    {"Sigmoid", translate_function},
    {"Tanh", translate_function},
    {"Erf", translate_function},
    {"Exp", translate_function},
    {"Log", translate_function},
    {"Sqrt", translate_function},
    {"Neg", translate_function},
    {"Abs", translate_function},
    {"Reciprocal", translate_function},
    {"Softplus", translate_function},
    {"Softsign", translate_function},
    {"HardSwish", translate_function},
    {"HardSigmoid", translate_function},
    {"LeakyRelu", translate_function},
    {"Elu", translate_function},
    {"Clip", translate_clip},
    {"PRelu", translate_prelu},
    {"LRN", translate_pass},
    {"Mish", translate_pass},
    {"Selu", translate_pass},
    {"Celu", translate_pass},
    {"ThresholdedRelu", translate_pass},
    {"Shrink", translate_pass},
    {"RotaryEmbedding", translate_rotary},
    {"Sin", translate_pass},
    {"Cos", translate_pass},
    {"Floor", translate_pass},
    {"Ceil", translate_pass},
    {"Round", translate_pass},
    {"Sign", translate_pass},
    {"CumSum", translate_pass},
    {"LpNormalization", translate_pass},
    {"MeanVarianceNormalization", translate_pass},
    {"Sum", translate_joined},
    {"Mean", translate_joined},
    {"Add", translate_joined},
    {"Sub", translate_joined},
    {"Mul", translate_joined},
    {"Div", translate_joined},
    {"Pow", translate_joined},
    {"Max", translate_joined},
    {"Min", translate_joined},
    {"Softmax", translate_softmax},
    {"LogSoftmax", translate_softmax},
    {"IsNaN", translate_test},
    {"IsInf", translate_test},
    {"Where", translate_where},
    {"Reshape", translate_reshape},
    {"Flatten", translate_flatten},
    {"Squeeze", translate_squeeze},
    {"Unsqueeze", translate_squeeze},
    {"Transpose", translate_transpose},
    {"Slice", translate_slice},
    {"Split", translate_split},
    {"Gather", translate_gather},
    {"Concat", translate_concat},
    {"Expand", translate_expand},
    {"Tile", translate_expand},
    {"Shape", translate_shape},
    {"Size", translate_shape},
    {"Identity", translate_identity},
    {"Cast", translate_identity},
    {"CastLike", translate_identity},
    {"QuantizeLinear", translate_quantized},
    {"DequantizeLinear", translate_quantized},
    {"Dropout", translate_dropout},
};

}  // namespace

Translator* find_translator(std::string_view operation) {
  const auto* const found = std::find_if(std::begin(translators), std::end(translators),
                                         [&](const auto& entry) { return entry.first == operation; });
  return found == std::end(translators) ? nullptr : found->second;
}

}  // namespace ddl::onnx_import
