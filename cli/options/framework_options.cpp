#include "cli/options/framework_options.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/manual/synonyms.hpp"
#include "core/suggest.hpp"
#include "estimator/plan/axis.hpp"

namespace ddl {

namespace {

/// Returns the axis in the name of an option of a framework: tensor for `tensor-model-parallel-size`.
std::optional<Axis> axis_in(std::string_view word) {
  for (const std::string_view ending : {"-size", "-degree", "-dim"}) {
    if (word.ends_with(ending)) word.remove_suffix(ending.size());
  }
  for (const std::string_view ending : {"-model-parallel", "-parallelism", "-parallel"}) {
    if (word.ends_with(ending)) word.remove_suffix(ending.size());
  }
  return parse_axis(word);
}

/// The options that other tools have for a number format.
constexpr std::array<std::string_view, 6> number_formats{"fp32", "tf32", "fp16", "bf16", "fp8", "nvfp4"};

}  // namespace

std::string framework_option_hint(const CLI::App& command, std::string_view option) {
  const auto has = [&](std::string_view name) { return command.get_option_no_throw(std::string(name)) != nullptr; };
  const std::string plain = plain_word(option);
  const auto known = std::find_if(synonyms().begin(), synonyms().end(), [&](const Synonym& each) {
    return each.word == plain && has("--" + std::string(each.option));
  });
  if (option.starts_with("--") && known != synonyms().end()) return std::string(known->hint);
  if (has("--precision") && std::ranges::find(number_formats, plain) != number_formats.end())
    return fmt::format("write --precision {}", plain);
  // `--data` is probably an abbreviation of --dataset, not a degree.
  if (!option.starts_with("--") || option == "--data" || !has("--degrees")) return {};
  const std::optional<Axis> axis = axis_in(plain);
  if (!axis) return {};
  if (zero_stage_in(plain)) return fmt::format("write --strategy {}", plain);
  const std::string plan = *axis == Axis::data ? "data=64" : fmt::format("data=8,{}=8", to_string(*axis));
  return fmt::format("write the degrees of the whole plan, as in --degrees {}", plan);
}

std::string near_synonym_hint(const CLI::App& command, std::string_view option) {
  constexpr std::size_t least_part = 4;
  const std::string typed = plain_word(option);
  std::vector<std::string_view> words, parts;
  for (const Synonym& each : synonyms()) {
    if (command.get_option_no_throw("--" + std::string(each.option)) == nullptr) continue;
    words.push_back(each.word);
    const bool is_part = typed.size() >= least_part && each.word.find(typed) != std::string_view::npos;
    const bool has_part = each.word.size() >= least_part && typed.find(each.word) != std::string::npos;
    if (is_part || has_part) parts.push_back(each.word);
  }
  std::optional<std::string> near = nearest(typed, words);
  if (!near && !parts.empty()) near = std::string(parts.front());
  return near ? framework_option_hint(command, "--" + *near) : std::string();
}

}  // namespace ddl
