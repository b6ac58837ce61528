#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/value.hpp"

namespace ddl::onnx_import {

// Exporters write an activation in many ways, for example gelu as five operators in any order, or silu as two. A chain of
// elementwise operators on one tensor is a function of one number, and is recognized by its values.

/// The points at which functions are compared. They lie on both sides of every kink and saturation of the known functions.
[[nodiscard]] const std::vector<double>& sample_points();
/// The values of a function at the sample points. A null function is the identity.
[[nodiscard]] const std::vector<double>& values_of(const Function& function);

/// The result of applying an operator with one input, such as `Relu` or `Erf`, to a function; empty for other operators.
/// Bounds of `Clip` are passed in.
[[nodiscard]] std::optional<Function> applied(const onnx::NodeProto& node, const Function& function,
                                              std::optional<double> low = {}, std::optional<double> high = {});
/// The result of applying `Add`, `Sub`, `Mul`, `Div`, `Pow`, `Max` or `Min` to two functions of one item.
[[nodiscard]] std::optional<Function> joined(std::string_view operation, const Function& a, const Function& b);
[[nodiscard]] Function constant_function(double value);

/// Whether a function is the item times a number plus a number, which costs nothing in addition to the neighbouring layers.
[[nodiscard]] bool is_linear(const Function& function);
/// Whether a function is the square of the item, times a number.
[[nodiscard]] bool is_square(const Function& function);
/// The name in model files of the activation that equals a function.
[[nodiscard]] std::optional<std::string> activation_of(const Function& function);

}  // namespace ddl::onnx_import
