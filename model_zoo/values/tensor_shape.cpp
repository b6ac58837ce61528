#include "model_zoo/values/tensor_shape.hpp"

#include <fmt/format.h>

namespace ddl {

std::string to_string(const TensorShape& shape) {
  if (shape.sequence) return fmt::format("{} over {} tokens", shape.channels, shape.extent[0]);
  std::string text = fmt::format("{}", shape.channels);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.rank); ++i) text += fmt::format("×{}", shape.extent[i]);
  return text;
}

}  // namespace ddl
