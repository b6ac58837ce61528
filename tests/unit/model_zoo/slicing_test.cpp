#include <random>
#include <string>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace slicing_tests {

using namespace ddl;

// A strategy passes the shapes of a slice to an operation to evaluate the slice. The parts must add up to the whole.

namespace {

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_weight};

/// Distributes `whole` over `parts` as evenly as possible in units of `unit`.
std::vector<std::int64_t> shares_of(std::int64_t whole, std::int64_t parts, std::int64_t unit = 1) {
  std::vector<std::int64_t> result;
  const std::int64_t units = whole / unit;
  for (std::int64_t part = 0; part < parts; ++part)
    result.push_back((units * (part + 1) / parts - units * part / parts) * unit);
  return result;
}

struct Sum {
  double flops = 0, activation_items = 0, kept = 0;
  std::int64_t parameters = 0;

  void add(const Operation& operation, Pass pass, const std::vector<TensorShape>& inputs, const TensorShape& output) {
    const Work work = operation.work(pass, inputs, output);
    flops += work.flops;
    activation_items += work.activation_items;
    const Kept own = operation.kept(inputs, output);
    kept += own.mask_items + own.extra_items;
    parameters += operation.weights(inputs, output) + operation.biases(inputs, output);
  }
};

Sum whole_of(const Layer& layer, Pass pass) {
  Sum sum;
  sum.add(*layer.operation, pass, layer.input_shapes, layer.output_shape);
  return sum;
}

}  // namespace

TEST_CASE("filters of a convolution, distributed to ranks, have all of the convolution's work and weights") {
  std::mt19937 random(1);
  const auto pick = [&random](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int run = 0; run < 300; ++run) {
    const int kernel = pick(1, 5);
    const std::string item = "  - convolution: {filters: " + std::to_string(pick(8, 300)) +
                             ", kernel: " + std::to_string(kernel) + ", stride: " + std::to_string(pick(1, 3)) +
                             ", padding: " + std::to_string(pick(0, kernel)) + "}\n";
    const std::string size = pick(0, 1) == 0 ? std::to_string(pick(8, 40)) + "x" + std::to_string(pick(8, 40))
                                             : std::to_string(pick(8, 20)) + "x" + std::to_string(pick(8, 20)) + "x" +
                                                   std::to_string(pick(8, 20));
    const Layer layer = layer_of("{channels: " + std::to_string(pick(8, 100)) + ", size: " + size + "}", item);
    const std::int64_t parts = pick(1, 8);
    INFO(item << " on " << to_string(layer.input_shapes.front()) << " in " << parts);
    for (const Pass pass : passes) {
      const Sum whole = whole_of(layer, pass);
      Sum filters;
      Sum channels;
      for (const std::int64_t share : shares_of(layer.output_shape.channels, parts)) {
        TensorShape output = layer.output_shape;
        output.channels = share;
        filters.add(*layer.operation, pass, layer.input_shapes, output);
      }
      CHECK(filters.flops == whole.flops);
      CHECK(filters.parameters == whole.parameters);
      for (const std::int64_t share : shares_of(layer.input_shapes.front().channels, parts)) {
        TensorShape input = layer.input_shapes.front();
        input.channels = share;
        channels.add(*layer.operation, pass, {input}, layer.output_shape);
      }
      CHECK(channels.flops == whole.flops);
      // Every rank has all biases.
      CHECK(channels.parameters - (parts - 1) * layer.biases == whole.parameters);
    }
  }
}

TEST_CASE("tiles of an image together have all of its work") {
  for (const std::string item :
       {"convolution: {filters: 12, kernel: 3, padding: 1}", "convolution: {filters: 12, kernel: 1, stride: 2}",
        "pool: {kind: max, kernel: 2}", "norm: batch", "norm: instance", "activation: relu", "dropout: 0.1",
        "slice: {first: 2, channels: 3}", "channel_shuffle: 2", "resize: {kind: linear, factor: 2}", "scale: trained",
        "transposed_convolution: {filters: 12, kernel: 2, stride: 2}", "loss: cross_entropy"}) {
    const Layer layer = layer_of("{channels: 6, size: 24x24}", "  - " + item + "\n");
    REQUIRE(layer.operation->divisible().spatial);
    INFO(item);
    for (const Pass pass : passes) {
      Sum tiles;
      for (int tile = 0; tile < 4; ++tile) {
        TensorShape input = layer.input_shapes.front();
        TensorShape output = layer.output_shape;
        for (TensorShape* shape : {&input, &output}) {
          if (shape->rank == 0) continue;
          shape->extent[0] /= 2;
          shape->extent[1] /= 2;
        }
        tiles.add(*layer.operation, pass, {input}, output);
      }
      CHECK(tiles.flops == whole_of(layer, pass).flops);
      CHECK(tiles.activation_items == whole_of(layer, pass).activation_items);
      CHECK(tiles.kept == whole_of(layer, pass).kept);
    }
  }
}

TEST_CASE("channels of a channelwise operation, distributed to ranks, have all of the operation's work and weights") {
  const std::string image = "{channels: 24, size: 8x8}";
  const std::string sequence = "{channels: 24, tokens: 16}";
  for (const auto& [input, item] : {std::pair<std::string, std::string>{image, "norm: batch"},
                                    {image, "norm: {kind: group, groups: 12}"},
                                    {image, "norm: instance"},
                                    {image, "crop: 4"},
                                    {image, "resize: {kind: nearest, factor: 2}"},
                                    {image, "scale: 0.1"},
                                    {image, "scale: {factor: trained, bias: yes}"},
                                    {image, "activation: relu"},
                                    {image, "dropout: 0.5"},
                                    {image, "pool: {kind: max, kernel: 2}"},
                                    {image, "pool: {kind: average, global: yes}"},
                                    {image, "flatten"},
                                    {image, "convolution: {filters: same, kernel: 3, groups: same}"},
                                    {image, "convolution: {filters: 48, kernel: 3, groups: 8}"},
                                    {image, "transposed_convolution: {filters: 48, kernel: 3, groups: 8}"},
                                    {sequence, "attention: {heads: 4, dropout: 0.1}"},
                                    {sequence, "attention: {heads: 8, kv_heads: 8}"},
                                    {sequence, "position_embedding: 16"},
                                    {sequence, "select: first"}}) {
    const Layer layer = layer_of(input, "  - " + item + "\n");
    const Divisible divisible = layer.operation->divisible();
    REQUIRE(divisible.channelwise);
    const std::int64_t units = divisible.channel_units > 0 ? divisible.channel_units : layer.input_shapes.front().channels;
    INFO(item);
    for (const std::int64_t parts : {1, 2, 3, 4}) {
      for (const Pass pass : passes) {
        Sum sum;
        for (const std::int64_t share : shares_of(units, parts)) {
          TensorShape in = layer.input_shapes.front();
          TensorShape out = layer.output_shape;
          in.channels = in.channels * share / units;
          out.channels = out.channels * share / units;
          sum.add(*layer.operation, pass, {in}, out);
        }
        const Sum whole = whole_of(layer, pass);
        CHECK(sum.flops == Approx(whole.flops).epsilon(1e-12));
        CHECK(sum.activation_items == Approx(whole.activation_items).epsilon(1e-12));
        CHECK(sum.kept == Approx(whole.kept).epsilon(1e-12));
        CHECK(sum.parameters == whole.parameters);
      }
    }
  }
}

TEST_CASE("features of a fully connected layer and an embedding, distributed to ranks, have all work and weights") {
  for (const auto& [input, item] : {std::pair<std::string, std::string>{"{features: 100}", "fully_connected: 60"},
                                    {"{channels: 100, tokens: 16}", "fully_connected: {features: 60, bias: no}"},
                                    {"{tokens: 16}", "embedding: {vocabulary: 1000, features: 60}"}}) {
    const Layer layer = layer_of(input, "  - " + item + "\n");
    INFO(item);
    for (const Pass pass : passes) {
      Sum sum;
      for (const std::int64_t share : shares_of(60, 7)) {
        TensorShape output = layer.output_shape;
        output.channels = share;
        sum.add(*layer.operation, pass, layer.input_shapes, output);
      }
      CHECK(sum.flops == whole_of(layer, pass).flops);
      CHECK(sum.parameters == whole_of(layer, pass).parameters);
    }
  }
}

TEST_CASE("the product of a matrix product's dimensions is its work") {
  // The product of the dimensions is exact if the stride is 1 and there are no groups.
  for (const auto& [input, item] :
       {std::pair<std::string, std::string>{"{channels: 6, size: 9x7}", "convolution: {filters: 5, kernel: 3, padding: 1}"},
        {"{features: 100}", "fully_connected: 60"},
        {"{channels: 8, tokens: 16}", "fully_connected: 60"}}) {
    const Layer layer = layer_of(input, "  - " + item + "\n");
    for (const Pass pass : passes) {
      const Work work = work_of(layer, pass);
      INFO(item << " " << to_string(pass));
      CHECK(2 * work.m * work.n * work.k == work.flops);
    }
  }
}

}  // namespace slicing_tests
