#include "model_zoo/operations/operation.hpp"

#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

std::string_view to_string(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward_data:
      return "backward-data";
    case Pass::backward_weight:
      return "backward-weight";
    case Pass::update:
      return "update";
  }
  return "";
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
