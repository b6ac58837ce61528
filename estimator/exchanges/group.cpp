#include "estimator/exchanges/group.hpp"

#include <algorithm>

namespace ddl {

Group group_of(const Plan& plan, const Machine& machine, Family axes) {
  Group group;
  std::array<Group::Digit, axis_count>& digits = group.digits;
  std::size_t& count = group.digit_count;
  double stride = 1;
  const auto add = [&](double size, double apart) {
    if (size <= 1) return;
    digits[count++] = {size, apart};
    group.ranks *= size;
  };
  for (const Axis axis : plan.placement) {
    const double size = plan.mesh[axis];
    const double in_group = static_cast<double>(axes >> shard_group_shift);
    if ((axes & family_bit(axis)) != 0) add(size, stride);
    if (axis == Axis::data && (axes & in_shard_group) != 0) add(in_group, stride);
    if (axis == Axis::data && (axes & across_shard_groups) != 0) add(size / in_group, stride * in_group);
    stride *= size;
  }
  const double all = stride;
  group.all = all;

  double unit = 1;
  const std::size_t levels = std::min(machine.levels.size(), Group::max_levels);
  group.outermost = levels == 0 ? 0 : levels - 1;
  bool met = false;
  for (std::size_t level = 0; level < levels; ++level) {
    unit *= machine.levels[level].units;
    // The last level is assumed to hold as many devices as the plan needs. The limits of a plan
    // report a machine that is too small.
    const double held = level + 1 == levels ? all : std::min(unit, all);
    double members = 1;
    for (std::size_t i = 0; i < count; ++i) members *= std::clamp(held / digits[i].stride, 1.0, digits[i].size);
    group.members[level] = std::min(members, group.ranks);
    group.flows[level] = held / group.members[level];
    if (!met && group.members[level] >= group.ranks) {
      group.outermost = level;
      met = true;
    }
  }
  if (levels == 0) {
    group.members[0] = group.ranks;
    group.flows[0] = all / group.ranks;
  }
  return group;
}

}  // namespace ddl
