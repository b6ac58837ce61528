#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

#include "model_zoo/importers/onnx/value.hpp"

namespace ddl::onnx_import {

// Exporters write one activation in many ways: gelu as five operators in any order, silu as two. A chain of elementwise
// operators on one tensor is a function of one number, and is known by its values.

/// The points at which functions are compared: both sides of every kink and saturation of the known ones.
[[nodiscard]] const std::vector<double>& sample_points();
/// The values of what may be no function yet.
[[nodiscard]] const std::vector<double>& values_of(const Function& function);

/// What an operator of one input, such as `Relu` or `Erf`, makes of a function; nothing where it is no such operator. Bounds
/// of `Clip` are handed in.
[[nodiscard]] std::optional<Function> applied(const onnx::NodeProto& node, const Function& function,
                                              std::optional<double> low = {}, std::optional<double> high = {});
/// The same for `Add`, `Sub`, `Mul`, `Div`, `Pow`, `Max`, `Min` of two functions of one item.
[[nodiscard]] std::optional<Function> joined(std::string_view operation, const Function& a, const Function& b);
[[nodiscard]] Function constant_function(double value);

/// The item itself, times a number, plus a number: what costs nothing beside its neighbours.
[[nodiscard]] bool is_linear(const Function& function);
/// The square of the item, times a number.
[[nodiscard]] bool is_square(const Function& function);
/// The kind of activation, as model files name it.
[[nodiscard]] std::optional<std::string> activation_of(const Function& function);

}  // namespace ddl::onnx_import
