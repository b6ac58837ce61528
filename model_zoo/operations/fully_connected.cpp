#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// A matrix product with the channels of a flat vector, or of each token of a sequence. With experts, the tokens are grouped
/// by expert, as `dispatch` arranges them. Groups are assumed to have equal lengths, and each group is multiplied by its own
/// matrix. With an adapter of rank r, the layer computes W·x + B·(A·x). W is frozen. A, with r rows, and B, with r columns,
/// are trained [Hu et al., "LoRA: low-rank adaptation of large language models", ICLR 2022, section 4.1].
class FullyConnected final : public Operation {
 public:
  FullyConnected(std::int64_t features, std::int64_t experts, bool bias, std::string tied, std::int64_t adapter)
      : features_(features), experts_(experts), adapter_(adapter), bias_(bias), tied_(std::move(tied)) {}

  std::string_view type() const override { return "fully_connected"; }
  std::string_view short_name() const override { return "fc"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"features", features_}};
    if (experts_ > 1) values.add("experts", experts_);
    if (!bias_) values.add("bias", false);
    if (!tied_.empty()) values.add("tied", tied_);
    if (adapter_ > 0) values.add("adapter", adapter_);
    return values;
  }
  AttributeValues lasting_values() const override {
    AttributeValues values{{"experts", experts_}, {"bias", bias_}};
    if (adapter_ > 0) values.add("adapter", adapter_);
    return values;
  }

  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (output.rank > 0 && !output.sequence) {
      throw Error(fmt::format("fully_connected needs a flat vector or a sequence, not {}", to_string(output)),
                  "put '- flatten' before it");
    }
    static_cast<void>(item_count("the matrix", {output.channels, features_, experts_}));
    static_cast<void>(item_count("the adapter", {std::max(output.channels, features_), 2 * adapter_, experts_}));
    output.channels = features_;
    return checked(output);
  }

  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const std::int64_t own = tied_.empty() ? experts_ * inputs.front().channels * output.channels : 0;
    return own + experts_ * adapter_ * (inputs.front().channels + output.channels);
  }
  std::int64_t frozen(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const bool own = adapter_ > 0 && tied_.empty();
    return (own ? experts_ * inputs.front().channels * output.channels : 0) + (adapter_ > 0 ? biases(inputs, output) : 0);
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return bias_ ? experts_ * output.channels : 0;
  }
  SharedTable shared_table(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return {.owner = "embedding", .rows = output.channels, .columns = inputs.front().channels};
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    std::vector<Work> all = kernels(pass, inputs, output);
    Work work = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].is_separate) continue;
      work.flops += all[i].flops;
      work.activation_items += all[i].activation_items;
      work.weight_items += all[i].weight_items;
    }
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (adapter_ == 0 || pass == Pass::update) {
      std::vector<Work> kernels{matrix(pass, inputs, output)};
      const Work bias = bias_ ? bias_work(pass, items(output), Work::Bias::linear) : Work{};
      if (bias.is_any()) kernels.push_back(bias);
      return kernels;
    }
    const double from = real(inputs.front().channels), to = real(output.channels), rank = real(adapter_);
    const double positions = real(output.positions());
    // Every addition and scaling is a separate kernel, as in frameworks [Hugging Face, PEFT, peft/tuners/lora/layer.py;
    // NVIDIA, Megatron-Bridge, peft/lora_layers.py].
    const auto moved = [&](double channels, double tensors) {
      return Work{.flops = positions * channels, .activation_items = tensors * positions * channels};
    };
    // The products of the adapter are the input times A, the result times B, and the gradients of both.
    const Work down = product(positions, rank, from, Pass::forward), up = product(positions, to, rank, Pass::forward);
    const Work of_down = product(positions, rank, to, Pass::backward_data);
    const Work of_input = product(positions, from, rank, Pass::backward_data);
    switch (pass) {
      case Pass::forward:
        return {matrix(pass, inputs, output), down, up, moved(to, 2), moved(to, 3)};
      case Pass::backward_data:
        return {matrix(pass, inputs, output), of_input, moved(from, 3)};
      default:
        return {product(positions, to, rank, Pass::backward_weight), moved(to, 2), of_down,
                product(positions, rank, from, Pass::backward_weight)};
    }
  }

  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // The depths are log Cin, log Cout and log N [BH18, Table 4]. N is the number of tokens of a
    // sequence (with experts, the number of tokens of an expert).
    if (pass == Pass::forward) return reduction_depth({real(inputs.front().channels)});
    if (pass == Pass::backward_data) return reduction_depth({real(output.channels)});
    return reduction_depth({real(output.positions()) / real(experts_), samples});
  }

  Divisible divisible() const override { return {.matrix = true}; }
  std::int64_t experts() const override { return experts_; }
  std::shared_ptr<const Operation> with_experts(std::int64_t experts) const override {
    return std::make_shared<FullyConnected>(features_, experts, bias_, tied_, adapter_);
  }
  std::shared_ptr<const Operation> with_adapter(std::int64_t rank) const override {
    return std::make_shared<FullyConnected>(features_, experts_, bias_, tied_, rank);
  }
  std::int64_t adapter_rank() const override { return adapter_; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.input = true, .extra_items = real(output.positions()) * real(adapter_)};
  }
  /// Returns an operation outside of a model, which has weights of its own.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return {.operation = std::make_shared<FullyConnected>(output.channels, experts_, bias_, "", adapter_),
            .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double from = real(inputs.front().channels), to = real(output.channels);
    return from * items(output) + real(output.positions()) * real(adapter_) * (from + to);
  }

 private:
  /// Returns the product of all positions with an adapter's matrix in one pass: forward, or the
  /// gradient of the matrix's input, with n and k channels; or the gradient of the k×n weights.
  [[nodiscard]] Work product(double positions, double n, double k, Pass pass) const {
    const double own = positions / real(experts_);
    Work work{.flops = 2 * positions * n * k,
              .activation_items = positions * (n + k),
              .weight_items = real(experts_) * n * k,
              .m = own,
              .n = n,
              .k = k,
              .count = real(experts_)};
    if (pass != Pass::backward_weight) return work;
    work.m = n;
    work.n = k;
    work.k = own;
    work.batched = Work::Batched::k;
    return work;
  }
  /// Returns the product with the layer's own matrix.
  [[nodiscard]] Work matrix(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const {
    if (pass == Pass::update) return {};
    const double from = real(inputs.front().channels);
    const double to = real(output.channels);
    const double positions = real(output.positions()) / real(experts_);
    Work work{.flops = 2 * from * items(output),
              .activation_items = items(inputs.front()) + items(output),
              .weight_items = real(experts_) * from * to + real(biases(inputs, output))};
    if (pass == Pass::forward) {
      work.m = positions;
      work.n = to;
      work.k = from;
    } else if (pass == Pass::backward_data) {
      work.m = positions;
      work.n = from;
      work.k = to;
    } else {
      work.m = to;
      work.n = from;
      work.k = positions;
      work.batched = Work::Batched::k;
    }
    work.count = real(experts_);
    return work;
  }

  std::int64_t features_, experts_, adapter_;  ///< `adapter_`: the adapter's rank; 0: no adapter
  bool bias_;
  std::string tied_;
};

}  // namespace

std::shared_ptr<const Operation> read_fully_connected(const Attributes& attributes) {
  const std::int64_t experts = attributes.find_integer("experts").value_or(1);
  if (experts > 1 && !attributes.input().sequence) {
    attributes.fail("experts", fmt::format("experts need the tokens of a sequence, not {}", to_string(attributes.input())));
  }
  if (experts > 1 && attributes.has("tied")) attributes.fail("tied", "experts cannot share the weights of an embedding");
  return std::make_shared<FullyConnected>(
      attributes.integer("features"), experts, attributes.find_boolean("bias").value_or(true),
      attributes.find_text("tied").value_or(""), attributes.find_integer("adapter").value_or(0));
}

}  // namespace ddl
