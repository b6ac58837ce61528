#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "profiler/importers/trace_events.hpp"

namespace ddl {

// Which operators of PyTorch a layer of a model runs. A signature says what an operator does to tensors of which shapes, so
// that a layer's and its operator's are equal: `convolution 4,64,56,56 64,64,3,3`, `relu 4,64,56,56`, `linear 512 768 3072`
// (rows, features in, features out).

/// What a forward operator may be, the likeliest first; empty where it is none that stands for a whole layer.
[[nodiscard]] std::vector<std::string> operator_signatures(std::string_view name, const OperatorShapes& shapes);

/// What the operator of a layer on `samples` samples may be, the likeliest first; empty where a layer is no single operator.
[[nodiscard]] std::vector<std::string> layer_signatures(const Layer& layer, std::int64_t samples);

/// Of the sum of two tensors of a shape.
[[nodiscard]] std::string sum_signature(const TensorShape& shape, std::int64_t samples);

/// Whether a layer of this operation may be made of several operators, this one among them.
[[nodiscard]] bool is_part_of(std::string_view operator_name, const Operation& operation);

/// Whether an operator only says how memory is to be read, or copies it for that.
[[nodiscard]] bool is_view(std::string_view operator_name);

/// Rows, features in and features out of a product with weights; empty for other operators.
struct LinearShape {
  std::int64_t rows = 0, in = 0, out = 0;
};
[[nodiscard]] LinearShape linear_shape(std::string_view name, const OperatorShapes& shapes);
[[nodiscard]] std::string linear_signature(const LinearShape& shape);

}  // namespace ddl
