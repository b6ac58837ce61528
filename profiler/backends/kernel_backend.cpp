#include "profiler/backends/kernel_backend.hpp"

#include "core/error.hpp"

namespace ddl {

std::string_view to_string(TensorRole role) {
  switch (role) {
    case TensorRole::input:
      return "input";
    case TensorRole::weight:
      return "weight";
    case TensorRole::bias:
      return "bias";
    case TensorRole::output:
      return "output";
    case TensorRole::kept:
      return "kept";
    case TensorRole::output_gradient:
      return "output gradient";
    case TensorRole::input_gradient:
      return "input gradient";
    case TensorRole::weight_gradient:
      return "weight gradient";
    case TensorRole::bias_gradient:
      return "bias gradient";
    case TensorRole::optimizer_state:
      return "optimizer state";
  }
  return "";
}

std::function<void()> KernelBackend::record(const std::function<void()>& /*work*/) {
  throw Error("this back end cannot record a step as a graph", "only the cuda back end can");
}

}  // namespace ddl
