#include <algorithm>

#include "profiler/backends/cuda/matrix_product.hpp"

namespace ddl::cuda {
namespace {

/// Calls `copy(addresses, count, first index)` for groups of the tensors from `at` on. A group has
/// as many tensors as a kernel supports.
template <class Copy>
void in_groups(std::span<void* const> at, std::size_t count, const Copy& copy) {
  constexpr std::size_t most = device::Addresses::most;
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t some = std::min(most, count - first);
    device::Addresses addresses;
    std::copy_n(at.begin() + static_cast<std::ptrdiff_t>(first), some, addresses.at);
    copy(addresses, static_cast<int>(some), static_cast<std::int64_t>(first));
  }
}

// An interaction: the vectors of each sample are concatenated into a matrix T, T·Tᵀ is computed in
// full, and the entries below its diagonal are selected.
std::unique_ptr<PreparedKernel> prepare_interaction(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::size_t inputs = problem.inputs.size();
  const auto count = static_cast<std::int64_t>(inputs);
  const std::int64_t channels = problem.inputs.front().channels;
  const std::int64_t samples = problem.samples;
  const std::int64_t side = count * channels;
  const device::Pairs pairs{samples, count, channels};
  const Precision precision = problem.precision;
  const std::size_t size = is_mixed(precision) ? 2 : 4;
  const bool forward = problem.pass == Pass::forward;
  std::vector<KernelTensor> tensors;
  for (std::size_t i = 0; i < inputs; ++i) {
    tensors.push_back(flat(forward ? TensorRole::input : TensorRole::input_gradient, static_cast<int>(i), samples * channels,
                           !forward, precision));
  }
  tensors.push_back(flat(TensorRole::kept, 0, samples * side, forward, precision));
  tensors.push_back(flat(forward ? TensorRole::output : TensorRole::output_gradient, 0, samples * problem.output.channels,
                         forward, precision));
  const auto memory = [&](std::int64_t items) {
    return std::make_shared<DeviceMemory>(buffer_bytes(items, precision, false));
  };
  const auto from_vector = [=](void* together, std::int64_t first) {
    return static_cast<std::byte*>(together) + static_cast<std::size_t>(first * channels) * size;
  };
  const auto products = memory(samples * count * count);
  const std::string key = print_problem(problem);
  if (forward) {
    const auto product = std::make_shared<ProductRunner>(
        device, Product{.m = count, .n = count, .k = channels, .b_transposed = true, .count = samples}, precision, key);
    return make_kernel(
        "own:stack+" + product->name() + "+own:pick", std::move(tensors),
        [=, &device](std::span<void* const> at) {
          const device::Launch launch = device.launch(precision);
          void* const together = at[inputs];
          in_groups(at, inputs, [&](const device::Addresses& some, int number, std::int64_t first) {
            started(device::stack(launch, some, number, channels, samples, side, from_vector(together, first)));
          });
          product->run(device, together, together, products->data());
          started(device::pick_pairs(launch, pairs, together, products->data(), at[inputs + 1]));
        },
        product->workspace() + products->bytes());
  }
  // Forward is Z = T·Tᵀ. The gradient of T is the sum of dZ·T and dZᵀ·T.
  Product shape{.m = count, .n = channels, .k = count, .count = samples};
  const auto by_rows = std::make_shared<ProductRunner>(device, shape, precision, key + " by rows");
  shape.a_transposed = true;
  const auto by_columns = std::make_shared<ProductRunner>(device, shape, precision, key + " by columns");
  const auto first_part = memory(samples * side);
  const auto second_part = memory(samples * side);
  return make_kernel(
      "own:put+" + by_rows->name() + "+own:unstack", std::move(tensors),
      [=, &device](std::span<void* const> at) {
        const device::Launch launch = device.launch(precision);
        started(device::put_pairs(launch, pairs, at[inputs + 1], products->data()));
        by_rows->run(device, products->data(), at[inputs], first_part->data());
        by_columns->run(device, products->data(), at[inputs], second_part->data());
        in_groups(at, inputs, [&](const device::Addresses& some, int number, std::int64_t first) {
          started(device::unstack(launch, some, number, channels, samples, side, from_vector(first_part->data(), first),
                                  from_vector(second_part->data(), first)));
        });
        started(device::add_first(launch, pairs, at[inputs + 1], at[0]));
      },
      by_rows->workspace() + by_columns->workspace() + products->bytes() + first_part->bytes() + second_part->bytes());
}

}  // namespace

const Kind interaction{"interaction", no_refusal, prepare_interaction};

}  // namespace ddl::cuda
