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

namespace {

/// The words per parameter that an update moves in addition to the update of timed_as(optimizer).
double more_words(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::lamb:
      // Kernels read all gradients for their norm, write the updates, read weights and updates for the norms of each layer,
      // and read the updates again [NVIDIA, apex, csrc/multi_tensor_lamb.cu and multi_tensor_l2norm_kernel.cu].
      return 5;
    case Optimizer::lars:
      return 2;  // the norms of each layer's weights and gradients [You, Gitman and Ginsburg, arXiv 1708.03888]
    case Optimizer::rowwise_adagrad:
      return -2;  // Nearly all parameters are in tables, which have one word of state for each row.
    default:
      // Moments of 8 bits are read and written as bytes, with a scale of 4 bytes for each 2048 elements.
      return has_8bit_state(optimizer) ? 2 * 2 * ((1 + 4.0 / 2048) / 4 - 1) : 0;
  }
}

}  // namespace

double update_words(Optimizer optimizer, UpdateImplementation implementation) {
  double words = more_words(optimizer);
  // LAMB and 8-bit Adam have kernels of their own.
  if (implementation == UpdateImplementation::layer || implementation == UpdateImplementation::fused ||
      has_own_kernels(optimizer)) {
    return 3.0 + 2.0 * optimizer_slots(optimizer) + words;
  }
  for (const UpdatePass& pass : update_passes(optimizer)) words += pass.words();
  return words;
}

int update_temporaries(Optimizer optimizer, UpdateImplementation implementation) {
  if (implementation == UpdateImplementation::layer || implementation == UpdateImplementation::fused ||
      has_own_kernels(optimizer)) {
    return 0;
  }
  const std::span<const UpdatePass> passes = update_passes(optimizer);
  const bool any =
      std::any_of(passes.begin(), passes.end(), [](const UpdatePass& pass) { return pass.to == UpdateTensor::temporary; });
  return any ? 1 : 0;
}

}  // namespace ddl
