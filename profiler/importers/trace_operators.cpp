#include "profiler/importers/trace_operators.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profiler/backends/window_geometry.hpp"

namespace ddl {
namespace {

using Dimensions = std::vector<std::int64_t>;

/// Operators with a name that determines their function. The names come from native_functions.yaml of PyTorch 1.13 to 2.11.
struct NamedOperator {
  std::string_view name, does;
};
constexpr std::array named{
    NamedOperator{"aten::conv1d", "convolution"},
    NamedOperator{"aten::conv2d", "convolution"},
    NamedOperator{"aten::conv3d", "convolution"},
    NamedOperator{"aten::convolution", "convolution"},
    NamedOperator{"aten::_convolution", "convolution"},
    NamedOperator{"aten::cudnn_convolution", "convolution"},
    NamedOperator{"aten::mkldnn_convolution", "convolution"},
    NamedOperator{"aten::conv_transpose1d", "convolution"},
    NamedOperator{"aten::conv_transpose2d", "convolution"},
    NamedOperator{"aten::conv_transpose3d", "convolution"},
    NamedOperator{"aten::batch_norm", "batch"},
    NamedOperator{"aten::native_batch_norm", "batch"},
    NamedOperator{"aten::cudnn_batch_norm", "batch"},
    NamedOperator{"aten::layer_norm", "layer"},
    NamedOperator{"aten::native_layer_norm", "layer"},
    NamedOperator{"aten::rms_norm", "rms"},
    NamedOperator{"aten::group_norm", "group"},
    NamedOperator{"aten::instance_norm", "instance"},
    NamedOperator{"aten::relu", "relu"},
    NamedOperator{"aten::relu_", "relu"},
    NamedOperator{"aten::clamp_min", "relu"},
    NamedOperator{"aten::clamp_min_", "relu"},
    NamedOperator{"aten::relu6", "relu6"},
    NamedOperator{"aten::relu6_", "relu6"},
    NamedOperator{"aten::hardtanh", "relu6"},
    NamedOperator{"aten::hardtanh_", "relu6"},
    NamedOperator{"aten::leaky_relu", "leaky_relu"},
    NamedOperator{"aten::leaky_relu_", "leaky_relu"},
    NamedOperator{"aten::tanh", "tanh"},
    NamedOperator{"aten::tanh_", "tanh"},
    NamedOperator{"aten::sigmoid", "sigmoid"},
    NamedOperator{"aten::sigmoid_", "sigmoid"},
    NamedOperator{"aten::gelu", "gelu"},
    NamedOperator{"aten::gelu_", "gelu"},
    NamedOperator{"aten::silu", "silu"},
    NamedOperator{"aten::silu_", "silu"},
    NamedOperator{"aten::hardswish", "hardswish"},
    NamedOperator{"aten::hardswish_", "hardswish"},
    NamedOperator{"aten::hardsigmoid", "hardsigmoid"},
    NamedOperator{"aten::hardsigmoid_", "hardsigmoid"},
    NamedOperator{"aten::softplus", "softplus"},
    NamedOperator{"aten::elu", "elu"},
    NamedOperator{"aten::elu_", "elu"},
    NamedOperator{"aten::max_pool1d", "max"},
    NamedOperator{"aten::max_pool2d", "max"},
    NamedOperator{"aten::max_pool3d", "max"},
    NamedOperator{"aten::max_pool2d_with_indices", "max"},
    NamedOperator{"aten::max_pool3d_with_indices", "max"},
    NamedOperator{"aten::adaptive_max_pool1d", "max"},
    NamedOperator{"aten::adaptive_max_pool2d", "max"},
    NamedOperator{"aten::adaptive_max_pool3d", "max"},
    NamedOperator{"aten::avg_pool1d", "average"},
    NamedOperator{"aten::avg_pool2d", "average"},
    NamedOperator{"aten::avg_pool3d", "average"},
    NamedOperator{"aten::adaptive_avg_pool1d", "average"},
    NamedOperator{"aten::adaptive_avg_pool2d", "average"},
    NamedOperator{"aten::adaptive_avg_pool3d", "average"},
    NamedOperator{"aten::mean", "average"},
    NamedOperator{"aten::add", "add"},
    NamedOperator{"aten::add_", "add"},
    NamedOperator{"aten::mul", "multiply"},
    NamedOperator{"aten::mul_", "multiply"},
    NamedOperator{"aten::cat", "concat"},
    NamedOperator{"aten::concat", "concat"},
    NamedOperator{"aten::dropout", "dropout"},
    NamedOperator{"aten::dropout_", "dropout"},
    NamedOperator{"aten::native_dropout", "dropout"},
    NamedOperator{"aten::softmax", "softmax"},
    NamedOperator{"aten::_softmax", "softmax"},
    NamedOperator{"aten::embedding", "embedding"},
    NamedOperator{"aten::embedding_bag", "embedding"},
};

constexpr std::array views{
    std::string_view("aten::_to_copy"),   std::string_view("aten::_unsafe_view"), std::string_view("aten::alias"),
    std::string_view("aten::as_strided"), std::string_view("aten::chunk"),        std::string_view("aten::clone"),
    std::string_view("aten::contiguous"), std::string_view("aten::detach"),       std::string_view("aten::expand"),
    std::string_view("aten::expand_as"),  std::string_view("aten::flatten"),      std::string_view("aten::movedim"),
    std::string_view("aten::narrow"),     std::string_view("aten::numpy_T"),      std::string_view("aten::permute"),
    std::string_view("aten::reshape"),    std::string_view("aten::select"),       std::string_view("aten::size"),
    std::string_view("aten::slice"),      std::string_view("aten::split"),        std::string_view("aten::split_with_sizes"),
    std::string_view("aten::squeeze"),    std::string_view("aten::squeeze_"),     std::string_view("aten::t"),
    std::string_view("aten::to"),         std::string_view("aten::transpose"),    std::string_view("aten::type_as"),
    std::string_view("aten::unbind"),     std::string_view("aten::unflatten"),    std::string_view("aten::unsqueeze"),
    std::string_view("aten::unsqueeze_"), std::string_view("aten::view"),         std::string_view("aten::view_as"),
};

/// The operators, other than views, of which layers of one operation may consist. Names are
/// separated by spaces, without `aten::`.
struct Parts {
  std::string_view type, operators;
};
constexpr std::array parts{
    Parts{"activation",
          "mul mul_ add add_ pow tanh erf div sigmoid clamp clamp_ exp hardtanh hardtanh_ relu relu_ neg square gelu silu"},
    Parts{
        "additive_attention",
        "add mul tanh linear matmul bmm baddbmm softmax sum masked_fill masked_fill_ addmm mm div norm linalg_vector_norm"},
    Parts{"attention",
          "matmul bmm baddbmm softmax _softmax div div_ mul mul_ add add_ where masked_fill masked_fill_ dropout dropout_ "
          "native_dropout scaled_dot_product_attention _scaled_dot_product_attention _scaled_dot_product_attention_math "
          "_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention _scaled_dot_product_cudnn_attention "
          "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable "
          "_flash_attention_forward _efficient_attention_forward _cudnn_attention_forward embedding abs neg min minimum log "
          "bitwise_and full full_like ones ones_like zeros zeros_like arange tril triu sub rsub lt gt "
          "le ge eq ne logical_not logical_or bitwise_not repeat repeat_interleave max maximum empty fill_ copy_ cat index "
          "einsum sum masked_fill_ scalar_tensor lift_fresh"},
    Parts{"channel_shuffle", "channel_shuffle native_channel_shuffle"},
    Parts{"class_token", "cat concat repeat"},
    Parts{"combine", "index_add index_add_ mul sum scatter_add scatter_add_ gather index zeros where"},
    Parts{"convolution", "add add_ pad constant_pad_nd"},
    Parts{"crop", "constant_pad_nd"},
    Parts{"dispatch", "index index_select gather scatter sort nonzero where one_hot"},
    Parts{"dropout", "empty empty_like bernoulli_ bernoulli div div_ mul mul_ rand floor_ add_ add"},
    Parts{"embedding", "index_select arange ones zeros add mul"},
    Parts{"fully_connected", "add add_ linear matmul mm addmm baddbmm bmm"},
    Parts{"input", "to"},
    Parts{"interaction", "bmm index cat matmul"},
    Parts{"loss",
          "cross_entropy_loss log_softmax _log_softmax nll_loss nll_loss_nd nll_loss_forward nll_loss2d mse_loss "
          "binary_cross_entropy binary_cross_entropy_with_logits mul sum mean sub pow add add_ add_ div ne eq"},
    Parts{"lstm", "lstm _cudnn_rnn linear addmm sigmoid tanh mul add sigmoid_ tanh_ cat stack zeros"},
    Parts{"multiply", "mul mul_"},
    Parts{"norm", "add_ add mul pow mean rsqrt sqrt div sub var_mean var std linalg_vector_norm norm batch_norm layer_norm"},
    Parts{"pool", "pad constant_pad_nd sum mean"},
    Parts{"position_embedding", "add add_ arange embedding"},
    Parts{"resize",
          "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d "
          "upsample_trilinear3d _upsample_nearest_exact2d"},
    Parts{"rotary_embedding", "mul neg cat add sub stack cos sin view_as_complex view_as_real"},
    Parts{"router", "linear matmul mm softmax topk div div_ sum one_hot"},
    Parts{"scale", "mul mul_ add add_"},
    Parts{"select", "index"},
    Parts{"slice", "index"},
    Parts{"space_to_depth", "cat pixel_unshuffle pad constant_pad_nd"},
    Parts{"transposed_convolution", "add add_"},
    Parts{"window_attention",
          "matmul bmm softmax _softmax div mul add add_ where masked_fill masked_fill_ roll pad constant_pad_nd index full "
          "ones zeros dropout new_zeros fill_ copy_ sub ne eq lift_fresh"},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

std::string_view what_does(std::string_view name) {
  const auto found = std::find_if(named.begin(), named.end(), [name](const auto& each) { return each.name == name; });
  return found == named.end() ? std::string_view() : found->does;
}

/// The product of sizes, as a double, because in an invalid trace it may exceed 64 bits. In a real trace it does not.
double product(std::span<const std::int64_t> sizes) {
  double result = 1;
  for (const std::int64_t size : sizes) result *= static_cast<double>(size);
  return result;
}

/// Prints all dimensions: `4,64,56,56`.
std::string exact(const Dimensions& sizes) { return fmt::format("{}", fmt::join(sizes, ",")); }
/// Prints a tensor as rows of channels, `1024x768`: the product of all dimensions but the last one, and the last one.
std::string rows(const Dimensions& sizes) {
  return fmt::format("{:.0f}x{}", product(std::span(sizes).first(sizes.size() - 1)), sizes.back());
}

Dimensions image(const TensorShape& shape, std::int64_t samples) {
  Dimensions sizes{samples, shape.channels};
  for (std::size_t d = 0; d < static_cast<std::size_t>(shape.rank); ++d) sizes.push_back(shape.extent[d]);
  return sizes;
}

/// The shape in a layer's signature: samples, channels, extents; for sequences and flat vectors, rows of channels.
std::string form(const TensorShape& shape, std::int64_t samples) {
  if (shape.rank > 0 && !shape.sequence) return exact(image(shape, samples));
  return rows({samples, shape.positions(), shape.channels});
}

/// The dimensions of an argument that is a single tensor; null otherwise.
const Dimensions* tensor(const OperatorShapes& shapes, std::size_t argument) {
  if (argument >= shapes.size() || shapes[argument].size() != 1 || shapes[argument].front().empty()) return nullptr;
  return &shapes[argument].front();
}

std::string convolution_signature(const Dimensions& input, const Dimensions& weight) {
  return fmt::format("convolution {} {}", exact(input), exact(weight));
}

std::vector<std::string> convolution_signatures(const Layer& layer, std::int64_t samples) {
  const AttributeValues attributes = layer.operation->attribute_values();
  const TensorShape& input = layer.input_shapes.front();
  const TensorShape& output = layer.output_shape;
  const bool transposed = layer.operation->type() == "transposed_convolution";
  const auto kernel = attributes.sizes("kernel", 1);
  const std::int64_t groups = std::max<std::int64_t>(1, attributes.integer("groups", 1));
  Dimensions weight = transposed ? Dimensions{input.channels, output.channels / groups}
                                 : Dimensions{output.channels, input.channels / groups};
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) weight.push_back(kernel[d]);
  std::vector<std::string> found{convolution_signature(image(input, samples), weight)};
  const bool is_point = product(std::span(weight).subspan(2)) == 1 && groups == 1 && !transposed;
  if (is_point && input.positions() == output.positions()) {
    // A pointwise convolution may run as a matrix product: ConvNeXt and Swin move the channels last for this purpose.
    found.push_back(linear_signature({samples * input.positions(), input.channels, output.channels}));
  }
  if (attributes.text("padding") == "same" && !transposed) {
    // Asymmetric padding is a separate operator before the convolution.
    const WindowGeometry geometry = window_geometry(*layer.operation, input, output);
    TensorShape padded = input;
    for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
      padded.extent[d] += geometry.before[d] + geometry.after[d];
    }
    found.push_back(convolution_signature(image(padded, samples), weight));
  }
  return found;
}

}  // namespace

LinearShape linear_shape(std::string_view name, const OperatorShapes& shapes) {
  const bool transposed = name == "aten::linear";
  const bool added = name == "aten::addmm";
  if (!transposed && !added && name != "aten::mm" && name != "aten::matmul") return {};
  const Dimensions* input = tensor(shapes, added ? 1 : 0);
  const Dimensions* weight = tensor(shapes, added ? 2 : 1);
  if (input == nullptr || weight == nullptr || weight->size() != 2) return {};
  const std::int64_t in = (*weight)[transposed ? 1 : 0];
  const double rows = product(std::span(*input).first(input->size() - 1));
  if (input->back() != in || rows > 9e15) return {};
  return {static_cast<std::int64_t>(rows), in, (*weight)[transposed ? 0 : 1]};
}

std::string linear_signature(const LinearShape& shape) {
  return fmt::format("linear {} {} {}", shape.rows, shape.in, shape.out);
}

std::vector<std::string> operator_signatures(std::string_view name, const OperatorShapes& shapes) {
  if (const LinearShape linear = linear_shape(name, shapes); linear.in > 0) return {linear_signature(linear)};
  const std::string_view does = what_does(name);
  if (does.empty()) return {};
  if (does == "concat") {
    if (shapes.empty()) return {};
    double items = 0;
    for (const Dimensions& each : shapes.front()) items += product(each);
    return {fmt::format("concat {:.0f}", items)};
  }
  const Dimensions* input = tensor(shapes, 0);
  if (input == nullptr) return {};
  if (does == "convolution") {
    const Dimensions* weight = tensor(shapes, 1);
    return weight == nullptr ? std::vector<std::string>{} : std::vector{convolution_signature(*input, *weight)};
  }
  if (does == "embedding") {
    const Dimensions* tokens = tensor(shapes, 1);
    if (tokens == nullptr || input->size() != 2) return {};
    return {fmt::format("embedding {} {:.0f}", exact(*input), product(*tokens)),
            fmt::format("position_embedding {}", exact(*input))};
  }
  if (does == "add") {
    const Dimensions* other = tensor(shapes, 1);
    if (other == nullptr || *other != *input) return {};
  }
  if (does == "multiply") {
    const Dimensions* other = tensor(shapes, 1);
    if (other == nullptr || other->size() != input->size()) return {};
  }
  return {fmt::format("{} {}", does, exact(*input)), fmt::format("{} {}", does, rows(*input))};
}

std::vector<std::string> layer_signatures(const Layer& layer, std::int64_t samples) {
  const std::string_view type = layer.operation->type();
  if (layer.input_shapes.empty()) return {};
  const TensorShape& input = layer.input_shapes.front();
  const AttributeValues attributes = layer.operation->attribute_values();
  if (type == "convolution" || type == "transposed_convolution") return convolution_signatures(layer, samples);
  if (type == "fully_connected") {
    return {linear_signature({samples * input.positions(), input.channels, layer.output_shape.channels})};
  }
  if (type == "norm" && attributes.text("kind") == "layer") {
    // Before a layer norm, the model moves the channels of an image last.
    return {fmt::format("layer {}", rows({samples, input.positions(), input.channels}))};
  }
  if (type == "norm" || type == "activation") return {fmt::format("{} {}", attributes.text("kind"), form(input, samples))};
  if (type == "pool") return {fmt::format("{} {}", attributes.text("kind"), form(input, samples))};
  if (type == "add" || type == "multiply" || type == "softmax" ||
      (type == "dropout" && attributes.text("of") != "samples")) {
    return {fmt::format("{} {}", type, form(input, samples))};
  }
  if (type == "concat") {
    return {fmt::format("concat {:.0f}", static_cast<double>(samples) * static_cast<double>(layer.output_shape.items()))};
  }
  const auto table = [&](std::int64_t rows) { return fmt::format("{},{}", rows, layer.output_shape.channels); };
  if (type == "embedding") {
    return {fmt::format("embedding {} {}", table(attributes.integer("vocabulary", 1)), samples * input.positions())};
  }
  if (type == "position_embedding") {
    std::vector<std::string> found{fmt::format("position_embedding {}", table(attributes.integer("positions", 1)))};
    // With one sample, the addition of the table has the same shapes as the sum of two branches.
    if (samples == 1) found.push_back(sum_signature(layer.output_shape, samples));
    return found;
  }
  return {};
}

std::string sum_signature(const TensorShape& shape, std::int64_t samples) {
  return fmt::format("add {}", form(shape, samples));
}

bool is_view(std::string_view name) { return std::binary_search(views.begin(), views.end(), name); }

bool is_part_of(std::string_view name, const Operation& operation) {
  constexpr std::string_view space = "aten::";
  if (!name.starts_with(space)) return false;
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const Parts& each) { return each.type == operation.type(); });
  return found != parts.end() && has_word(found->operators, name.substr(space.size()));
}

}  // namespace ddl
