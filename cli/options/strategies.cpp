#include "cli/options/strategies.hpp"

#include <bit>

#include <fmt/format.h>

#include "cli/options/option_value.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// Returns the prime factors of `number`, smallest first.
std::vector<std::int64_t> prime_factors(std::int64_t number) {
  std::vector<std::int64_t> factors;
  for (std::int64_t prime = 2; prime * prime <= number; ++prime) {
    for (; number % prime == 0; number /= prime) factors.push_back(prime);
  }
  if (number > 1) factors.push_back(number);
  return factors;
}

/// Returns the names of all strategies, then the aliases, then the hybrids. Messages print only the first dozen names.
std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Axis axis : spoken_axes) names.emplace_back(to_string(axis));
  for (const Axis axis : spoken_axes) {
    for (const AxisAlias& alias : row_of(axis).aliases) {
      if (!alias.word.empty()) names.emplace_back(alias.word);
    }
  }
  for (Family family = 0; family < (Family{1} << axis_count); ++family) {
    if (std::popcount(family) != 1) names.push_back(family_name(family));
  }
  return names;
}

/// A word that frameworks use for a strategy, but that is a plan's choice in this program.
struct ChoiceWord {
  std::string_view word, hint;
};
constexpr std::array<ChoiceWord, 6> choice_words{{
    {"hsdp", "use fsdp and --shard-group 8, the GPUs of a node"},
    {"sp", "sequence parallelism is an option of tensor parallelism: use tensor and --sequence-parallel yes"},
    {"vpp", "virtual stages are an option of pipelines: use pipeline and --virtual-stages 4"},
    {"vp", "virtual stages are an option of pipelines: use pipeline and --virtual-stages 4"},
    {"etp", "expert tensor parallelism is an option, not a strategy: use --expert-tensor whole or split"},
    {"ulysses", "Ulysses is an option of context parallelism: use context and --context-exchange ulysses"},
}};

}  // namespace

bool can_divide(std::int64_t gpus, Family family) {
  const std::size_t axes = static_cast<std::size_t>(std::popcount(family));
  return axes == 0 ? gpus == 1 : prime_factors(gpus).size() >= axes;
}

std::string why_without_plans(std::int64_t gpus, Family family) {
  const int axes = std::popcount(family);
  const std::int64_t least = std::int64_t{1} << axes;
  if (axes == 0) return "is a single device";
  if (gpus < least) return fmt::format("needs at least {}", count_text(least, "device"));
  return fmt::format("{} is not a product of {} degrees above 1", count_text(gpus, "device"), axes);
}

std::string example_degrees(Family family, std::int64_t gpus) {
  std::vector<std::int64_t> factors = prime_factors(gpus);
  if (!can_divide(gpus, family)) factors.assign(static_cast<std::size_t>(std::popcount(family)), 2);
  // The last axis gets the remaining factors. Data parallelism scales furthest, so data is the last
  // axis, if the family has it.
  std::string text;
  std::size_t taken = 0;
  std::vector<Axis> axes;
  for (const Axis axis :
       {Axis::spatial, Axis::context, Axis::tensor, Axis::channel, Axis::filter, Axis::expert, Axis::pipeline, Axis::data}) {
    if ((family & family_bit(axis)) != 0) axes.push_back(axis);
  }
  for (const Axis axis : axes) {
    std::int64_t value = factors[taken++];
    if (axis == axes.back()) {
      while (taken < factors.size()) value *= factors[taken++];
    }
    const std::string part = fmt::format("{}={}", to_string(axis), value);
    if (!text.empty()) text.insert(axis == Axis::data ? 0 : text.size(), ",");
    text.insert(axis == Axis::data ? 0 : text.size(), part);
  }
  return text;
}

std::string suggest_family(const std::string& text) {
  if (text.find(',') != std::string::npos)
    return "the name of a hybrid has plus signs: data+spatial; without --degrees, --strategy data,spatial compares "
           "strategies";
  for (const std::string_view word : split(text, "+")) {
    const auto* const known = find_where(choice_words, [&](const ChoiceWord& each) { return each.word == word; });
    if (known != nullptr) return std::string(known->hint);
  }
  const std::vector<std::string> known = family_names();
  return suggest(text, std::vector<std::string>(known.begin(), known.end()));
}

NamedFamily parse_named_family(const std::string& text) {
  const std::optional<Family> family = parse_family(text);
  if (!family) throw Error(fmt::format("unknown strategy {}", quote(text)), suggest_family(text));
  return {*family, zero_stage_in(text)};
}

std::vector<NamedFamily> parse_families(const std::string& text) {
  std::vector<NamedFamily> families;
  if (text.empty()) return families;
  for (const std::string& name : comma_separated(text)) families.push_back(parse_named_family(name));
  return families;
}

void refuse_sharding_in_ideal(int zero_stage) {
  if (zero_stage > 0) throw Error("--ideal does not support fsdp (optimizer sharding)", "use data instead of fsdp");
}

}  // namespace ddl
