#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/value.hpp"

namespace ddl::onnx_import {

// Exporters write an activation in many ways, for example gelu as five operators in any order, or
// silu as two. In all cases, a chain of elementwise operators on one tensor is a function of one
// number, so an activation is recognized by the values of the function.

/// Returns the points at which functions are compared. There are points on both sides of every kink
/// and saturation of the known functions.
[[nodiscard]] const std::vector<double>& sample_points();
/// Returns the values of a function at the sample points. A null function is the identity.
[[nodiscard]] const std::vector<double>& values_of(const Function& function);

/// Returns the function after an operator with one input, such as `Relu` or `Erf`, is applied to
/// `function`; empty for other operators. The caller passes the bounds of `Clip`.
[[nodiscard]] std::optional<Function> applied(const onnx::NodeProto& node, const Function& function,
                                              std::optional<double> low = {}, std::optional<double> high = {});
/// Returns the function after `Add`, `Sub`, `Mul`, `Div`, `Pow`, `Max` or `Min` is applied to two functions of one element.
[[nodiscard]] std::optional<Function> joined(std::string_view operation, const Function& a, const Function& b);
[[nodiscard]] Function constant_function(double value);

/// Returns whether a function multiplies the element by a number and adds a number, which costs
/// nothing in addition to the neighboring layers.
[[nodiscard]] bool is_linear(const Function& function);
/// Returns whether a function is the square of the element, times a number.
[[nodiscard]] bool is_square(const Function& function);
/// Returns the name in model files of the activation that equals a function; empty if there is none.
[[nodiscard]] std::optional<std::string> activation_of(const Function& function);

}  // namespace ddl::onnx_import
