#include <cmath>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/function_flops.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Long short-term memory over a sequence, from its first token to its last token, and if bidirectional also in reverse
/// order [Hochreiter and Schmidhuber, Neural Computation 9(8), 1997]. Parameters are counted as in cuDNN and PyTorch: four
/// gates, each with a matrix for the input, a matrix for the state, and a bias for each of the two matrices.
///
/// The time steps of a direction are sequential, with one product per token. Each time step reads the state's matrix again,
/// as in kernels that do not keep it on the chip [Diamos et al., "Persistent RNNs", ICML 2016]. Products with the input, and
/// gradients of both matrices, cover all time steps at once [NVIDIA, "Optimizing Recurrent Neural Networks in cuDNN 5",
/// 2016].
class Lstm final : public Operation {
 public:
  Lstm(std::int64_t features, bool bidirectional) : features_(features), directions_(bidirectional ? 2 : 1) {}

  std::string_view type() const override { return "lstm"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"features", features_}};
    if (directions_ == 2) values.add("bidirectional", true);
    return values;
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("lstm needs a sequence, not {}", to_string(output)));
    static_cast<void>(item_count("the matrix", {directions_, gates, features_, output.channels}));
    static_cast<void>(item_count("the matrix", {directions_, gates, features_, features_}));
    output.channels = directions_ * features_;
    return checked(output);
  }
  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return gates * output.channels * (inputs.front().channels + features_);
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return 2 * gates * output.channels;
  }

  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const double from = real(inputs.front().channels);
    const double state = real(features_);
    const double rows = gates * real(output.channels);  // weights of both matrices of each direction, for all directions
    const double steps = real(output.positions());
    const double units = items(output);
    const double of_input = 2 * rows * from * steps;
    const double of_state = 2 * rows * state * steps;
    // A product with the state computes one time step for all samples. The products with the input,
    // which are computed for all time steps at once, are counted in the same way.
    Work work{.m = 1, .n = rows / real(directions_), .k = from + state};
    switch (pass) {
      case Pass::forward:
        // Each unit has four gates with three additions each. Three gates have a sigmoid, and one
        // has a tanh. The cell has three products, an addition and a tanh. Gates are written and
        // read, as are the cell and the state for the next time step.
        work.flops = of_input + of_state + (gates * 3 + 3 * sigmoid_flops + 4 + 2 * tanh_flops) * units;
        work.activation_items = items(inputs.front()) + (2 * gates + 4) * units;
        work.weight_items = rows * from + steps * rows * state + 2 * rows;
        return work;
      case Pass::backward_data:
        work.flops = of_input;
        work.activation_items = gates * units + items(inputs.front());
        work.weight_items = rows * from;
        // The input's gradient follows from the gates' gradients, for all time steps at once.
        work.m = steps;
        work.n = from;
        work.k = rows;
        return work;
      case Pass::backward_weight:
        // Backward through the time steps is always required, even for the first layer. Backward computes the gradients of
        // the gates, and from them the gradient of the previous state. For each unit, backward adds the two gradients of the
        // state (1 FLOP), recomputes the tanh of the cell, and adds the gradient through this tanh to the next time step's
        // gradient of the cell (5 FLOPs). The gradient of each gate takes 4 FLOPs for a product and the derivative of the
        // gate's function. The gradient of the previous cell takes one product. Finally, backward computes the gradients of
        // both matrices for all time steps at once, and sums the gradients of the biases.
        work.flops = of_state + of_input + of_state + (1 + tanh_flops + 5 + gates * 4 + 1 + gates) * units;
        work.activation_items = (3 * gates + 6) * units + items(inputs.front());
        work.weight_items = steps * rows * state + rows * (from + state) + 2 * rows;
        return work;
      case Pass::update:
        break;
    }
    return {};
  }

  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const Work whole = work(pass, inputs, output);
    const std::int64_t steps = output.positions() * directions_;
    if ((pass != Pass::forward && pass != Pass::backward_weight) || steps > most_kernels) return {whole};
    const double from = real(inputs.front().channels), state = real(features_), rows = gates * state;
    const double all_steps = real(output.positions()), all_rows = rows * real(directions_);
    // The kernel of all time steps: the product with the input, or the gradients of both matrices.
    Work together{.flops = 2 * all_rows * from * all_steps,
                  .activation_items = items(inputs.front()) + gates * items(output)};
    if (pass == Pass::forward) {
      together.weight_items = all_rows * (from + 2);
      together.m = all_steps, together.n = all_rows, together.k = from;
    } else {
      together.flops += 2 * all_rows * state * all_steps;
      together.weight_items = all_rows * (from + state + 2);
      // Two products, of the input's and of the state's matrix, are counted as one. A sum of their lengths must not look
      // like the length of unaligned rows.
      together.m = all_rows, together.n = 8 * std::ceil(from / 8) + state, together.k = all_steps;
      together.batched = Work::Batched::k;
    }
    // The kernels of one time step are counted as one product with the state's matrix.
    const auto part = [&](double of_all, double of_others) { return (of_all - of_others) / real(steps); };
    Work step{.flops = part(whole.flops, together.flops),
              .activation_items = part(whole.activation_items, together.activation_items),
              .weight_items = part(whole.weight_items, together.weight_items),
              .m = 1,
              .n = pass == Pass::forward ? rows : state,
              .k = pass == Pass::forward ? state : rows};
    std::vector<Work> kernels(static_cast<std::size_t>(steps), step);
    kernels.push_back(together);
    return kernels;
  }

  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // A time step waits for the previous one: first the state's matrix product, then the gates and the cell. The product
    // with the input is computed for all time steps at once, before the first time step. For each time step, backward
    // computes the gradients of the gates, and then the gradient of the state, which sums over the gates. After the first
    // time step, backward computes the gradients of the input and of the matrices.
    const double steps = real(output.positions());
    if (pass == Pass::forward)
      return steps * (reduction_depth({real(features_)}) + 1) + reduction_depth({real(inputs.front().channels)});
    const double back = steps * (reduction_depth({real(gates * features_)}) + 1);
    return back + reduction_depth({pass == Pass::backward_data ? real(gates * output.channels) : steps * samples});
  }

  // The estimator does not split this operation. Ranks with split units would have to exchange the state at every time step.
  Divisible divisible() const override { return {}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    // In addition to input and states, backward needs the gates and the cell of each time step,
    // which is cuDNN's reserve space.
    return {.input = true, .output = true, .extra_items = (gates + 1) * items(output)};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return gates * items(output) * real(inputs.front().channels + features_);
  }

 private:
  static constexpr std::int64_t gates = 4;
  static constexpr std::int64_t most_kernels =
      8192;  ///< a longer sequence counts as one product, to bound the list of kernels
  std::int64_t features_, directions_;
};

}  // namespace

std::shared_ptr<const Operation> read_lstm(const Attributes& attributes) {
  return std::make_shared<Lstm>(attributes.integer("features"), attributes.find_boolean("bidirectional").value_or(false));
}

}  // namespace ddl
