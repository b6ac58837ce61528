#include "estimator/exchanges/group.hpp"

#include <algorithm>
#include <vector>

#include "tests/catch.hpp"
#include "tests/property/random_plans.hpp"

namespace group_tests {

namespace {

using namespace ddl;

Machine random_machine(Random& random) {
  Machine machine;
  const int levels = random.whole(1, 4);
  for (int level = 0; level < levels; ++level) {
    machine.levels.push_back({"level", 1 << random.whole(0, 4), Seconds(1e-6), Bandwidth(1e9), 1});
  }
  machine.levels.back().units = 1 << 20;  // large enough for any plan here
  return machine;
}

Family random_axes(Random& random) { return static_cast<Family>(random.whole(0, (1 << axis_count) - 1)); }

TEST_CASE("a group has the ranks of its axes, with at least as many in wider units, and all in the widest unit") {
  Random random(7);
  for (int i = 0; i < 5000; ++i) {
    const Machine machine = random_machine(random);
    const Plan plan = random_plan(random, random.of(std::vector{1, 2, 6, 8, 12, 30, 64, 96, 360}), true);
    const Family axes = random_axes(random);
    const Group group = group_of(plan, machine, axes);
    INFO(text_of(plan) << ", axes " << axes);
    double ranks = 1;
    for (const Axis axis : all_axes) {
      if ((axes & family_bit(axis)) != 0) ranks *= plan.mesh[axis];
    }
    REQUIRE(group.ranks == ranks);
    double unit = 1;
    double before = 1;
    for (std::size_t level = 0; level < machine.levels.size(); ++level) {
      unit *= machine.levels[level].units;
      const double held = std::min(unit, static_cast<double>(plan.mesh.devices()));
      REQUIRE(group.members[level] >= before);
      REQUIRE(group.members[level] <= ranks);
      // Every rank of a unit belongs to one of the groups.
      REQUIRE(group.members[level] * group.flows[level] == Approx(held).epsilon(1e-12));
      REQUIRE((level < group.outermost) == (group.members[level] < ranks));
      before = group.members[level];
    }
    REQUIRE(group.members[group.outermost] == ranks);
    REQUIRE(group.nodes() == ranks / group.members[0]);
  }
}

// Ranks are numbered by the digits of the placement, with the first axis fastest. The ranks of a
// group share all digits except those of the group's axes. Consecutive ranks share a unit. All
// sizes are powers of two, so that units contain whole groups or equal parts of groups.
TEST_CASE("members and flows equal those from counting ranks one by one") {
  Random random(8);
  for (int i = 0; i < 300; ++i) {
    const Machine machine = random_machine(random);
    const Plan plan = random_plan(random, 1 << random.whole(0, 8), true);
    const Family axes = random_axes(random);
    const Group group = group_of(plan, machine, axes);
    INFO(text_of(plan) << ", axes " << axes);
    // Contains, for each rank, the number of its group, which are the rank's digits outside of the group's axes.
    std::vector<std::int64_t> group_of_rank;
    for (std::int64_t rank = 0; rank < plan.mesh.devices(); ++rank) {
      std::int64_t left = rank;
      std::int64_t number = 0;
      for (const Axis axis : plan.placement) {
        const std::int64_t size = plan.mesh[axis];
        number = number * size + ((axes & family_bit(axis)) != 0 ? 0 : left % size);
        left /= size;
      }
      group_of_rank.push_back(number);
    }
    std::int64_t unit = 1;
    for (std::size_t level = 0; level < machine.levels.size(); ++level) {
      unit *= machine.levels[level].units;
      std::map<std::int64_t, int> in_first_unit;
      for (std::int64_t rank = 0; rank < std::min(unit, plan.mesh.devices()); ++rank) {
        ++in_first_unit[group_of_rank[static_cast<std::size_t>(rank)]];
      }
      REQUIRE(group.flows[level] == static_cast<double>(in_first_unit.size()));
      REQUIRE(group.members[level] == in_first_unit.begin()->second);
    }
  }
}

TEST_CASE("the axis placed first is inside a node if it fits") {
  Random random(9);
  const Machine machine = three_levels();
  for (const Axis axis : all_axes) {
    Plan plan;
    plan.mesh.set(Axis::data, 3);
    plan.mesh.set_tiles({2, 1, 1});
    plan.mesh.set(Axis::pipeline, 2);
    plan.mesh.set(Axis::filter, 2);
    plan.mesh.set(Axis::channel, 2);
    plan.mesh.set(Axis::tensor, 2);
    const auto at = std::find(plan.placement.begin(), plan.placement.end(), axis);
    std::rotate(plan.placement.begin(), at, at + 1);
    const Group group = group_of(plan, machine, family_bit(axis));
    INFO(to_string(axis));
    REQUIRE(group.outermost == 0);
    REQUIRE(group.members[0] == plan.mesh[axis]);
    REQUIRE(group.nodes() == 1);
  }
}

}  // namespace

}  // namespace group_tests
