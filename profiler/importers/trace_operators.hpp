#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "profiler/importers/trace_events.hpp"

namespace ddl {

// The PyTorch operators that a layer of a model runs. A signature describes an operator and the shapes of its tensors, so
// that a layer and its operator have equal signatures: `convolution 4,64,56,56 64,64,3,3`, `relu 4,64,56,56`, `linear 512
// 768 3072` (rows, features in, features out).

/// Possible signatures of a forward operator, likeliest first; empty for an operator that does not represent a whole layer.
[[nodiscard]] std::vector<std::string> operator_signatures(std::string_view name, const OperatorShapes& shapes);

/// Possible signatures of the operator of a layer on `samples` samples, likeliest first; empty if the layer is not a single
/// operator.
[[nodiscard]] std::vector<std::string> layer_signatures(const Layer& layer, std::int64_t samples);

/// The signature of the sum of two tensors of a shape.
[[nodiscard]] std::string sum_signature(const TensorShape& shape, std::int64_t samples);

/// Whether a layer of this operation may consist of several operators including this one.
[[nodiscard]] bool is_part_of(std::string_view operator_name, const Operation& operation);

/// Whether an operator only changes how memory is interpreted, or copies memory for that purpose.
[[nodiscard]] bool is_view(std::string_view operator_name);

/// The shape of a product with weights: rows, features in and features out. Empty for other operators.
struct LinearShape {
  std::int64_t rows = 0, in = 0, out = 0;
};
[[nodiscard]] LinearShape linear_shape(std::string_view name, const OperatorShapes& shapes);
[[nodiscard]] std::string linear_signature(const LinearShape& shape);

}  // namespace ddl
