#include "model_zoo/operations/sample_shape.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/operations/attributes.hpp"
#include "model_zoo/operations/shape_rules.hpp"

namespace ddl {

TensorShape read_sample_shape(const YamlNode& node, const Parameters& parameters) {
  node.only_keys({"channels", "size", "tokens", "features"});
  const auto integer = [&](std::string_view key) -> std::optional<std::int64_t> {
    const auto found = node.find(key);
    if (!found) return std::nullopt;
    return integer_at(*found, parameters, std::nullopt, 1, max_attribute);
  };
  const auto size = node.find("size");
  const auto tokens = integer("tokens");
  const auto features = integer("features");
  if ((size ? 1 : 0) + (tokens ? 1 : 0) + (features ? 1 : 0) != 1) {
    node.fail("the shape of a sample is not clear", "write {channels: 3, size: 224x224}, {tokens: 1024} or {features: 100}");
  }
  TensorShape shape{.channels = integer("channels").value_or(1)};
  if (features) {
    if (node.find("channels")) node.at("channels").fail("'channels' and 'features' exclude each other");
    shape.channels = *features;
  } else if (tokens) {
    shape.extent[0] = *tokens;
    shape.rank = 1;
    shape.sequence = true;
  } else if (size) {
    static_cast<void>(node.at("channels"));
    const std::string text = evaluate_at(*size, parameters, std::nullopt).text;
    const auto extents = parse_extents(text);
    if (!extents) size->fail(fmt::format("{} is not a size", quote(text)), "write one number for each dimension: 224x224");
    shape.extent = extents->size;
    shape.rank = extents->rank;
  }
  try {
    return checked(shape);
  } catch (const Error&) {
    node.fail(fmt::format("a sample of {} is not possible", to_string(shape)));
  }
}

}  // namespace ddl
