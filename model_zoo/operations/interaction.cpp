#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Reads several vectors of equal length. Returns the first vector, followed by the dot products of all pairs of vectors. A
/// recommendation model combines its dense and categorical features in this way [Naumov et al., "Deep learning
/// recommendation model for personalization and recommendation systems", 2019, section 2.1]. As in the reference code,
/// vectors are concatenated into a matrix T, T·Tᵀ is computed in full, and the triangle below the diagonal is selected.
class Interaction final : public Operation {
 public:
  std::string_view type() const override { return "interaction"; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    require_equal_inputs(inputs, type());
    TensorShape output = inputs.front();
    if (output.rank > 0) {
      throw Error(fmt::format("interaction needs flat vectors, not {}", to_string(output)), "put '- flatten' before it");
    }
    const auto count = static_cast<std::int64_t>(inputs.size());
    output.channels += count * (count - 1) / 2;
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double vectors = real(static_cast<std::int64_t>(inputs.size()));
    const double all = items(inputs);
    const double products = vectors * vectors;
    Work work{.m = vectors, .n = vectors, .k = real(inputs.front().channels), .batched = Work::Batched::count};
    if (pass == Pass::forward) {
      // Forward writes T. T·Tᵀ reads T and writes the products. Half of the products, and the first
      // vector, are copied to the output.
      work.flops = 2 * macs(inputs, output);
      work.activation_items = 3 * all + products + 2 * items(output);
      return work;
    }
    if (pass == Pass::backward_data) {
      // The gradient of the products is set to zero and filled. The gradient of each of the two factors is the product of
      // this gradient and T, which sums over the vectors. The gradients of the two factors are added. The gradient of the
      // first vector's copy is added to the first vector's gradient.
      work.n = real(inputs.front().channels);
      work.k = vectors;
      work.flops = 2 * 2 * macs(inputs, output) + all + real(inputs.front().channels);
      work.activation_items = 2 * items(output) + products + 2 * (products + 2 * all) + 3 * all;
      return work;
    }
    return {};
  }
  // Each dot product needs both of its vectors completely.
  Divisible divisible() const override { return {}; }
  Kept kept(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return {.extra_items = items(inputs)};  // the matrix T
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const override {
    return real(static_cast<std::int64_t>(inputs.size())) * items(inputs);
  }
};

}  // namespace

std::shared_ptr<const Operation> read_interaction(const Attributes& /*attributes*/) {
  return std::make_shared<Interaction>();
}

}  // namespace ddl
