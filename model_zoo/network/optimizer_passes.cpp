#include "model_zoo/network/optimizer_passes.hpp"

#include <algorithm>

#include "core/enum_array.hpp"

namespace ddl {
namespace {

using Function = UpdatePass::Function;
using Tensor = UpdateTensor;

/// The factors are small, so that values stay finite over any number of measured steps.
constexpr float rate = 1e-3F;

constexpr std::array<UpdatePass, 1> sgd_passes{{{Function::add, Tensor::weight, Tensor::gradient, Tensor::none, -rate}}};
constexpr std::array<UpdatePass, 3> momentum_passes{{
    {Function::scale, Tensor::first, Tensor::none, Tensor::none, 0.9F},
    {Function::add, Tensor::first, Tensor::gradient, Tensor::none, 1.0F},
    {Function::add, Tensor::weight, Tensor::first, Tensor::none, -rate},
}};
constexpr std::array<UpdatePass, 7> adam_passes{{
    {Function::lerp, Tensor::first, Tensor::gradient, Tensor::none, 0.1F},
    {Function::scale, Tensor::second, Tensor::none, Tensor::none, 0.999F},
    {Function::addcmul, Tensor::second, Tensor::gradient, Tensor::gradient, 0.001F},
    {Function::root, Tensor::temporary, Tensor::second, Tensor::none, 1.0F},
    {Function::scale, Tensor::temporary, Tensor::none, Tensor::none, 1.0F},
    {Function::shift, Tensor::temporary, Tensor::none, Tensor::none, 1e-8F},
    {Function::addcdiv, Tensor::weight, Tensor::first, Tensor::temporary, -rate},
}};

}  // namespace

std::span<const std::string_view> list_implementation_names() {
  return std::span(enum_names<UpdateImplementation>).subspan(1);
}

std::span<const UpdatePass> update_passes(Optimizer optimizer) {
  switch (timed_as(optimizer)) {
    case Optimizer::sgd:
      return sgd_passes;
    case Optimizer::momentum:
      return momentum_passes;
    default:
      return adam_passes;
  }
}

double update_words(Optimizer optimizer, UpdateImplementation implementation) {
  if (implementation == UpdateImplementation::layer || implementation == UpdateImplementation::fused) {
    return 3.0 + 2.0 * optimizer_slots(optimizer);
  }
  double words = 0;
  for (const UpdatePass& pass : update_passes(optimizer)) words += pass.words();
  return words;
}

int update_temporaries(Optimizer optimizer, UpdateImplementation implementation) {
  if (implementation == UpdateImplementation::layer || implementation == UpdateImplementation::fused) return 0;
  const std::span<const UpdatePass> passes = update_passes(optimizer);
  const bool any =
      std::any_of(passes.begin(), passes.end(), [](const UpdatePass& pass) { return pass.to == UpdateTensor::temporary; });
  return any ? 1 : 0;
}

}  // namespace ddl
