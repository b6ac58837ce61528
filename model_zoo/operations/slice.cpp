#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Selects a range of the channels, or of the tokens. In forward, the result is a view.
class Slice final : public Operation {
 public:
  struct Settings {
    std::int64_t first = 0;
    std::int64_t channels = 0;  ///< 0: all channels
    std::int64_t tokens = 0;    ///< 0: all tokens
    bool sequence = false;
  };
  explicit Slice(const Settings& settings) : s_(settings) {}

  std::string_view type() const override { return "slice"; }
  bool keeps_storage() const override { return true; }
  AttributeValues attribute_values() const override {
    if (s_.tokens > 0) return {{"first", s_.first}, {"tokens", s_.tokens}};
    return {{"first", s_.first}, {"channels", s_.channels}};
  }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (s_.tokens > 0 && !output.sequence) throw Error(fmt::format("no tokens in {}", to_string(output)));
    std::int64_t& kept = s_.tokens > 0 ? output.extent[0] : output.channels;
    const std::int64_t count = s_.tokens > 0 ? s_.tokens : s_.channels;
    if (s_.first + count > kept) {
      throw Error(fmt::format("no {} {} to {} in {}, which has {}", s_.tokens > 0 ? "tokens" : "channels", s_.first,
                              s_.first + count - 1, to_string(output), kept),
                  fmt::format("the first {} is number 0", s_.tokens > 0 ? "token" : "channel"));
    }
    kept = count;
    return output;
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    // Backward also writes the gradient of all other channels or tokens, which is zero until the gradients of other slices
    // are added.
    if (pass == Pass::backward_data) return {.activation_items = items(inputs.front()) + items(output)};
    return {};
  }
  /// Channels are not split, because a rank with a slice of the input's channels could lack the output channels that it
  /// needs. With `tokens`, each rank has a shard of all channels.
  Divisible divisible() const override {
    if (s_.tokens > 0) return {.channelwise = true, .tokens = true};
    return {.spatial = !s_.sequence, .tokens = s_.sequence};
  }
  /// A rank with a shard of the tokens has a shard of the tokens before the range, and of the range.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    Local local{.operation = nullptr, .inputs = {inputs.begin(), inputs.end()}};
    if (s_.tokens == 0 || output.extent[0] == s_.tokens) return local;
    Settings settings = s_;
    settings.tokens = output.extent[0];
    settings.first = s_.first * output.extent[0] / s_.tokens;
    local.operation = std::make_shared<Slice>(settings);
    return local;
  }

 private:
  Settings s_;
};

}  // namespace

std::shared_ptr<const Operation> read_slice(const Attributes& attributes) {
  Slice::Settings settings{.first = attributes.find_integer("first", 0).value_or(0),
                           .sequence = attributes.input().sequence};
  if (attributes.has("channels") && attributes.has("tokens"))
    attributes.fail("tokens", "'channels' and 'tokens' exclude each other");
  if (attributes.has("tokens")) {
    settings.tokens = attributes.integer("tokens");
  } else {
    settings.channels = attributes.integer("channels");
  }
  return std::make_shared<Slice>(settings);
}

}  // namespace ddl
