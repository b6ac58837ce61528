#pragma once

#include <span>
#include <string_view>

#include "core/enum_array.hpp"
#include "model_zoo/network/optimizer.hpp"

namespace ddl {

/// How a framework runs an optimizer's step [PyTorch docs, "torch.optim", `foreach` and `fused`].
enum class UpdateImplementation {
  layer,    ///< one fused pass over the parameters of each layer: the default of profiles
  single,   ///< tensor by tensor, one operator at a time: PyTorch's default on a CPU
  foreach,  ///< one operator at a time over the list of all tensors: PyTorch's default on a GPU
  fused,    ///< one pass over the list of all tensors (`fused=True`)
};
template <>
inline constexpr EnumNames<UpdateImplementation> enum_names<UpdateImplementation>{"layer", "single", "foreach", "fused"};
/// Returns the names of the implementations that run over a list of tensors, for messages.
[[nodiscard]] std::span<const std::string_view> list_implementation_names();
/// Returns whether one kernel problem is the update of a whole list of tensors, and not of a single layer.
[[nodiscard]] constexpr bool is_of_list(UpdateImplementation implementation) {
  return implementation != UpdateImplementation::layer;
}

/// A tensor that an optimizer's step reads or writes.
enum class UpdateTensor { none, weight, gradient, first, second, temporary };

/// One elementwise operator of an optimizer's step. It computes a new `to` from `to`, `a` and `b`.
struct UpdatePass {
  enum class Function {
    scale,    ///< to *= factor
    add,      ///< to += factor * a
    lerp,     ///< to += factor * (a - to)
    addcmul,  ///< to += factor * a * b
    root,     ///< to = sqrt(a)
    shift,    ///< to += factor
    addcdiv,  ///< to += factor * a / b
  };
  Function function = Function::scale;
  UpdateTensor to = UpdateTensor::weight, a = UpdateTensor::none, b = UpdateTensor::none;
  float factor = 1;

  /// Returns the number of tensors of the operator, which is the depth of PyTorch's tensor lists.
  [[nodiscard]] constexpr int tensors() const {
    return 1 + (a != UpdateTensor::none ? 1 : 0) + (b != UpdateTensor::none ? 1 : 0);
  }
  /// Returns the words of memory that the operator reads and writes per parameter. A tensor that occurs twice is read once.
  [[nodiscard]] constexpr int words() const {
    const int reads = (function == Function::root ? 0 : 1) + (a != UpdateTensor::none ? 1 : 0) +
                      (b != UpdateTensor::none && b != a ? 1 : 0);
    return reads + 1;
  }
};

/// Returns the optimizer's step as a sequence of operators, as PyTorch 2.x runs it without weight decay: torch/optim/sgd.py,
/// _multi_tensor_sgd; adam.py, _multi_tensor_adam. The bias corrections of Adam's first steps are factors, which are 1 here.
[[nodiscard]] std::span<const UpdatePass> update_passes(Optimizer optimizer);

/// Returns the words of 4 bytes that an update moves per parameter. A single pass reads weight and gradient, writes the
/// weight, and reads and writes each word of state. Unfused operators move the sum of their traffic.
[[nodiscard]] double update_words(Optimizer optimizer, UpdateImplementation implementation);
/// Returns the number of temporary words of 4 bytes per parameter, which contain square roots of the second moments.
[[nodiscard]] int update_temporaries(Optimizer optimizer, UpdateImplementation implementation);

}  // namespace ddl
