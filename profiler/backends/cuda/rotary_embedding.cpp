#include <cmath>
#include <vector>

#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

/// Cosines and sines of each token's angles, as frameworks store them. Pair i of d rotates by position · 10000^(−2i/d)
/// [Su21].
struct Angles {
  Angles(std::int64_t tokens, std::int64_t pairs) {
    std::vector<float> both;
    for (const bool sine : {false, true}) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t i = 0; i < pairs; ++i) {
          const double angle =
              static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs));
          both.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
    const auto half = buffer_bytes(tokens * pairs, Precision::fp32, false);
    cosines = DeviceMemory(half);
    sines = DeviceMemory(half);
    const std::size_t bytes = both.size() / 2 * sizeof(float);
    check(cudaMemcpy(cosines.data(), both.data(), bytes, cudaMemcpyHostToDevice), "copying to the device");
    check(cudaMemcpy(sines.data(), both.data() + both.size() / 2, bytes, cudaMemcpyHostToDevice), "copying to the device");
  }
  DeviceMemory cosines, sines;
};

// Each token has the concatenated heads of the queries, the keys and the values. Values are unchanged.
std::unique_ptr<PreparedKernel> prepare_rotary_embedding(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::int64_t heads = attributes.integer("heads", 1);
  const std::int64_t kv_heads = attributes.integer("kv_heads", heads);
  const std::int64_t width = problem.output.channels;
  const std::int64_t size = width / (heads + 2 * kv_heads);
  const std::int64_t pairs = attributes.integer("turned", size) / 2;
  const std::int64_t tokens = problem.output.extent[0];
  const std::int64_t rows = problem.samples * tokens;
  const Precision precision = problem.precision;
  const bool forward = problem.pass == Pass::forward;
  const auto angles = std::make_shared<const Angles>(tokens, pairs);
  const device::Turning turning{tokens, width, heads + kv_heads, size, pairs};
  return make_kernel("own:rotary_embedding",
                     {flat(forward ? TensorRole::input : TensorRole::output_gradient, 0, rows * width, false, precision),
                      flat(forward ? TensorRole::output : TensorRole::input_gradient, 0, rows * width, true, precision)},
                     [=, &device](std::span<void* const> at) {
                       started(device::turn(device.launch(precision), turning, !forward, at[0],
                                            static_cast<const float*>(angles->cosines.data()),
                                            static_cast<const float*>(angles->sines.data()), at[1], rows));
                     });
}

}  // namespace

const Kind rotary_embedding{"rotary_embedding", no_refusal, prepare_rotary_embedding};

}  // namespace ddl::cuda
