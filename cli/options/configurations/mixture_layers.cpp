#include "cli/options/configurations/mixture_layers.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/words.hpp"

namespace ddl {
namespace {

/// Appends the items of a list, such as `[0,1]` or `0 1`, `times` times. Returns false if an item is neither 0 nor 1, or if
/// there are more than `most` items.
bool append_items(std::string_view list, std::int64_t times, std::size_t most, std::vector<bool>& all) {
  std::vector<bool> items;
  for (const char c : trimmed(list, "[]() ")) {
    if (c == '0' || c == '1') items.push_back(c == '1');
    if (c != '0' && c != '1' && c != ',' && c != ' ') return false;
  }
  if (items.empty() || times < 0 || static_cast<std::size_t>(times) > most) return false;
  if (all.size() + items.size() * static_cast<std::size_t>(times) > most) return false;
  for (std::int64_t i = 0; i < times; ++i) all.insert(all.end(), items.begin(), items.end());
  return true;
}

}  // namespace

std::optional<std::vector<bool>> layers_with_experts(std::string_view text, std::int64_t layers) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(layers, 0));
  std::vector<bool> all;
  if (const auto each = number_in(text)) {
    // In MindSpeed, -1 gives experts to all layers [Ascend/MindSpeed-LLM, docs of --moe-layer-freq].
    if (*each == 0 || *each < -1) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) all.push_back(*each < 0 || i % static_cast<std::size_t>(*each) == 0);
    return all;
  }
  for (std::string_view rest = trimmed(text, "() "); !rest.empty();) {
    const std::size_t plus = rest.find('+');
    const std::string_view term = rest.substr(0, plus);
    rest = plus == std::string_view::npos ? std::string_view() : rest.substr(plus + 1);
    const std::size_t star = term.find('*');
    std::string_view list = term.substr(0, star);
    std::int64_t times = 1;
    if (star != std::string_view::npos) {
      std::string_view factor = trimmed(term.substr(star + 1), " ()");
      if (factor.starts_with('[')) std::swap(list, factor);
      const auto repeated = number_in(trimmed(factor, " ()"));
      if (!repeated) return std::nullopt;
      times = *repeated;
    }
    if (!append_items(list, times, count, all)) return std::nullopt;
  }
  if (all.size() != count) return std::nullopt;
  return all;
}

std::string pattern_of_layers(const std::vector<bool>& with_experts, char dense, char mixture) {
  std::string pattern;
  for (auto run = with_experts.begin(); run != with_experts.end();) {
    const auto end = std::find(run, with_experts.end(), !*run);
    const char letter = *run ? mixture : dense;
    pattern += end - run == 1 ? std::string(1, letter) : fmt::format("({}){}", letter, end - run);
    run = end;
  }
  return pattern;
}

}  // namespace ddl
