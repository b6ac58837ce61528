#include "estimator/plan/axis.hpp"

#include <algorithm>

namespace ddl {

namespace {

const AxisAlias* alias_in(const AxisRow& row, std::string_view word) {
  const auto found =
      std::find_if(row.aliases.begin(), row.aliases.end(), [&](const AxisAlias& each) { return each.word == word; });
  return found != row.aliases.end() ? &*found : nullptr;
}

}  // namespace

std::optional<Axis> parse_axis(std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (const AxisRow& row : axis_table) {
    if (row.name == text || alias_in(row, text) != nullptr) return row.axis;
  }
  return std::nullopt;
}

std::vector<std::string_view> axis_names() {
  std::vector<std::string_view> names;
  for (const AxisRow& row : axis_table) names.push_back(row.name);
  return names;
}

std::string family_name(Family family) {
  if (family == 0) return "serial";
  std::string name;
  for (const Axis axis : spoken_axes) {
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

std::optional<int> zero_stage_in(std::string_view family) {
  std::optional<int> stage;
  for (std::size_t start = 0; start <= family.size();) {
    const std::size_t end = std::min(family.find('+', start), family.size());
    const std::string_view word = family.substr(start, end - start);
    for (const AxisRow& row : axis_table) {
      const AxisAlias* alias = word.empty() ? nullptr : alias_in(row, word);
      if (alias != nullptr) stage = std::max(stage, alias->zero_stage);  // an unset optional compares as less than 0
    }
    start = end + 1;
  }
  return stage;
}

}  // namespace ddl
