#include "cli/options/plan_notation.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "estimator/choices/plan_choice.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace plan_notation_tests {

using namespace ddl;

namespace {

/// Returns a random plan. Choices that make no difference on its mesh have their first value, because the notation omits
/// them.
Plan random_plan(std::mt19937& random) {
  const auto number = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Plan plan;
  for (int& degree : plan.mesh.degrees()) degree = number(0, 1) == 0 ? 1 : number(1, 3);
  plan.micro_batches = number(0, 1) == 0 ? 1 : number(1, 100'000);
  std::shuffle(plan.placement.begin(), plan.placement.end(), random);
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = number(0, 1) == 0 ? 0 : number(0, row.last);
    const bool is_written = row.matters(plan.mesh) && !row.sign(value).empty();
    row.set(plan, is_written ? value : 0);
  }
  // All layouts have the same stages.
  const int stages = plan.mesh[Axis::pipeline];
  if (const auto ranks = static_cast<int>(plan.mesh.devices() / stages); ranks > 1 && number(0, 3) == 0) {
    plan.segments = {{number(1, 9), Mesh{{Axis::pipeline, stages}, {Axis::filter, ranks}}},
                     {number(10, 20), Mesh{{Axis::pipeline, stages}, {Axis::data, ranks}}}};
    join_segments(plan);
  }
  return plan;
}

}  // namespace

TEST_CASE("a plan is read back as it is written") {
  std::mt19937 random(20211021);
  for (int i = 0; i < 3000; ++i) {
    const Plan plan = random_plan(random);
    const std::string word = plan_word(plan);
    INFO(word);
    CHECK(is_plan_word(word));
    Plan again = parse_plan_word(word);
    CHECK(placement_text(again) == placement_text(plan));
    CHECK(plan_word(again) == word);
    again.placement = plan.placement;
    CHECK(again == plan);
  }
}

TEST_CASE("plans that differ in placement have different notations") {
  Plan plan, other;
  plan.mesh = other.mesh = Mesh{{Axis::data, 4}, {Axis::pipeline, 2}, {Axis::tensor, 2}};
  other.placement = {Axis::pipeline, Axis::tensor,  Axis::channel, Axis::filter,
                     Axis::context,  Axis::spatial, Axis::expert,  Axis::data};
  CHECK(plan_word(plan) == "dp4·pp2·tp2");
  CHECK(plan_word(other) == "dp4·pp2·tp2 @pp");
}

TEST_CASE("no two values of choices have the same sign") {
  std::map<std::string, std::string> signs;
  for (const PlanChoiceRow& row : plan_choices()) {
    for (int value = 0; value <= row.last; ++value) {
      const std::string sign = row.sign(value);
      if (sign.empty()) continue;
      INFO(sign << " of " << row.key);
      CHECK(signs.emplace(sign, row.key).second);
    }
  }
}

TEST_CASE("degrees may be separated by other signs, and written with full names and aliases") {
  const std::string word = plan_word(parse_plan_word("dp32·tp2 z1 m4"));
  for (const char* text : {"dp32.tp2 z1 m4", "dp32,tp2 z1 m4", "tp2 dp32 m4 z1", "data=32,tensor=2 z1 m4",
                           "dp=32*tp=2 m4 z1", "zero132.tp2 m4", "dp32+tp2 v1 1f1b z1 m4"}) {
    INFO(text);
    CHECK(plan_word(parse_plan_word(text)) == word);
  }
  CHECK(plan_word(parse_plan_word("fsdp8")) == "dp8 z3");
  CHECK(plan_word(parse_plan_word("1 device m2")) == "1 device m2");
  CHECK(plan_word(parse_plan_word("spatial2x2.dp4 sac core_attn+mlp")) == "dp4·spatial2x2 sac core_attn+mlp");
}

TEST_CASE("a text that is not a plan is refused with the part that is not understood") {
  CHECK(error_of([] { (void)parse_plan_word("dp4 q7"); }) ==
        "the plan 'dp4 q7' has the unknown part 'q7'\nhint: see 'ddl-oracle help notation'; a plan looks like 'dp32·tp2 z1 "
        "m4'");
  CHECK(
      error_of([] { (void)parse_plan_word("dp8 zero1"); }) ==
      "the plan 'dp8 zero1' has the unknown part 'zero1'\nhint: write z1; see 'ddl-oracle help notation'; a plan looks like "
      "'dp32·tp2 z1 m4'");
  for (const char* text : {"dp0", "dp4 dp2", "dp4 m0", "dp4 mm", "dp4 z9", "dp99999999999999999999", "dp4 @qq", "dp4 v999",
                           "dp4 v2", "dp4 z1 z2", "dp4 m2 m2", "dp4 sp"}) {
    INFO(text);
    CHECK(error_of([&] { (void)parse_plan_word(text); }) != "no error");
  }
}

TEST_CASE("the layouts of segments follow the degrees of the first layers") {
  const Plan plan = parse_plan_word("dp32 from14:dp4·filter8 from20:data=32 z1");
  CHECK(plan.segments ==
        std::vector<LayerSegment>{{14, Mesh{{Axis::data, 4}, {Axis::filter, 8}}}, {20, Mesh{{Axis::data, 32}}}});
  CHECK(plan.zero_stage == 1);
  CHECK(plan_word(plan) == "dp32 from14:dp4·filter8 from20:dp32 z1");
  CHECK(plan_words(plan) == "data 32, data=4 filter=8 from layer 14 on, data=32 from layer 20 on, ZeRO-1");
  const Plan tables = parse_plan_word("dp8 cw t5:dp t9:cw m2");
  CHECK(tables.table_segments == std::vector<TableSegment>{{5, Tables::replicated}, {9, Tables::columns}});
  CHECK(plan_word(tables) == "dp8 cw t5:dp t9:cw m2");
  CHECK(parse_plan_word("dp8 cw t5:cw").table_segments.empty());
  CHECK(error_of([] { (void)parse_plan_word("dp8 cw t5:tp"); }).find("unknown part") != std::string::npos);
  CHECK(parse_plan_word("dp32 from14:dp32").segments.empty());
  CHECK(error_of([] { (void)parse_plan_word("dp32 from14:filter8"); }).find("has 32 devices") != std::string::npos);
  CHECK(error_of([] { (void)parse_plan_word("dp8 from9:filter8 from3:dp8"); }).find("order") != std::string::npos);
  CHECK(error_of([] { (void)parse_plan_word("dp8 from:filter8"); }).find("unknown part") != std::string::npos);
}

TEST_CASE("recompute segments say which blocks are recomputed") {
  using Segments = std::vector<RecomputeSegment>;
  const Plan first = parse_plan_word("dp8 ac from14:keep from20:ac m2");
  CHECK(first.recompute == Recompute::full);
  CHECK(first.recompute_segments == Segments{{14, false}, {20, true}});
  CHECK(plan_word(first) == "dp8 ac from14:keep from20:ac m2");
  CHECK(plan_words(first) ==
        "data 8, 2 micro-batches, recompute, from layer 14 on kept activations, from layer 20 on recompute");
  // Without `ac`, the first blocks are kept.
  const Plan later = parse_plan_word("dp8 from14:ac");
  CHECK(later.recompute == Recompute::full);
  CHECK(later.recompute_segments == Segments{{0, false}, {14, true}});
  CHECK(plan_word(later) == "dp8 from14:ac");
  CHECK(plan_words(later) == "data 8, from layer 14 on recompute");
  CHECK(plan_word(parse_plan_word("dp8 from9:tp8 from12:dp8 from12:ac")) == "dp8 from9:tp8 from12:dp8 from12:ac");
  CHECK(parse_plan_word("dp8 ac from14:ac").recompute_segments.empty());
  // The plan says how its first blocks are.
  CHECK(parse_plan_word("dp8 from0:ac") == parse_plan_word("dp8 ac"));
  CHECK(parse_plan_word("dp8 from0:keep") == parse_plan_word("dp8"));
  CHECK(parse_plan_word("dp8 from0:ac from14:keep") == parse_plan_word("dp8 ac from14:keep"));
  CHECK(parse_plan_word("dp8 from14:keep") == parse_plan_word("dp8"));
  CHECK(error_of([] { (void)parse_plan_word("dp8 ac from20:keep from14:ac"); }).find("order") != std::string::npos);
  CHECK(error_of([] { (void)parse_plan_word("dp8 from14:kept"); }) != "no error");
}

TEST_CASE("names of files and strategies are not plans") {
  for (const char* text : {"plan.json", "dp4.json", "run/plan", "data", "fsdp", "zero3", "best", "", "data+tensor", "-"}) {
    INFO(text);
    CHECK_FALSE(is_plan_word(text));
  }
}

}  // namespace plan_notation_tests
