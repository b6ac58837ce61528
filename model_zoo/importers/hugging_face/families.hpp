#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model_zoo/importers/hugging_face/config.hpp"

namespace ddl {

/// A model of a bundled family: the name of the family, the values of the family's parameters in order, and the model's
/// input. The input has the form of a model file, and is set only if it differs from the family's input.
struct FamilyModel {
  std::string_view family;
  std::vector<std::pair<std::string_view, std::string>> parameters{};
  std::string input{};
  std::string_view frozen{};  ///< layers that are not trained, separated by commas

  void set(std::string_view name, std::int64_t value) { parameters.emplace_back(name, fmt::to_string(value)); }
  void set(std::string_view name, std::string_view value) { parameters.emplace_back(name, value); }
  void set_number(std::string_view name, double value) { parameters.emplace_back(name, fmt::format("{}", value)); }
  void set_flag(std::string_view name, bool value) { parameters.emplace_back(name, value ? "yes" : "no"); }
  /// Sets head, tied and labels in the model (HuggingFaceConfig::head_of).
  void set_head(HuggingFaceConfig& config, std::string_view classes, bool tied, std::string_view other_classes = {}) {
    set("head", config.head_of(classes, other_classes));
    set_flag("tied", config.tied(tied));
    set("labels", config.labels());
  }
};

/// Sets the input if the images do not have three channels. The family has a parameter `size`, the size of its images.
void read_channels(HuggingFaceConfig& config, FamilyModel& model);

/// The defaults for configurations of decoders with gated MLPs.
struct DecoderDefaults {
  std::int64_t vocabulary, hidden, feed_forward, layers, heads, kv_heads, tokens;  ///< kv_heads 0: as many as `heads`
  std::int64_t head_size = 0;                                                      ///< 0: the head size is hidden / heads
  std::string_view activation = "silu";
  std::string_view attention = "sdpa";  ///< the library's attention implementation
  bool tied = false;
};
/// Reads the number of key and value heads from `num_key_value_heads`. It has to divide the number of heads.
[[nodiscard]] std::int64_t kv_heads_of(HuggingFaceConfig& config, std::int64_t heads, std::int64_t fallback);
/// Reads the parameters that all families of decoders with gated MLPs have: layers, hidden, heads, kv_heads, head_size,
/// feed_forward, vocabulary, tokens, activation, fused, dropout of attention, head, tied, labels.
[[nodiscard]] FamilyModel read_decoder(HuggingFaceConfig& config, std::string_view family, const DecoderDefaults& defaults,
                                       std::string_view classes, std::string_view other_classes = {});

/// A function that reads a configuration of one `model_type`.
using HuggingFaceReader = FamilyModel(HuggingFaceConfig& config);

/// A type of configuration with its own reader. A new type needs a file with the reader, and a row of the table. Decoders
/// that differ from others only in known parts need no reader, because they are rows of data (DecoderType).
struct HuggingFaceFamily {
  std::string_view model_type;
  HuggingFaceReader* read;
};

}  // namespace ddl
