#include "estimator/choices/plan_choice.hpp"

#include <set>
#include <string>

#include "tests/catch.hpp"

namespace {

using namespace ddl;

TEST_CASE("the values of each choice of a plan are parsed as they are printed") {
  std::set<std::string_view> keys, options;
  for (std::size_t i = 0; i < plan_choice_count; ++i) {
    const PlanChoiceRow& row = plan_choices()[i];
    INFO(row.key);
    CHECK(static_cast<std::size_t>(row.choice) == i);
    CHECK(&row_of(row.choice) == &row);
    CHECK(keys.insert(row.key).second);
    CHECK(options.insert(row.option).second);
    CHECK(row.get(Plan{}) == 0);
    REQUIRE(row.last > 0);
    for (int value = 0; value <= row.last; ++value) {
      Plan plan;
      row.set(plan, value);
      CHECK(row.get(plan) == value);
      CHECK((plan == Plan{}) == (value == 0));
      CHECK(row.parse(row.name(value)) == value);
      CHECK(row.parse(std::string(row.name(value)) + " ") == std::nullopt);
      for (const PlanChoiceRow& other : plan_choices()) CHECK((&other == &row || other.get(plan) == 0));
    }
  }
  CHECK(row_of(PlanChoice::schedule).values_text() == "1f1b, gpipe, zb-h1, zb-v or dualpipe");
  CHECK(row_of(PlanChoice::zero).values_text() == "0 to 3");
  CHECK(row_of(PlanChoice::recompute).values_text() == "none, selective or full");
  CHECK(row_of(PlanChoice::virtual_stages).values_text() == "1 to 32");
  CHECK(row_of(PlanChoice::sequence_parallel).values_text() == "no or yes");
  CHECK(row_of(PlanChoice::context_exchange).values_text() == "ring or ulysses");
  CHECK(row_of(PlanChoice::shard_group).values_text() == "0 to 1024");
  CHECK(row_of(PlanChoice::secondary_shards).values_text() == "0 to 1024");
  CHECK(row_of(PlanChoice::recompute_blocks).values_text() == "0 to 1024");
  CHECK(row_of(PlanChoice::recompute_modules).values_text() ==
        "core_attn, moe_act, layernorm, mla_up_proj, mlp, shared_experts or moe, or several joined by '+'");
  CHECK(row_of(PlanChoice::recompute_modules).parse("mlp+core_attn") ==
        row_of(PlanChoice::recompute_modules).parse("core_attn+mlp"));
}

TEST_CASE("a choice matters if it changes the work of ranks") {
  const Mesh serial, data{{Axis::data, 2}}, tiles{{Axis::spatial, 2}}, stages{{Axis::pipeline, 2}};
  CHECK_FALSE(row_of(PlanChoice::schedule).matters(data));
  CHECK(row_of(PlanChoice::schedule).matters(stages));
  CHECK_FALSE(row_of(PlanChoice::zero).matters(stages));
  CHECK(row_of(PlanChoice::zero).matters(data));
  CHECK(row_of(PlanChoice::zero).matters(tiles));
  CHECK(row_of(PlanChoice::recompute).matters(serial));
  CHECK(row_of(PlanChoice::virtual_stages).matters(stages));
  CHECK_FALSE(row_of(PlanChoice::virtual_stages).matters(data));
  CHECK(row_of(PlanChoice::sequence_parallel).matters(Mesh{{Axis::tensor, 2}}));
  CHECK_FALSE(row_of(PlanChoice::sequence_parallel).matters(data));
}

TEST_CASE("chosen values are set, and other choices are unchanged") {
  Plan plan;
  plan.zero_stage = 2;
  ChosenOfPlan chosen;
  chosen[PlanChoice::recompute] = static_cast<int>(Recompute::full);
  chosen.apply(plan);
  CHECK(plan.zero_stage == 2);
  CHECK(plan.recompute == Recompute::full);
  keep_to_ideal(chosen);
  CHECK(chosen[PlanChoice::zero] == 0);
  CHECK(chosen[PlanChoice::recompute] == static_cast<int>(Recompute::full));
  CHECK_FALSE(chosen[PlanChoice::schedule]);
}

TEST_CASE("a number of recomputed blocks implies full recomputation") {
  ChosenOfPlan chosen;
  choose_what_follows(chosen);
  CHECK_FALSE(chosen[PlanChoice::recompute]);
  chosen[PlanChoice::recompute_blocks] = 0;
  choose_what_follows(chosen);
  CHECK_FALSE(chosen[PlanChoice::recompute]);
  chosen[PlanChoice::recompute_blocks] = 3;
  choose_what_follows(chosen);
  CHECK(chosen[PlanChoice::recompute] == static_cast<int>(Recompute::full));
  chosen[PlanChoice::recompute] = static_cast<int>(Recompute::none);
  choose_what_follows(chosen);
  CHECK(chosen[PlanChoice::recompute] == static_cast<int>(Recompute::none));
}

TEST_CASE("recomputed modules imply selective recomputation") {
  ChosenOfPlan chosen;
  chosen[PlanChoice::recompute_modules] = 0;
  choose_what_follows(chosen);
  CHECK(chosen[PlanChoice::recompute] == static_cast<int>(Recompute::selective));
  chosen[PlanChoice::recompute] = static_cast<int>(Recompute::none);
  choose_what_follows(chosen);
  CHECK(chosen[PlanChoice::recompute] == static_cast<int>(Recompute::none));
}

TEST_CASE("secondary shards imply ZeRO-3") {
  ChosenOfPlan chosen;
  chosen[PlanChoice::secondary_shards] = 1;
  choose_what_follows(chosen);
  CHECK_FALSE(chosen[PlanChoice::zero]);
  chosen[PlanChoice::secondary_shards] = 8;
  choose_what_follows(chosen);
  CHECK(chosen[PlanChoice::zero] == 3);
  chosen[PlanChoice::zero] = 1;
  choose_what_follows(chosen);
  CHECK(chosen[PlanChoice::zero] == 1);
}

TEST_CASE("schedule, placement, sharding and recomputation do not change how plans divide layers") {
  Plan plan;
  plan.mesh = Mesh{{Axis::data, 4}, {Axis::tensor, 2}};
  plan.global_batch = 32;
  plan.micro_batches = 2;
  Plan other = plan;
  other.zero_stage = 3;
  other.shard_group = 2;
  other.secondary_shards = 2;
  other.recompute = Recompute::full;
  other.recompute_blocks = 2;
  other.schedule = Schedule::gpipe;
  other.virtual_stages = 4;
  std::swap(other.placement.front(), other.placement.back());
  CHECK(split_of(other) == split_of(plan));
  other.micro_batches = 4;
  CHECK(split_of(other) != split_of(plan));
  other = plan;
  other.precision = Precision::bf16;
  CHECK(split_of(other) != split_of(plan));
  // Plans that differ only in one choice have the same split, unless the choice divides layers.
  for (const PlanChoiceRow& row : plan_choices()) {
    other = plan;
    row.set(other, row.last);
    CHECK((split_of(other) != split_of(plan)) == row.divides_layers);
  }
}

}  // namespace
