#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddl {

/// What --congestion takes, and `congestion` of a job: `p95`, the share of repetitions that take no longer, in percent, from
/// 50 to 99.9. Nothing for any other text.
[[nodiscard]] std::optional<double> parse_congestion(std::string_view text);
/// Text that parse_congestion reads back to the same.
[[nodiscard]] std::string print_congestion(double percent);
/// What is wrong with a text that is none, and what to write.
[[nodiscard]] std::string congestion_problem(std::string_view text);
inline constexpr const char* congestion_hint = "p95: only one repetition of 20 takes longer";

/// That share in standard deviations above the median, as Assumptions has it, and back to ten digits.
[[nodiscard]] double congestion_quantile(double percent);
[[nodiscard]] double congestion_percent(double quantile);

}  // namespace ddl
