#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "calibration/inputs/study.hpp"

namespace ddl {

/// Returns whether torchvision has a classification model with the same name and the same number of parameters.
[[nodiscard]] bool is_torchvision_model(const Study& study);

/// A model in Hugging Face's transformers.
struct HuggingFaceNetwork {
  std::string model_type;              ///< for AutoConfig.for_model: `llama`
  nlohmann::ordered_json config;       ///< keys of the model's configuration
  bool is_masked = false;              ///< yes: trained to predict masked tokens; no: the next token
  bool has_llama_projections = false;  ///< q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj in each layer
};
/// Returns the model in transformers; empty if transformers does not have the model, or if this program does not know it.
[[nodiscard]] std::optional<HuggingFaceNetwork> hugging_face_network(const Model& model);

/// Returns a parameter of the model's family as a number: 0 if there is no such parameter, or if it is not a number.
[[nodiscard]] std::int64_t family_number(const Model& model, std::string_view name);
/// Returns whether a parameter of the model's family is `yes`.
[[nodiscard]] bool family_flag(const Model& model, std::string_view name);

}  // namespace ddl
