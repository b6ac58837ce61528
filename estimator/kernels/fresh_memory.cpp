#include "estimator/kernels/fresh_memory.hpp"

#include <algorithm>
#include <optional>

#include "model_zoo/operations/cast.hpp"

namespace ddl {

Bytes fresh_bytes(const Problem& problem) {
  const Operation& operation = *problem.operation;
  const double item = item_bytes(problem.precision);
  const auto samples = static_cast<double>(problem.samples);
  Bytes sum{};
  const auto add = [&](double bytes) {
    if (Bytes(bytes) >= mapping_threshold) sum += Bytes(bytes);
  };
  const auto add_inner = [&] {
    const Operation::Inner inner = operation.inner(problem.pass, problem.inputs, problem.output);
    for (int i = 0; i < inner.tensors; ++i) add(inner.items * samples * item);
  };
  switch (problem.pass) {
    case Pass::forward:
      if (!operation.in_place()) {
        const std::optional<Precision> cast = cast_format(operation);
        add(static_cast<double>(problem.output.items()) * samples * (cast ? item_bytes(*cast) : item));
      }
      add_inner();
      add(operation.kept(problem.inputs, problem.output).mask_items * samples);
      break;
    case Pass::backward_data:
      for (const TensorShape& input : problem.inputs) add(static_cast<double>(input.items()) * samples * item);
      add_inner();
      break;
    case Pass::backward_weight: {
      // Backward allocates the gradient of a table here even if another layer owns the table.
      const SharedTable table = operation.shared_table(problem.inputs, problem.output);
      const std::int64_t own = operation.weights(problem.inputs, problem.output);
      sum += Bytes(static_cast<double>(std::max(own, table.rows * table.columns)) * item);
      sum += Bytes(static_cast<double>(operation.biases(problem.inputs, problem.output)) * item);
      break;
    }
    case Pass::update:
      break;
  }
  return sum;
}

}  // namespace ddl
