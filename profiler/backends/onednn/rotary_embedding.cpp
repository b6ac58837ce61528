#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

/// Cosines and sines of each token's angles, as frameworks store them. Pair i of d rotates by position · 10000^(−2i/d)
/// [Su21].
struct Angles {
  Angles(std::int64_t tokens, std::int64_t pairs) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double angle =
            static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(pairs));
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
    }
  }
  std::vector<float> cosines, sines;
};

/// Rotates channel i together with channel i + pairs, as in Hugging Face transformers
/// (models/llama/modeling_llama.py, rotate_half). `direction` is −1 for the inverse rotation.
[[gnu::target_clones("avx512f", "avx2", "default")]] void turn(const float* from, const float* cosines, const float* sines,
                                                               float direction, float* to, std::int64_t pairs) {
#pragma omp simd
  for (std::int64_t i = 0; i < pairs; ++i) {
    const float sine = direction * sines[i];
    to[i] = from[i] * cosines[i] - from[pairs + i] * sine;
    to[pairs + i] = from[pairs + i] * cosines[i] + from[i] * sine;
  }
}

// Each token has the concatenated heads of the queries, the keys and the values. Values are copied.
std::unique_ptr<PreparedKernel> prepare_rotary_embedding(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::int64_t heads = attributes.integer("heads", 1);
  const std::int64_t kv_heads = attributes.integer("kv_heads", heads);
  const std::int64_t width = problem.output.channels;
  const std::int64_t size = width / (heads + 2 * kv_heads);
  const std::int64_t turned = attributes.integer("turned", size);
  const std::int64_t tokens = problem.output.extent[0];
  const std::int64_t rows = problem.samples * tokens;
  const bool forward = problem.pass == Pass::forward;
  const auto angles = std::make_shared<const Angles>(tokens, turned / 2);
  return loop_kernel({{forward ? TensorRole::input : TensorRole::output_gradient, 0, rows * width, false},
                      {forward ? TensorRole::output : TensorRole::input_gradient, 0, rows * width, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
                       for (std::int64_t row = 0; row < rows; ++row) {
                         const float* from = floats(buffers[0]) + row * width;
                         float* to = floats(buffers[1]) + row * width;
                         const std::int64_t at = row % tokens * (turned / 2);
                         for (std::int64_t head = 0; head < heads + kv_heads; ++head, from += size, to += size) {
                           turn(from, angles->cosines.data() + at, angles->sines.data() + at, forward ? 1.0F : -1.0F, to,
                                turned / 2);
                           std::copy(from + turned, from + size, to + turned);
                         }
                         std::copy_n(from, kv_heads * size, to);
                       }
                     });
}

}  // namespace

const Kind rotary_embedding{"rotary_embedding", only_fp32, prepare_rotary_embedding};

}  // namespace ddl::onednn
