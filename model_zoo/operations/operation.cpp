#include "model_zoo/operations/operation.hpp"

#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

Work sum_of(std::span<const Work> kernels) {
  Work sum;
  for (const Work& kernel : kernels) {
    sum.flops += kernel.flops;
    sum.activation_items += kernel.activation_items;
    sum.weight_items += kernel.weight_items;
  }
  return sum;
}

double Operation::depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const {
  const Work work = this->work(pass, inputs, output);
  return reduction_depth({work.k, work.batched == Work::Batched::k ? samples : 1});
}

Operation::Inner Operation::inner(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const {
  if (pass != Pass::forward && pass != Pass::backward_data) return {};
  const double items = kept(inputs, output).extra_items;
  return {items, items > 0 ? 1 : 0};
}

}  // namespace ddl
