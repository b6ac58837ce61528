#include "estimator/kernels/recurrent_steps.hpp"

#include <cmath>
#include <cstdint>

namespace ddl {
namespace {

/// Returns whether PyTorch would choose persistent kernels for an LSTM [PyTorch, aten/src/ATen/native/cudnn/RNN.cpp,
/// get_algo and the conditions that it calls]. Other frameworks are assumed to choose in the same way. PyTorch never chooses
/// these kernels for packed sequences, which the model does not know.
bool is_persistent(const Operation& operation, std::span<const TensorShape> inputs, const TensorShape& output,
                   double samples, PersistentKernels persistent) {
  if (persistent == PersistentKernels::never) return false;
  const std::int64_t from = inputs.front().channels, state = output.channels;
  // Both matrices of a single direction have as many columns as the input and the output together.
  const bool is_single = operation.weights(inputs, output) == 4 * state * (from + state);
  if (!is_single || state > 1024 || state % 128 != 0 || from % 128 != 0) return false;
  const auto divides = [samples](double of) { return std::fmod(samples, of) == 0; };
  if (persistent == PersistentKernels::ampere) return divides(8) && samples <= 128;
  if (samples != 8 && (!divides(16) || samples == 80 || samples == 112)) return false;
  const std::int64_t steps = output.positions();
  return (steps >= 40 && samples <= 128) || (steps >= 20 && samples <= 96) || (steps >= 10 && samples <= 32);
}

}  // namespace

PersistentKernels persistent_kernels(const Device& device, Precision precision) {
  const double capability = device.compute_capability.value_or(0);
  if (precision != Precision::fp16) return PersistentKernels::never;
  if (capability >= 7.0 && capability < 7.5) return PersistentKernels::volta;
  const bool has_minor_6 = std::abs(capability - 8.6) < 0.05;
  if (capability >= 8.0 && !has_minor_6 && device.multiprocessors.value_or(0) >= 98) return PersistentKernels::ampere;
  return PersistentKernels::never;
}

Seconds time_between_steps(const Operation& operation, Pass pass, std::span<const TensorShape> inputs,
                           const TensorShape& output, double samples, PersistentKernels persistent) {
  // Inferred: 22 LSTM layers each in fp16 and fp32 on V100 (baidu-research/DeepBench @ da81ba782073,
  // results/train/DeepBench_NV_V100.xlsx). Beyond its product, a time step takes 25 us (fp32) to 30 us (fp16) in the median
  // of forward, and 20 to 30 us in backward. With 25 us, the sum of all passes is 6 % too short in fp16 and 2 % too long in
  // fp32 on average; without, 47 % and 26 % too short. On GTX 1080 Ti and TITAN Xp, which the value is not based on, it is
  // 19 and 24 % too short in place of 36 and 42 %.
  constexpr Seconds of_step(25e-6);
  if (!runs_in_one_call(operation) || (pass != Pass::forward && pass != Pass::backward_weight)) return {};
  if (is_persistent(operation, inputs, output, samples, persistent)) return {};
  return of_step * static_cast<double>(output.positions());
}

}  // namespace ddl
