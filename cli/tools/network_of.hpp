#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "calibration/inputs/study.hpp"

namespace ddl {

/// Returns whether torchvision has a classification model with the same name and the same number of parameters.
[[nodiscard]] bool is_torchvision_model(const Study& study);

/// A model in Hugging Face's transformers.
struct HuggingFaceNetwork {
  std::string model_type;              ///< argument of AutoConfig.for_model: `llama`
  nlohmann::ordered_json config;       ///< keys of the model's configuration
  bool is_masked = false;              ///< whether training predicts masked tokens; false: the next token
  bool has_llama_projections = false;  ///< q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj per layer
};
/// Returns the model in Hugging Face's transformers. Empty if transformers does not have the model,
/// or if this program does not know the model's name in transformers.
[[nodiscard]] std::optional<HuggingFaceNetwork> hugging_face_network(const Model& model);

/// Returns a parameter of the model's family as a number; 0 if the parameter is missing or is not a number.
[[nodiscard]] std::int64_t family_number(const Model& model, std::string_view name);
/// Returns whether a parameter of the model's family is `yes`.
[[nodiscard]] bool family_flag(const Model& model, std::string_view name);

}  // namespace ddl
