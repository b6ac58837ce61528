#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/suggest.hpp"
#include "model_zoo/importers/hugging_face/config.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t long_sample = 16384;

/// Names of the object that describes rotary positions, in version 4 and in version 5 of the library.
constexpr std::array<std::string_view, 2> rotary_objects{"rope_scaling", "rope_parameters"};
/// Kinds of layers. In version 5 of the library, each kind of layer may have its own settings of rotary positions.
constexpr std::array<std::string_view, 3> kinds_of_layers{"full_attention", "sliding_attention", "chunked_attention"};

bool is_kind_of_layer(std::string_view key) {
  return std::find(kinds_of_layers.begin(), kinds_of_layers.end(), key) != kinds_of_layers.end();
}

}  // namespace

// Kinds of RoPE scaling and their keys follow modeling_rope_utils.py of transformers 5.24, ROPE_VALIDATION_FUNCTIONS. `su`
// is an older name of `longrope`. `mrope` rotates channels by several positions, and does not scale the length.
std::int64_t HuggingFaceConfig::unstretched(const std::string& path, const Json& object, std::int64_t count) {
  const auto path_to = [&path](std::string_view key) { return fmt::format("{}/{}", path, key); };
  const auto entry = [&object](std::string_view key) -> const Json* {
    const auto said = object.find(key);
    return said == object.end() || said->is_null() ? nullptr : &*said;
  };
  std::string kind = "default";
  for (const std::string_view key : {"type", "rope_type"}) {
    const Json* const said = entry(key);
    if (said == nullptr) continue;
    if (!said->is_string()) fail(path_to(key), fmt::format("'{}' is {}, not text", key, json_kind(*said)));
    kind = said->get<std::string>();
    static constexpr auto known = std::to_array<std::string_view>(
        {"default", "dynamic", "linear", "llama3", "longrope", "mrope", "proportional", "su", "yarn"});
    if (std::find(known.begin(), known.end(), kind) == known.end()) {
      unknown(path_to(key), fmt::format("unknown kind of scaled positions ({}) {}", path, quote(kind)),
              suggest(kind, std::span<const std::string_view>(known)));
      warn(fmt::format("scaled positions of the kind {} are not applied ({})", quote(kind), path));
      return count;
    }
  }
  double factor = 1;
  if (const Json* const said = entry("factor")) {
    if (!said->is_number()) fail(path_to("factor"), fmt::format("'factor' is {}, not a number", json_kind(*said)));
    factor = said->get<double>();
    if (!(factor >= 1)) fail(path_to("factor"), "'factor' is too small: at least 1");
  }
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object()) continue;
    if (is_kind_of_layer(key)) {
      count = unstretched(path_to(key), value, count);
      continue;
    }
    unknown(path_to(key), fmt::format("'{}' is an object: layers with different positions are not supported", key));
    warn(fmt::format("not read: {} of {}", quote(key), quote(path)));
  }
  if (const Json* const original = entry("original_max_position_embeddings"))
    return std::min(count, whole_number(*original, path_to("original_max_position_embeddings"), 1, max_attribute));
  // A model with linear scaling is trained at the scaled length only after training at the original length.
  if (kind != "linear") return count;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(count) / factor));
}

std::int64_t HuggingFaceConfig::tokens(Names names, std::int64_t fallback) {
  std::int64_t count = size(names, fallback);
  for (const std::string_view outer : rotary_objects) {
    std::string_view found;
    const Json* const object = find({outer}, found);
    if (object == nullptr) continue;
    if (!object->is_object()) fail(outer, fmt::format("'{}' is {}, not an object", outer, json_kind(*object)));
    count = unstretched(std::string(outer), *object, count);
  }
  if (count > long_sample && !has_length_) {
    warn(fmt::format("a sample has {} tokens, the model's maximum: set 'tokens' to the training length", count));
  }
  return count;
}

std::int64_t HuggingFaceConfig::turned(Names names, double fallback, std::int64_t head_size) {
  double share = fraction(names, fallback);
  // Since version 5 of the library, the share of rotated channels is stored with the other
  // parameters of rotary positions, possibly separately for each kind of layer.
  const auto take = [&](const Json& object) {
    const auto said = object.find("partial_rotary_factor");
    if (said == object.end() || !said->is_number()) return;
    share = said->get<double>();
    if (!(share >= 0 && share <= 1)) fail("rope_parameters/partial_rotary_factor", "the rotated share is not from 0 to 1");
  };
  if (has_object("rope_parameters")) {
    const Json& object = root_->at("rope_parameters");
    take(object);
    for (const auto& [key, value] : object.items()) {
      if (is_kind_of_layer(key) && value.is_object()) take(value);
    }
  }
  const auto turned = static_cast<std::int64_t>(static_cast<double>(head_size) * share) / 2 * 2;
  if (turned < 2) fail(*names.begin(), fmt::format("of {} channels, none is rotated", head_size));
  return turned;
}

}  // namespace ddl
