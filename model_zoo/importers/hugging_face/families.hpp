#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/config.hpp"

namespace ddl {

/// A model of one of our families: the family's name, the values of its parameters in order, and where the family has
/// another the input as a model file says it.
struct FamilyModel {
  std::string_view family;
  std::vector<std::pair<std::string_view, std::string>> parameters{};
  std::string input{};

  void set(std::string_view name, std::int64_t value) { parameters.emplace_back(name, fmt::to_string(value)); }
  void set(std::string_view name, std::string_view value) { parameters.emplace_back(name, value); }
  void set_number(std::string_view name, double value) { parameters.emplace_back(name, fmt::format("{}", value)); }
  void set_flag(std::string_view name, bool value) { parameters.emplace_back(name, value ? "yes" : "no"); }
};

/// What the configurations of decoders with gated perceptrons leave out.
struct DecoderDefaults {
  std::int64_t vocabulary, hidden, feed_forward, layers, heads, kv_heads, tokens;  ///< kv_heads 0: as many as heads
  std::int64_t head_size = 0;                                                      ///< 0: hidden / heads
  std::string_view activation = "silu";
  std::string_view attention = "sdpa";  ///< the library's implementation
  bool tied = false;
};
/// As many key and value heads as `num_key_value_heads` says, among which the heads divide.
[[nodiscard]] std::int64_t kv_heads_of(HuggingFaceConfig& config, std::int64_t heads, std::int64_t fallback);
/// The parameters that the families of such decoders share: layers, hidden, heads, kv_heads, head_size, feed_forward,
/// vocabulary, tokens, activation, fused, dropout of attention, head, tied, labels.
[[nodiscard]] FamilyModel read_decoder(HuggingFaceConfig& config, std::string_view family, const DecoderDefaults& defaults,
                                       HuggingFaceConfig::Architectures architectures);

/// Reads a configuration of one `model_type`.
using HuggingFaceReader = FamilyModel(HuggingFaceConfig& config);

/// One kind of configuration. A new one is one file that defines its reader, and one row of the table.
struct HuggingFaceFamily {
  std::string_view model_type;
  HuggingFaceReader* read;
  std::string_view version = "4.46";  ///< of the library, whose defaults are those of keys that are left out
};
[[nodiscard]] std::span<const HuggingFaceFamily> hugging_face_families();

}  // namespace ddl
