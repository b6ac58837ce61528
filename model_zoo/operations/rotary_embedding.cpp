#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// Rotates each pair of channels of the queries and keys by an angle proportional to the token's position [Su21]. The
/// operation reads concatenated queries, keys and values, like attention, and leaves values unchanged. If there are no key
/// and value heads, it reads only queries or only keys. It has no trained parameters. Backward applies the inverse rotation.
class RotaryEmbedding final : public Operation {
 public:
  RotaryEmbedding(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_size, std::int64_t turned)
      : heads_(heads), kv_heads_(kv_heads), head_size_(head_size), turned_(turned) {}

  std::string_view type() const override { return "rotary_embedding"; }
  std::string_view short_name() const override { return "rotary"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"heads", heads_}};
    if (kv_heads_ != heads_) values.add("kv_heads", kv_heads_);
    if (turned_ != head_size_) values.add("turned", turned_);
    return values;
  }
  AttributeValues lasting_values() const override { return {{"head_size", head_size_}, {"turned", turned_}}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    const TensorShape& input = only_input(inputs, type());
    if (!input.sequence) throw Error(fmt::format("rotary_embedding needs a sequence, not {}", to_string(input)));
    return input;
  }
  Work work(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    if (pass != Pass::forward && pass != Pass::backward_data) return {};
    // Each rotated element needs two products and a sum, and is read and written.
    const double heads = items(output) / real((heads_ + 2 * kv_heads_) * head_size_) * real(heads_ + kv_heads_);
    const double turned = heads * real(turned_);
    return {.flops = 3 * turned, .activation_items = 2 * turned};
  }
  Divisible divisible() const override {
    return {.channelwise = true, .tokens = true, .channel_units = kv_heads_ > 0 ? kv_heads_ : heads_};
  }
  /// Returns the operation for the heads of a slice. The slice's share of the query heads equals
  /// its share of the key and value heads.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    const std::int64_t whole = (heads_ + 2 * kv_heads_) * head_size_;
    const auto part = [&](std::int64_t heads) {
      return std::max<std::int64_t>(heads > 0 ? 1 : 0, heads * output.channels / whole);
    };
    return {.operation = std::make_shared<RotaryEmbedding>(part(heads_), part(kv_heads_), head_size_, turned_),
            .inputs = {inputs.begin(), inputs.end()}};
  }

 private:
  std::int64_t heads_, kv_heads_, head_size_, turned_;
};

}  // namespace

std::shared_ptr<const Operation> read_rotary_embedding(const Attributes& attributes) {
  const std::int64_t heads = attributes.integer("heads");
  const std::int64_t kv_heads = attributes.find_integer("kv_heads", 0).value_or(heads);
  const std::int64_t channels = attributes.input().channels;
  if (channels % (heads + 2 * kv_heads) != 0) {
    attributes.fail("heads",
                    fmt::format("the {} channels of the input do not divide into {} query and 2 × {} key and value heads",
                                channels, heads, kv_heads));
  }
  const std::int64_t head_size = channels / (heads + 2 * kv_heads);
  const std::int64_t turned = attributes.find_integer("turned").value_or(head_size);
  if (turned > head_size || turned % 2 != 0) {
    attributes.fail(
        "turned",
        fmt::format("heads of {} channels cannot have {} rotated channels: an even number up to the head size is needed",
                    head_size, turned));
  }
  return std::make_shared<RotaryEmbedding>(heads, kv_heads, head_size, turned);
}

}  // namespace ddl
