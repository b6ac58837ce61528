#include "estimator/plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ddl {
namespace {

constexpr std::array<std::string_view, axis_count> axis_names{"tensor", "channel", "filter", "spatial", "data", "layer"};
/// The order in which people name the parts of a hybrid: the batch first.
constexpr std::array<Axis, axis_count> spoken_order{Axis::data,   Axis::spatial, Axis::layer,
                                                    Axis::filter, Axis::channel, Axis::tensor};

template <class Enum, std::size_t N>
std::optional<Enum> parse_enum(std::string_view text, const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

constexpr std::array<std::string_view, 2> recompute_names{"none", "full"};

}  // namespace

std::string_view to_string(Axis axis) { return axis_names[static_cast<std::size_t>(axis)]; }
std::optional<Axis> parse_axis(std::string_view text) {
  if (text == "hmodel") return Axis::tensor;
  return parse_enum<Axis>(text, axis_names);
}
std::string_view to_string(Recompute recompute) { return recompute_names[static_cast<std::size_t>(recompute)]; }
std::optional<Recompute> parse_recompute(std::string_view text) { return parse_enum<Recompute>(text, recompute_names); }

int degree(const Plan& plan, Axis axis) {
  switch (axis) {
    case Axis::tensor:
      return plan.tensor;
    case Axis::channel:
      return plan.channel;
    case Axis::filter:
      return plan.filter;
    case Axis::spatial:
      return plan.spatial[0] * plan.spatial[1] * plan.spatial[2];
    case Axis::data:
      return plan.data;
    case Axis::layer:
      return plan.layer;
  }
  return 1;
}

std::int64_t devices(const Plan& plan) {
  std::int64_t product = 1;
  for (const Axis axis : all_axes) product *= degree(plan, axis);
  return product;
}

double samples_per_micro_batch(const Plan& plan) {
  const std::int64_t parts = static_cast<std::int64_t>(plan.data) * plan.micro_batches;
  const std::int64_t largest = (plan.global_batch + parts - 1) / parts;
  return static_cast<double>(largest);
}

Family family_of(const Plan& plan) {
  Family family = 0;
  for (const Axis axis : all_axes) {
    if (degree(plan, axis) > 1) family |= family_bit(axis);
  }
  return family;
}

std::string family_name(Family family) {
  if (family == 0) return "serial";
  std::string name;
  for (const Axis axis : spoken_order) {
    if ((family & family_bit(axis)) == 0) continue;
    if (!name.empty()) name += '+';
    name += to_string(axis);
  }
  return name;
}

std::optional<Family> parse_family(std::string_view text) {
  if (text == "serial") return Family{0};
  Family family = 0;
  while (true) {
    const std::size_t plus = text.find('+');
    const std::optional<Axis> axis = parse_axis(text.substr(0, plus));
    if (!axis || (family & family_bit(*axis)) != 0) return std::nullopt;
    family |= family_bit(*axis);
    if (plus == std::string_view::npos) return family;
    text.remove_prefix(plus + 1);
  }
}

std::string degrees_text(const Plan& plan) {
  std::string text;
  for (const Axis axis : spoken_order) {
    if (degree(plan, axis) == 1) continue;
    if (!text.empty()) text += ' ';
    if (axis == Axis::spatial) {
      text += fmt::format("spatial={}x{}", plan.spatial[0], plan.spatial[1]);
      if (plan.spatial[2] > 1) text += fmt::format("x{}", plan.spatial[2]);
    } else {
      text += fmt::format("{}={}", to_string(axis), degree(plan, axis));
    }
  }
  return text.empty() ? "1 device" : text;
}

std::string placement_text(const Plan& plan) {
  std::string text;
  for (const Axis axis : plan.placement) {
    if (degree(plan, axis) == 1) continue;
    if (!text.empty()) text += ',';
    text += to_string(axis);
  }
  return text;
}

}  // namespace ddl
