#pragma once

#include <algorithm>
#include <string>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/importers/hugging_face/hugging_face.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace ddl {

inline Model model_of_text(const std::string& text) {
  return parse_model(import_hugging_face(text, "config.json").model_file, "config.yaml");
}
inline std::string refusal_of(const std::string& text) {
  return error_of([&] { static_cast<void>(import_hugging_face(text, "config.json")); });
}

inline const Layer& layer_of(const Model& model, const std::string& name) {
  const auto found =
      std::find_if(model.layers.begin(), model.layers.end(), [&](const Layer& layer) { return layer.name == name; });
  INFO(name);
  REQUIRE(found != model.layers.end());
  return *found;
}

inline bool has_line(const Import& import, const std::string& line) {
  return import.model_file.find("\n  " + line + "\n") != std::string::npos;
}

}  // namespace ddl
