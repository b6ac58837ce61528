#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "calibration/inputs/study.hpp"

namespace ddl {

/// Whether torchvision builds the model under the same name: with as many parameters, and for classification.
[[nodiscard]] bool is_torchvision_model(const Study& study);

/// A model as Hugging Face's transformers builds it.
struct HuggingFaceNetwork {
  std::string model_type;              ///< as AutoConfig.for_model takes it: `llama`
  nlohmann::ordered_json config;       ///< keys of its configuration
  bool is_masked = false;              ///< trained on masked words; else on the next one
  bool has_llama_projections = false;  ///< q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj in each layer
};
/// Nothing where the library has no such model, or it has no place in this table.
[[nodiscard]] std::optional<HuggingFaceNetwork> hugging_face_network(const Model& model);

/// A parameter of the model's family as a number: 0 where it has none of that name or it is no number.
[[nodiscard]] std::int64_t family_number(const Model& model, std::string_view name);
/// Whether a parameter of the model's family is `yes`.
[[nodiscard]] bool family_flag(const Model& model, std::string_view name);

}  // namespace ddl
