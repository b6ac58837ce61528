#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"
#include "model_zoo/operations/sliding_window.hpp"

namespace ddl {
namespace {

enum class PoolKind { max, average };
constexpr EnumNames<PoolKind> pool_kinds{"max", "average"};

/// The part of pooling that does not depend on whether the window is fixed: the traffic.
class Pool : public Operation {
 public:
  explicit Pool(PoolKind kind) : kind_(kind) {}

  std::string_view type() const override { return "pool"; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    // A maximum keeps an index of 8 bytes for each output element. An average does not need its input,
    // but frameworks such as PyTorch keep the input for its shape.
    return {.input = true, .mask_items = kind_ == PoolKind::max ? 8 * items(output) : 0};
  }

 protected:
  [[nodiscard]] PoolKind kind_of() const { return kind_; }
  [[nodiscard]] AttributeValues values_with(const AttributeValues& size) const {
    AttributeValues values{{"kind", pool_kinds[kind_]}};
    values.add(size);
    return values;
  }
  [[nodiscard]] Work traffic(Pass pass, const TensorShape& input, const TensorShape& output, double visited) const {
    const bool is_max = kind_ == PoolKind::max;
    const KernelKind kind = is_max ? KernelKind::max_pool : KernelKind::elementwise;
    if (pass == Pass::forward) return {.flops = visited, .activation_items = items(input) + items(output), .kind = kind};
    if (pass != Pass::backward_data) return {};
    // The backward of a maximum reads the indices together with the gradient, and adds one element at each index.
    return {.flops = is_max ? items(output) : visited,
            .activation_items = items(input) + (is_max ? 2 : 1) * items(output),
            .kind = kind};
  }

 private:
  PoolKind kind_;
};

class WindowPool final : public Pool {
 public:
  WindowPool(PoolKind kind, const SlidingWindow& window, bool sequence) : Pool(kind), window_(window), sequence_(sequence) {}

  AttributeValues attribute_values() const override { return values_with(window_.values(0)); }
  AttributeValues lasting_values() const override { return values_with(window_.lasting_values()); }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    return checked(window_.slide(only_input(inputs, type())));
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return traffic(pass, inputs.front(), output, items(output) * real(window_.volume()));
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/,
               double /*samples*/) const override {
    // Backward adds the contributions of all windows that overlap at an element.
    const auto reduced = [&](std::size_t d) {
      return real(pass == Pass::forward ? window_.kernel[d]
                                        : (window_.kernel[d] + window_.stride[d] - 1) / window_.stride[d]);
    };
    return reduction_depth({reduced(0), reduced(1), reduced(2)});
  }
  Divisible divisible() const override { return {.channelwise = true, .spatial = !sequence_}; }
  Window window() const override { return window_.window(); }
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    TensorShape input = inputs.front();
    const SlidingWindow window = window_.over_tile(input, output);
    return {.operation = std::make_shared<WindowPool>(kind_of(), window, sequence_), .inputs = {input}};
  }

 private:
  SlidingWindow window_;
  bool sequence_;
};

/// Pools to a given output size, for any size of the input.
class AdaptivePool final : public Pool {
 public:
  AdaptivePool(PoolKind kind, const Extents& size) : Pool(kind), size_(size) {}

  AttributeValues attribute_values() const override {
    return values_with({{"adaptive", AttributeSizes{size_.size, size_.rank}}});
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (output.rank != size_.rank) {
      throw Error(
          fmt::format("the size {} does not fit the input {}", print_extents(size_.size, size_.rank), to_string(output)));
    }
    output.extent = size_.size;
    return checked(output);
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return traffic(pass, inputs.front(), output, std::max(items(inputs.front()), items(output)));
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
               double /*samples*/) const override {
    const double window = std::ceil(items(inputs.front()) / items(output));
    return pass == Pass::forward ? reduction_depth({window}) : 1;
  }
  Divisible divisible() const override {
    return {.channelwise = true, .position_sums = size_.size == std::array<std::int64_t, 3>{1, 1, 1} ? 1.0 : 0.0};
  }

 private:
  Extents size_;
};

}  // namespace

std::shared_ptr<const Operation> read_pool(const Attributes& attributes) {
  const auto kind = static_cast<PoolKind>(attributes.choice("kind", pool_kinds));
  const TensorShape& input = attributes.input();
  const bool global = attributes.find_boolean("global").value_or(false);
  if (global || attributes.has("adaptive")) {
    for (const std::string_view key : {"kernel", "stride", "padding", "ceil"}) {
      if (attributes.has(key)) attributes.fail(key, fmt::format("'{}' has no effect if the output size is given", key));
    }
    if (global && attributes.has("adaptive")) attributes.fail("adaptive", "'adaptive' and 'global' exclude each other");
    if (input.rank == 0) attributes.fail("", fmt::format("the input {} has no positions to pool", to_string(input)));
    return std::make_shared<AdaptivePool>(
        kind, global ? Extents{.rank = input.rank} : *attributes.find_extents("adaptive", input.rank, 1));
  }
  SlidingWindow window = SlidingWindow::read(attributes, 0);
  window.ceil = attributes.find_boolean("ceil").value_or(false);
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    if (!window.same && 2 * window.padding[d] > window.kernel[d]) {
      attributes.fail("padding",
                      fmt::format("the padding {} is more than half of the kernel {}", window.padding[d], window.kernel[d]));
    }
  }
  return std::make_shared<WindowPool>(kind, window, input.sequence);
}

}  // namespace ddl
