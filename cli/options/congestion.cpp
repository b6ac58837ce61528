#include "cli/options/congestion.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "core/statistics.hpp"

namespace ddl {
namespace {

// Below the half nothing is slowed down; the slowest repetition of a thousand is nothing that measurements know.
constexpr double least_percent = 50, most_percent = 99.9;

}  // namespace

std::optional<double> parse_congestion(std::string_view text) {
  double percent = 0;
  const char* const end = text.data() + text.size();
  const bool begins_well = text.size() > 1 && text.front() == 'p';
  const auto [stop, problem] = std::from_chars(text.data() + (begins_well ? 1 : 0), end, percent);
  const bool is_share = percent >= least_percent && percent <= most_percent;
  if (!begins_well || problem != std::errc{} || stop != end || !is_share) return std::nullopt;
  return percent;
}

std::string print_congestion(double percent) { return fmt::format("p{}", percent); }

std::string congestion_problem(std::string_view text) {
  return fmt::format("{} is none of p{} to p{}", quote(text), least_percent, most_percent);
}

double congestion_quantile(double percent) { return std::max(0.0, normal_quantile(percent / 100)); }

double congestion_percent(double quantile) {
  const double percent = std::strtod(fmt::format("{:.10g}", 100 * normal_share(quantile)).c_str(), nullptr);
  return std::clamp(percent, least_percent, most_percent);
}

}  // namespace ddl
