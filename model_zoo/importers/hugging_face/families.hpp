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

/// Reads a configuration of one `model_type`.
using HuggingFaceReader = FamilyModel(HuggingFaceConfig& config);

/// One kind of configuration. A new one is one file that defines its reader, and one row of the table.
struct HuggingFaceFamily {
  std::string_view model_type;
  HuggingFaceReader* read;
};
[[nodiscard]] std::span<const HuggingFaceFamily> hugging_face_families();

}  // namespace ddl
