#include "model_zoo/importers/onnx/shape_inference.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

namespace ddl::onnx_import {
namespace {

onnx::TypeProto type_of(const KnownInput& input) {
  onnx::TypeProto type;
  const bool integral = input.numbers != nullptr && input.numbers->integral;
  type.mutable_tensor_type()->set_elem_type(integral ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
  if (input.shape) {
    auto* const shape = type.mutable_tensor_type()->mutable_shape();
    for (const std::int64_t size : *input.shape) shape->add_dim()->set_dim_value(size);
  }
  return type;
}

onnx::TensorProto tensor_of(const Numbers& numbers) {
  onnx::TensorProto tensor;
  for (const std::int64_t size : numbers.shape) tensor.add_dims(size);
  tensor.set_data_type(numbers.integral ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
  for (const std::int64_t item : numbers.integers) tensor.add_int64_data(item);
  for (const double item : numbers.reals) tensor.add_float_data(static_cast<float>(item));
  return tensor;
}

using TypesByName = std::unordered_map<std::string, onnx::TypeProto*>;
using TensorsByName = std::unordered_map<std::string, const onnx::TensorProto*>;

/// The library's context of one node. Newer versions of the library require options, which have no
/// default. Older versions have no options.
template <class Context>
Context context_of(onnx::NodeProto& node, const TypesByName& types, const TensorsByName& tensors) {
  using Sparse = std::unordered_map<std::string, const onnx::SparseTensorProto*>;
  if constexpr (std::is_constructible_v<Context, onnx::NodeProto&, const TypesByName&, const TensorsByName&,
                                        const Sparse&>) {
    return Context(node, types, tensors, {});
  } else {
    return Context(node, types, tensors, {}, {});
  }
}

/// Returns whether an input gives more sizes or axes than a tensor may have dimensions. For such an
/// input, the library would infer a shape with too many dimensions.
bool has_too_many_sizes(const onnx::NodeProto& node, const std::vector<KnownInput>& inputs) {
  constexpr std::string_view first[] = {"ConstantOfShape", "RandomUniform", "RandomNormal"};
  constexpr std::string_view others[] = {"Reshape", "Expand",        "Tile",     "Unsqueeze", "Squeeze",
                                         "Pad",     "CenterCropPad", "Upsample", "Resize",    "Slice"};
  constexpr std::int64_t most_sizes = 64;
  const bool from_first = std::find(std::begin(first), std::end(first), node.op_type()) != std::end(first);
  const bool from_others = std::find(std::begin(others), std::end(others), node.op_type()) != std::end(others);
  for (std::size_t i = from_first ? 0 : 1; i < inputs.size() && (from_first || from_others); ++i) {
    const auto& shape = inputs[i].shape;
    if (shape && std::any_of(shape->begin(), shape->end(), [](std::int64_t size) { return size > most_sizes; })) return true;
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::int64_t>> inferred_sizes(const onnx::NodeProto& node, int opset,
                                                        const std::vector<KnownInput>& inputs) {
  const onnx::OpSchema* const schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  if (schema == nullptr || !schema->has_type_and_shape_inference_function()) return std::nullopt;
  if (has_too_many_sizes(node, inputs)) return std::nullopt;
  // The node is copied with generated names of tensors, because the graph may use a name twice.
  onnx::NodeProto alone = node;
  std::vector<onnx::TypeProto> types(inputs.size());
  std::vector<onnx::TensorProto> tensors(inputs.size());
  TypesByName type_by_name;
  TensorsByName tensor_by_name;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (alone.input(static_cast<int>(i)).empty()) continue;
    const std::string name = std::to_string(i);
    alone.set_input(static_cast<int>(i), name);
    types[i] = type_of(inputs[i]);
    type_by_name.emplace(name, &types[i]);
    if (inputs[i].numbers == nullptr) continue;
    tensors[i] = tensor_of(*inputs[i].numbers);
    tensor_by_name.emplace(name, &tensors[i]);
  }
  try {
    auto context = context_of<onnx::shape_inference::InferenceContextImpl>(alone, type_by_name, tensor_by_name);
    schema->GetTypeAndShapeInferenceFunction()(context);
    const onnx::TypeProto* const output = context.getOutputType(0);
    if (!output->has_tensor_type() || !output->tensor_type().has_shape()) return std::nullopt;
    std::vector<std::int64_t> sizes;
    for (const auto& dimension : output->tensor_type().shape().dim()) {
      if (!dimension.has_dim_value() || dimension.dim_value() < 1) return std::nullopt;
      sizes.push_back(dimension.dim_value());
    }
    return sizes;
  } catch (const std::exception&) {
    // The library's message is not used, because it refers to the library's source code.
    return std::nullopt;
  }
}

}  // namespace ddl::onnx_import
