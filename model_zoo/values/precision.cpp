#include "model_zoo/values/precision.hpp"

namespace ddl {

std::string_view to_string(Precision p) {
  switch (p) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::fp8:
      return "fp8";
    case Precision::nvfp4:
      return "nvfp4";
  }
  return "";
}

std::optional<Precision> parse_precision(std::string_view text) {
  for (const Precision p : all_precisions) {
    if (to_string(p) == text) return p;
  }
  return std::nullopt;
}

}  // namespace ddl
