#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Mixes the positions of an image in the frequencies of its channels: a Fourier transform, a perceptron of two layers with
/// complex numbers that is the same for all frequencies, and the inverse transform [Guibas et al., "Adaptive Fourier neural
/// operators", ICLR 2022, section 4]. The matrices of the perceptron have blocks along their diagonal.
class FourierMixing final : public Operation {
 public:
  explicit FourierMixing(std::int64_t blocks) : blocks_(blocks) {}

  std::string_view type() const override { return "fourier_mixing"; }
  AttributeValues attribute_values() const override { return {{"blocks", blocks_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (input.sequence || input.rank == 0) {
      throw Error(fmt::format("fourier_mixing needs an image, not {}", to_string(input)));
    }
    if (input.channels % blocks_ != 0) {
      throw Error(fmt::format("{} channels do not divide into {} blocks", input.channels, blocks_));
    }
    return input;
  }
  /// Two complex matrices for each block.
  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return 4 * inputs.front().channels * (inputs.front().channels / blocks_);
  }
  std::int64_t biases(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return 4 * inputs.front().channels;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return sum_of(kernels(pass, inputs, output));
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double channels = real(output.channels), block = channels / real(blocks_);
    const double frequencies = half_frequencies(output);
    const double complex = 4 * frequencies * channels;  // elements: two numbers of 4 bytes
    // A real transform of n numbers has 2.5 n log2 n FLOPs [Frigo and Johnson, "The design and implementation of FFTW3",
    // Proceedings of the IEEE 2005, section V]. It reads and writes its tensor once along each dimension.
    const Work transform{.flops = 2.5 * items(output) * std::log2(real(output.positions())),
                         .activation_items = real(output.rank) * complex + 2 * items(output)};
    Work product{.flops = 8 * frequencies * channels * block,
                 .activation_items = 2 * complex,
                 .weight_items = real(weights(inputs, output)) / 2,
                 .m = frequencies,
                 .n = 2 * block,
                 .k = 2 * block,
                 .count = real(blocks_)};
    const Work function{.flops = complex, .activation_items = 2 * complex};
    if (pass == Pass::forward) return {transform, product, function, product, function, transform};
    if (pass == Pass::backward_data) return {transform, function, product, function, product, transform};
    if (pass == Pass::backward_weight) {
      product.m = product.n;
      product.k = frequencies;
      product.batched = Work::Batched::k;
      return {product, product};
    }
    return {};
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    const double positions = real(output.positions()), block = real(inputs.front().channels / blocks_);
    if (pass == Pass::backward_weight) return reduction_depth({half_frequencies(output), samples});
    return reduction_depth({positions, block, block, positions});
  }
  /// Every frequency depends on all positions, so only samples are split.
  Divisible divisible() const override { return {}; }
  /// Backward needs the inputs of both matrices, and the result before the last function, in complex numbers of 8 bytes.
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.statistics = 3 * 2 * half_frequencies(output) * real(output.channels)};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return 8 * half_frequencies(output) * real(output.channels) * real(inputs.front().channels / blocks_);
  }

 private:
  /// Returns the number of frequencies of a real transform: those of the last dimension are conjugate in pairs.
  [[nodiscard]] static double half_frequencies(const TensorShape& shape) {
    const std::int64_t last = shape.extent[static_cast<std::size_t>(shape.rank - 1)];
    return real(shape.positions() / last * (last / 2 + 1));
  }

  std::int64_t blocks_;
};

}  // namespace

std::shared_ptr<const Operation> read_fourier_mixing(const Attributes& attributes) {
  return std::make_shared<FourierMixing>(attributes.integer("blocks"));
}

}  // namespace ddl
