#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/quantity.hpp"

namespace ddl {

/// Number format of activations and of the matrix operations. fp16 and bf16 mean mixed precision: fp32 master weights.
enum class Precision { fp32, tf32, fp16, bf16 };

inline constexpr std::array<Precision, 4> all_precisions{Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};

/// δ of the literature: bytes per item of an activation.
[[nodiscard]] constexpr double item_bytes(Precision p) { return p == Precision::fp32 || p == Precision::tf32 ? 4.0 : 2.0; }
[[nodiscard]] constexpr bool is_mixed(Precision p) { return item_bytes(p) < 4.0; }
[[nodiscard]] std::string_view to_string(Precision p);
[[nodiscard]] std::optional<Precision> parse_precision(std::string_view text);

}  // namespace ddl
