#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Computes the keys and values of every head from the compressed representation of a token in multi-head latent attention
/// [DeepSeek-AI, "DeepSeek-V2: a strong, economical, and efficient mixture-of-experts language model", arXiv 2405.04434,
/// equations 10, 11 and 42 to 47]. It reads a compressed vector, followed by `shared` channels that carry the position. A
/// matrix maps the compressed vector to `key_size` and `value_size` channels for each head. The shared channels are appended
/// to each key. This is the training implementation, without the matrix absorption used for inference.
class LatentKeysAndValues final : public Operation {
 public:
  struct Settings {
    std::int64_t heads = 1, key_size = 1, shared = 0, value_size = 1;
    bool bias = false;
  };
  explicit LatentKeysAndValues(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "latent_keys_and_values"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{
        {"heads", s_.heads}, {"key_size", s_.key_size}, {"shared", s_.shared}, {"value_size", s_.value_size}};
    if (s_.bias) values.add("bias", true);
    return values;
  }
  AttributeValues lasting_values() const override {
    return {{"key_size", s_.key_size}, {"shared", s_.shared}, {"value_size", s_.value_size}, {"bias", s_.bias}};
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence) throw Error(fmt::format("latent_keys_and_values needs a sequence, not {}", to_string(output)));
    if (output.channels <= s_.shared) {
      throw Error(fmt::format("the input has {} channels, and {} of them are shared: none are left to compress",
                              output.channels, s_.shared));
    }
    static_cast<void>(item_count("the matrix", {output.channels, s_.heads, s_.key_size + s_.value_size}));
    output.channels = s_.heads * channels_of_head();
    return checked(output);
  }
  std::int64_t weights(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return compressed(inputs) * made(output);
  }
  std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return s_.bias ? made(output) : 0;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {};
    Work work = product(pass, inputs, output);
    const Work copied = copies(pass, inputs, output);
    work.flops += copied.flops;
    work.activation_items += copied.activation_items;
    return work;
  }
  std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (pass == Pass::update) return {work(pass, inputs, output)};
    std::vector<Work> kernels{product(pass, inputs, output)};
    if (s_.shared > 0 && pass != Pass::backward_weight) kernels.push_back(copies(pass, inputs, output));
    return kernels;
  }
  double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output, double samples) const override {
    // The depth is that of a matrix product [BH18, Table 4].
    if (pass == Pass::forward) return reduction_depth({real(compressed(inputs))});
    if (pass == Pass::backward_data) return reduction_depth({real(made(output))});
    return reduction_depth({real(output.positions()), samples});
  }
  Divisible divisible() const override { return {.matrix = true, .channel_units = s_.heads}; }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }
  /// Returns the operation with the heads of the slice.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Settings settings = s_;
    settings.heads = std::max<std::int64_t>(1, output.channels / channels_of_head());
    // A slice with a share of the input's channels has the same share of the compressed channels and of the shared channels.
    settings.shared = std::min(s_.shared, inputs.front().channels - 1);
    return {.operation = std::make_shared<LatentKeysAndValues>(settings), .inputs = {inputs.begin(), inputs.end()}};
  }
  double macs(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return real(compressed(inputs)) * real(made(output)) * real(output.extent[0]);
  }

 private:
  [[nodiscard]] std::int64_t channels_of_head() const { return s_.key_size + s_.shared + s_.value_size; }
  /// Returns the number of channels that the matrix reads.
  [[nodiscard]] std::int64_t compressed(std::span<const TensorShape> inputs) const {
    return std::max<std::int64_t>(1, inputs.front().channels - s_.shared);
  }
  /// Returns the number of channels that the matrix outputs.
  [[nodiscard]] std::int64_t made(const TensorShape& output) const {
    return output.channels / channels_of_head() * (s_.key_size + s_.value_size);
  }

  [[nodiscard]] Work product(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const {
    const double from = real(compressed(inputs));
    const double to = real(made(output));
    const double tokens = real(output.extent[0]);
    Work work{.flops = 2 * macs(inputs, output),
              .activation_items = (from + to) * tokens,
              .weight_items = from * to + real(biases(inputs, output))};
    if (pass == Pass::forward) {
      work.m = tokens;
      work.n = to;
      work.k = from;
    } else if (pass == Pass::backward_data) {
      work.m = tokens;
      work.n = from;
      work.k = to;
    } else {
      work.m = to;
      work.n = from;
      work.k = tokens;
      work.batched = Work::Batched::k;
    }
    return work;
  }
  /// Returns the kernel that copies. Forward reads the keys from the product and the shared channels, and writes their
  /// concatenation. Backward splits the gradients, and sums the gradients of the shared channels over the heads.
  [[nodiscard]] Work copies(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const {
    if (s_.shared == 0 || pass == Pass::backward_weight) return {};
    const double heads = real(output.channels / channels_of_head());
    const double tokens = real(output.extent[0]);
    const double keys = heads * real(s_.key_size);
    const double shared = heads * real(s_.shared);
    return {.flops = pass == Pass::backward_data ? shared * tokens : 0,
            .activation_items = (2 * keys + shared + real(s_.shared)) * tokens};
  }

  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_latent_keys_and_values(const Attributes& attributes) {
  LatentKeysAndValues::Settings settings;
  settings.heads = attributes.integer("heads");
  settings.key_size = attributes.integer("key_size");
  settings.shared = attributes.find_integer("shared", 0).value_or(0);
  settings.value_size = attributes.integer("value_size");
  settings.bias = attributes.find_boolean("bias").value_or(false);
  return std::make_shared<LatentKeysAndValues>(settings);
}

}  // namespace ddl
