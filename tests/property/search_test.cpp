#include "estimator/search/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "estimator/exchanges/topology/network.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "estimator/search/memory_bounds.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/step/estimate.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/property/random_plans.hpp"

namespace search_tests {

namespace {

using namespace ddl;

/// The input of a search.
struct Setting {
  std::string name;
  Model model;
  Machine machine;
  Coefficients coefficients;
  Assumptions assumptions;
  std::int64_t devices = 8;
  std::int64_t batch = 48;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
};

/// Without DDL_LONG_TESTS, one in so many settings is tested. It shares no divisor with the numbers of sizes, machines and
/// assumptions, so that each of these occurs.
constexpr std::size_t usual_stride = 37;

bool tests_are_long() { return std::getenv("DDL_LONG_TESTS") != nullptr; }

/// Returns one in `stride` of all combinations; all combinations if DDL_LONG_TESTS is set.
std::vector<Setting> settings(std::size_t stride) {
  std::vector<Setting> all;
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{8, 48}, {12, 36}, {16, 16}, {24, 96}, {36, 72}};
  Assumptions no_overlap;
  no_overlap.overlap = false;
  Assumptions no_contention;
  no_contention.contention = false;
  Assumptions flat_rings;
  flat_rings.ring_only = true;
  Assumptions versions;
  versions.weight_versions = true;
  Assumptions pieces;
  pieces.token_pieces = 4;
  const std::vector<std::pair<std::string, Assumptions>> assumptions{
      {"overlap", Assumptions{}}, {"no overlap", no_overlap},        {"no contention", no_contention},
      {"flat rings", flat_rings}, {"versions of weights", versions}, {"ideal", ideal_assumptions()},
      {"pieces", pieces}};
  std::size_t turn = 0;
  for (const Model& model : some_models()) {
    for (const auto& [devices, batch] : sizes) {
      for (std::size_t machine = 0; machine < 3; ++machine) {
        // Each size is combined with two of the assumptions, in turn, on each machine.
        for (std::size_t k = 0; k < 2; ++k) {
          const auto& [assumption, value] = assumptions[turn++ % assumptions.size()];
          Setting setting{.name = {},
                          .model = model,
                          .machine = machine == 0 ? three_levels() : (machine == 1 ? slow_links() : load_machine("abci")),
                          .coefficients = machine == 2 ? abci_coefficients() : Coefficients{},
                          .assumptions = value,
                          .devices = devices,
                          .batch = batch};
          if (turn % 3 == 0) {
            setting.precision = Precision::fp16;
            setting.optimizer = Optimizer::adam;
          }
          setting.name =
              fmt::format("{} on {} {}, B = {}, {}", setting.model.name, devices, setting.machine.name, batch, assumption);
          all.push_back(std::move(setting));
        }
      }
    }
  }
  if (tests_are_long()) return all;
  std::vector<Setting> some;
  for (std::size_t i = 0; i < all.size(); i += stride) some.push_back(std::move(all[i]));
  return some;
}

SearchOptions options_of(const Setting& setting, Objective objective) {
  SearchOptions options;
  options.devices = setting.devices;
  options.global_batch = setting.batch;
  options.precision = setting.precision;
  options.optimizer = setting.optimizer;
  options.objective = objective;
  return options;
}

std::map<Family, Estimate> by_family(const std::vector<Estimate>& estimates) {
  std::map<Family, Estimate> map;
  for (const Estimate& estimate : estimates) map.emplace(estimate.plan.mesh.family(), estimate);
  return map;
}

/// Returns the device memory with which about half of the plans fit.
Bytes median_memory(const SearchResult& all) {
  std::vector<double> needs;
  for (const RankedPlan& plan : all.ranked) needs.push_back(plan.memory.value());
  std::sort(needs.begin(), needs.end());
  return Bytes(needs[needs.size() / 2]);
}

void check_same_best(const OwnedJob& owned, SearchOptions options, const SearchResult& exhaustive) {
  const Estimator estimator(owned.job);
  const std::map<Family, Estimate> expected = by_family(exhaustive.best);
  const SearchResult pruned = search(estimator, options);
  const std::map<Family, Estimate> found = by_family(pruned.best);
  REQUIRE(found.size() == expected.size());
  for (const auto& [family, best] : expected) {
    INFO("expected " << text_of(best.plan));
    REQUIRE(found.count(family) == 1);
    const Estimate& own = found.at(family);
    INFO("found " << text_of(own.plan));
    REQUIRE(own.time.step_time().value() == Approx(best.time.step_time().value()).epsilon(1e-12));
    REQUIRE(own.memory.total().value() == Approx(best.memory.total().value()).epsilon(1e-12));
    REQUIRE(own.plan == best.plan);
  }
  REQUIRE(pruned.considered == exhaustive.considered);
  REQUIRE(pruned.behind.empty());
  // With any pruning, the search must return the first of all plans.
  REQUIRE(exhaustive.ranked.size() == static_cast<std::size_t>(exhaustive.feasible));
  if (!pruned.best.empty()) {
    INFO("of all plans first: " << text_of(exhaustive.ranked.front().plan));
    REQUIRE(pruned.best.front().plan == exhaustive.ranked.front().plan);
  }
  REQUIRE(pruned.estimated + pruned.pruned <= pruned.considered);
  REQUIRE(pruned.feasible <= pruned.estimated);

  // A simpler plan may replace a plan that is hardly faster.
  options.tie = usual_tie;
  const SearchResult tied = search(estimator, options);
  REQUIRE(tied.best.size() == pruned.best.size());
  if (!tied.best.empty()) {
    const Estimate& best = pruned.best.front();
    const Estimate& simple = tied.best.front();
    INFO("with ties first: " << text_of(simple.plan));
    REQUIRE(simple.feasible());
    REQUIRE((options.allow_risk || simple.verdict == best.verdict));
    REQUIRE(simple.time.step_time() <= best.time.step_time() * (1 + usual_tie));
    REQUIRE(std::popcount(simple.plan.mesh.family()) <= std::popcount(best.plan.mesh.family()));
  }
  options.tie = 0;

  // If only the best three plans are requested, a search finds these.
  options.top = 3;
  const SearchResult few = search(estimator, options);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, exhaustive.best.size()); ++i) {
    REQUIRE(few.best.size() > i);
    const Estimate& want = exhaustive.best[i];
    const Estimate& have = few.best[i];
    INFO("place " << i << ": expected " << text_of(want.plan) << ", found " << text_of(have.plan));
    REQUIRE(have.plan == want.plan);
  }
}

void check_search(bool tight_memory) {
  bool allow_risk = false;
  for (const Setting& setting : settings(usual_stride)) {
    INFO(setting.name << (tight_memory ? ", tight memory" : ""));
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    const auto job_on = [&](const Machine& on) {
      return std::make_unique<OwnedJob>(setting.model, on, setting.assumptions, 1e4, std::nullopt, setting.precision,
                                        setting.optimizer, setting.coefficients);
    };
    auto owned = job_on(machine);
    for (const Objective objective : {Objective::time, Objective::memory}) {
      INFO("objective " << to_string(objective));
      SearchOptions options = options_of(setting, objective);
      options.all = true;
      options.allow_risk = allow_risk = !allow_risk;
      SearchResult exhaustive = search(Estimator(owned->job), options);
      REQUIRE(!exhaustive.ranked.empty());
      if (tight_memory) {
        machine.device.memory = median_memory(exhaustive);
        owned = job_on(machine);
        exhaustive = search(Estimator(owned->job), options);
      }
      options.all = false;
      check_same_best(*owned, options, exhaustive);
    }
  }
}

TEST_CASE("a pruning search finds the same best plan of each family as estimating every plan") { check_search(false); }

TEST_CASE("a pruning search finds the best plan of each family if half of the plans do not fit") { check_search(true); }

TEST_CASE("with more memory, the best plan of no strategy is slower by more than a tie") {
  int seen = 0;
  for (const Setting& setting : settings(usual_stride)) {
    INFO(setting.name);
    SearchOptions options = options_of(setting, Objective::time);
    options.tie = usual_tie;
    options.allow_risk = true;
    for (const PlanChoiceRow& row : plan_choices()) {
      if (row.needs_host) options.chosen[row.choice] = 0;
    }
    const auto best_with = [&](Bytes memory) {
      Machine machine = setting.machine;
      machine.device.memory = memory;
      const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                           setting.optimizer, setting.coefficients);
      return search(Estimator(owned.job), options).best;
    };
    const std::vector<Estimate> unlimited = best_with(Bytes(1e15));
    if (unlimited.empty()) continue;
    std::map<Family, Seconds> before;
    for (const double part : {0.5, 0.7, 1.0, 1.5}) {
      for (const Estimate& each : best_with(unlimited.front().memory.total() * part)) {
        const auto [known, is_new] = before.emplace(each.plan.mesh.family(), each.time.step_time());
        if (is_new) continue;
        INFO(text_of(each.plan) << " with " << part << " of the memory");
        CHECK(each.time.step_time() <= known->second * (1 + usual_tie) * (1 + 1e-9));
        known->second = min(known->second, each.time.step_time());
        ++seen;
      }
    }
  }
  CHECK(seen >= 10);
}

TEST_CASE("a plan of a family with measured runs ranks before a faster plan with a much wider interval") {
  int seen = 0;
  for (const Setting& setting : settings(usual_stride)) {
    INFO(setting.name);
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    Coefficients coefficients = setting.coefficients;
    coefficients.learned.clear();
    coefficients.learned_runs.clear();
    const auto with_runs_of = [&](Family of) {
      // The coefficients only state that there were runs, which fit well. No predicted time changes.
      coefficients.learned = {{of, Learned{}}};
      coefficients.learned_runs = {{of, LearnedRuns{20, 0.02}}};
    };
    SearchOptions options = options_of(setting, Objective::time);
    options.tie = usual_tie;
    const auto first_of = [&](const TimeErrors& errors) {
      const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                           setting.optimizer, coefficients);
      options.errors = &errors;
      return search(Estimator(owned.job), options).best;
    };
    const TimeErrors sure;
    TimeErrors unsure;
    for (ErrorWidth& width : unsure.classes) width = {5, 5};
    const std::vector<Estimate> ranked = first_of(unsure);
    if (ranked.size() < 2 || !setting.assumptions.learned) continue;
    const auto family = [](const Estimate& each) { return each.plan.mesh.family(); };
    // The family that differs only in data parallelism has these runs as well.
    const auto other = std::find_if(ranked.begin() + 1, ranked.end(), [&](const Estimate& each) {
      return (family(each) | family_bit(Axis::data)) != (family(ranked.front()) | family_bit(Axis::data));
    });
    if (other == ranked.end() || other->verdict != ranked.front().verdict) continue;
    with_runs_of(family(*other));
    CHECK(family(first_of(unsure).front()) == family(*other));
    const bool is_slower = other->time.step_time() > ranked.front().time.step_time();
    if (is_slower) {
      CHECK(family(first_of(sure).front()) == family(ranked.front()));
      // If the error of the runs is unknown, the family is as uncertain as all others.
      coefficients.learned_runs.clear();
      CHECK(family(first_of(unsure).front()) == family(ranked.front()));
    }
    seen += is_slower ? 1 : 0;
    with_runs_of(family(ranked.front()));
    CHECK(family(first_of(unsure).front()) == family(ranked.front()));
  }
  CHECK(seen >= 3);
}

TEST_CASE("among plans that tie, a plan that can be started ranks first") {
  constexpr double tie = 0.25;  // so that more plans tie
  int seen = 0;
  for (const Setting& setting : settings(usual_stride)) {
    INFO(setting.name);
    const OwnedJob owned(setting.model, setting.machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, setting.coefficients);
    const Estimator estimator(owned.job);
    const auto family = [](const Estimate& each) { return each.plan.mesh.family(); };
    SearchOptions options = options_of(setting, Objective::time);
    const std::vector<Estimate> fastest = search(estimator, options).best;
    options.tie = tie;
    const std::vector<Estimate> tied = search(estimator, options).best;
    if (tied.empty()) continue;
    const Seconds most = fastest.front().time.step_time() * (1 + tie);
    for (const Estimate& other : tied) {
      if (other.verdict != fastest.front().verdict || other.time.step_time() > most) continue;
      options.is_startable = [&](const Estimate& estimate) { return family(estimate) == family(other); };
      // No measured run splits contexts as short as those of these models.
      const Estimate& first = other.plan.mesh[Axis::context] > 1 ? tied.front() : other;
      CHECK(family(search(estimator, options).best.front()) == family(first));
      seen += family(first) != family(tied.front()) ? 1 : 0;
    }
    // If no tied plan can be started, the simplest plan stays first.
    options.is_startable = [](const Estimate&) { return false; };
    CHECK(family(search(estimator, options).best.front()) == family(tied.front()));
  }
  CHECK(seen > 0);
}

TEST_CASE("a search for plans that can be started finds the best of them") {
  int seen = 0;
  for (const Setting& setting : settings(usual_stride)) {
    INFO(setting.name);
    const OwnedJob owned(setting.model, setting.machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, setting.coefficients);
    const Estimator estimator(owned.job);
    SearchOptions options = options_of(setting, Objective::time);
    options.all = true;
    const std::vector<RankedPlan> ranked = search(estimator, options).ranked;
    options.all = false;
    options.only_startable = true;
    const auto starts = [](const Plan& plan) { return plan.zero_stage == 1 && plan.micro_batches % 2 == 0; };
    options.is_startable = [&](const Estimate& estimate) { return starts(estimate.plan); };
    const std::vector<Estimate> best = search(estimator, options).best;
    const auto first = std::find_if(ranked.begin(), ranked.end(), [&](const RankedPlan& each) { return starts(each.plan); });
    REQUIRE(best.empty() == (first == ranked.end()));
    if (best.empty()) continue;
    for (const Estimate& each : best) CHECK(starts(each.plan));
    CHECK(best.front().verdict == first->verdict);
    CHECK(best.front().time.step_time().value() == Approx(first->step_time.value()).epsilon(1e-9));
    seen += first != ranked.begin() ? 1 : 0;
  }
  CHECK(seen >= 3);
}

void check_bounds(const Estimator& estimator, const RankedPlan& ranked) {
  const Plan& plan = ranked.plan;
  const TimeBounds bounds(estimator);
  const std::array<std::pair<const char*, Closeness>, 6> all{{{"of size", Closeness::size},
                                                              {"of degrees", Closeness::degrees},
                                                              {"of placement", Closeness::placement},
                                                              {"of split", Closeness::split},
                                                              {"of stages", Closeness::stages},
                                                              {"of layers", Closeness::layers}}};
  // A search prunes a number of micro-batches if its bound by size exceeds the bound by degrees of another number.
  if (bounds.least(Closeness::size, plan) > bounds.least(Closeness::degrees, plan) * rounding)
    FAIL(text_of(plan) << ": bounds fall where exchanges are added");
  for (const auto& [name, closeness] : all) {
    const Seconds bound = bounds.least(closeness, plan);
    if (bound > ranked.step_time * rounding) {
      FAIL(fmt::format("{}: {} s, but bound {} {} s", text_of(plan), ranked.step_time.value(), name, bound.value()));
    }
  }
}

TEST_CASE("no plan is below its lower bounds of time and memory") {
  for (const Setting& setting : settings(usual_stride)) {
    INFO(setting.name);
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, setting.coefficients);
    const Estimator estimator(owned.job);
    SearchOptions options = options_of(setting, Objective::time);
    options.all = true;
    for (const RankedPlan& ranked : search(estimator, options).ranked) {
      check_bounds(estimator, ranked);
      // The formula with γ includes neither optimizer nor master weights; γ may be below one.
      if (setting.assumptions.memory_reuse) continue;
      if (memory_lower_bound(estimator.job(), ranked.plan) > ranked.memory * rounding)
        FAIL("memory of " << text_of(ranked.plan));
    }
  }
}

/// Returns measured times of some problems of the model and of its splits. The times are unlike any
/// device's: parts may be far faster than the whole.
MeasuredKernels erratic_kernels(const ModelFacts& facts, const Machine& machine, Precision precision, Optimizer optimizer,
                                std::uint64_t seed, const Assumptions& assumptions = {}) {
  Random random(seed);
  std::vector<Mesh> splits{{{Axis::filter, 2}}, {{Axis::filter, 4}}, {{Axis::channel, 4}}, {{Axis::tensor, 2}}};
  for (const Tiles& tiles : tilings(facts, 2)) splits.emplace_back(tiles);
  MeasuredKernels measured;
  measured.name = "erratic";
  for (const CountedProblem& each : split_problems(facts, splits, {1, 3, 8}, precision, optimizer, {}, assumptions)) {
    const double factor = std::exp2(random.whole(-10, 20) / 10.0);
    if (random.whole(0, 2) == 0) continue;
    if (is_update_problem(each.line)) {
      const UpdateProblem update = parse_update_problem(each.line, "test");
      const Roofline roofline(machine.device, update.precision);
      const Seconds time = roofline.traffic_time(12.0 * static_cast<double>(update.parameters)) * factor;
      measured.updates.push_back({update, {time, time, time}});
    } else {
      const Problem problem = parse_problem(each.line, "test");
      const Roofline roofline(machine.device, problem.precision);
      const Work work = problem.operation->work(problem.pass, problem.inputs, problem.output);
      const Seconds time = roofline.time(work, static_cast<double>(problem.samples)) * factor;
      measured.kernels.push_back({problem, {time, time, time}});
    }
  }
  measured.forward = {.factor = 0.8};
  measured.backward = {.per_kernel = Seconds(20e-6)};
  return measured;
}

TEST_CASE("searches with measured kernel times find the best plan, even if the times are erratic") {
  std::uint64_t seed = 0;
  for (const Setting& setting : settings(usual_stride)) {
    if (++seed % 4 != 0 || setting.assumptions.memory_reuse) continue;
    INFO(setting.name);
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    const ModelFacts facts = facts_of(setting.model);
    const MeasuredKernels measured = erratic_kernels(facts, machine, setting.precision, setting.optimizer, seed);
    const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, setting.coefficients, &measured);
    REQUIRE(owned.kernels.origin() == KernelBasis::profile);
    const Estimator estimator(owned.job);
    SearchOptions options = options_of(setting, Objective::time);
    options.all = true;
    const SearchResult exhaustive = search(estimator, options);
    REQUIRE(!exhaustive.ranked.empty());
    for (const RankedPlan& ranked : exhaustive.ranked) {
      check_bounds(estimator, ranked);
    }
    options.all = false;
    check_same_best(owned, options, exhaustive);
  }
}

/// Returns every possible plan, after checking that its time is at least its bounds.
SearchResult all_above_their_bounds(const OwnedJob& owned, const Setting& setting) {
  const Estimator estimator(owned.job);
  SearchOptions options = options_of(setting, Objective::time);
  options.all = true;
  SearchResult exhaustive = search(estimator, options);
  REQUIRE(!exhaustive.ranked.empty());
  for (const RankedPlan& ranked : exhaustive.ranked) {
    check_bounds(estimator, ranked);
  }
  return exhaustive;
}

TEST_CASE("kernels under autocast take at least their bounds, measured in both precisions, in one, or not at all") {
  std::uint64_t seed = 0;
  for (Setting setting : settings(2)) {
    if (++seed % 29 != 0 || setting.assumptions.memory_reuse || setting.assumptions.linear_kernels) continue;
    setting.precision = Precision::fp16;
    setting.assumptions.mixed_precision = MixedPrecision::autocast;
    INFO(setting.name);
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    const ModelFacts facts = facts_of(setting.model);
    const MeasuredKernels half = erratic_kernels(facts, machine, setting.precision, setting.optimizer, seed);
    const MeasuredKernels both =
        erratic_kernels(facts, machine, setting.precision, setting.optimizer, seed, setting.assumptions);
    for (const MeasuredKernels* measured : {static_cast<const MeasuredKernels*>(nullptr), &half, &both}) {
      INFO((measured == nullptr ? "none" : measured == &half ? "half" : "both"));
      const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                           setting.optimizer, setting.coefficients, measured);
      REQUIRE((owned.kernels.origin() == KernelBasis::profile) == (measured != nullptr));
      const SearchResult exhaustive = all_above_their_bounds(owned, setting);
      check_same_best(owned, options_of(setting, Objective::time), exhaustive);
    }
  }
}

/// Returns sixteen nodes of four devices, in one of the networks that are not a tree.
Machine networked(std::size_t turn) {
  Machine machine = three_levels();
  machine.levels.resize(2);
  machine.levels[1].units = 16;
  NetworkShape& shape = machine.shape;
  constexpr std::array kinds{NetworkShape::Kind::torus, NetworkShape::Kind::distributed_loop, NetworkShape::Kind::dragonfly,
                             NetworkShape::Kind::rail_optimised, NetworkShape::Kind::optical_circuits};
  shape.kind = kinds[turn % kinds.size()];
  shape.extents = {2, 8};
  shape.shortcuts = {2, 4, 8};
  shape.nodes_per_router = 2;
  shape.routers_per_group = 2;
  shape.global_links = 2;
  shape.link_bandwidth = Bandwidth(turn % 3 == 0 ? 3e9 : 20e9);
  shape.global_bandwidth = Bandwidth(5e9);
  shape.hop_latency = Seconds(1e-6);
  machine.network = make_network(machine);
  return machine;
}

TEST_CASE("a search on a network other than a tree, or with a measured φ, finds the best plans as well") {
  const std::size_t every = tests_are_long() ? 7 : 13;
  std::size_t turn = 0;
  for (const Setting& setting : settings(2)) {
    if (++turn % every != 0 || setting.assumptions.memory_reuse) continue;
    Machine machine = turn % 2 == 0 ? networked(turn / 14) : setting.machine;
    machine.device.memory = Bytes(1e15);
    Coefficients coefficients = setting.coefficients;
    if (turn % 4 != 0) {
      // The first φ is smaller, and the second larger, than flows divided by links.
      coefficients.contention = {
          {machine.levels[0].name, 1, 0.3, ""}, {machine.levels[1].name, 2, 0.4, ""}, {machine.levels[1].name, 4, 5, ""}};
    }
    INFO(setting.name << ", turn " << turn);
    const OwnedJob owned(setting.model, machine, setting.assumptions, 1e4, std::nullopt, setting.precision,
                         setting.optimizer, coefficients);
    const SearchResult exhaustive = all_above_their_bounds(owned, setting);
    check_same_best(owned, options_of(setting, Objective::time), exhaustive);
  }
}

/// Returns random fitted coefficients, faster and slower than the datasheet, for about half of the families.
LearnedFamilies anything_learned(std::uint64_t seed) {
  Random random(seed);
  const auto factor = [&] { return std::exp2(random.whole(-30, 30) / 10.0); };
  LearnedFamilies families;
  for (Family family = 1; family < (Family{1} << axis_count); ++family) {
    if (random.chance()) continue;
    Learned learned;
    learned[Coefficient::kernels] = factor();
    learned[Coefficient::gradient_alpha] = factor();
    learned[Coefficient::gradient_beta] = factor();
    learned[Coefficient::layer_alpha] = factor();
    learned[Coefficient::layer_beta] = factor();
    learned[Coefficient::halo_alpha] = factor();
    learned[Coefficient::halo_beta] = factor();
    learned[Coefficient::repeated] = random.whole(0, 10) / 10.0;
    learned[Coefficient::unsharded_weight_sync] = random.whole(0, 3) * 1e-10;
    learned[Coefficient::straggler_factor] = random.whole(0, 3) / 10.0;
    learned[Coefficient::per_micro_batch] = random.whole(0, 3) * 1e-4;
    learned[Coefficient::per_iteration] = random.whole(0, 3) * 1e-3;
    families.emplace_back(family, learned);
  }
  return families;
}

TEST_CASE(
    "a search with factors fitted to runs, and with kernels that exchanges slow down, finds the best plans as well, and "
    "parts still add up") {
  const std::size_t every = tests_are_long() ? 7 : 13;
  std::size_t turn = 0;
  for (const Setting& setting : settings(2)) {
    if (++turn % every != 3 || setting.assumptions.memory_reuse) continue;
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    Coefficients coefficients = setting.coefficients;
    coefficients.learned = anything_learned(turn);
    coefficients.software.layered_gradients_in_hybrids = turn % 2 == 0;
    coefficients.software.overlaps_weight_gathers = turn % 4 < 2;
    coefficients.software.equal_stages = turn % 3 == 1;
    coefficients.software.rank_waiting = static_cast<double>(turn % 4) / 100;
    Assumptions assumptions = setting.assumptions;
    assumptions.fusing = turn % 5 < 3 ? Fusing::all : Fusing::none;
    assumptions.memory_format = turn % 2 == 0 ? MemoryFormat::channels_first : MemoryFormat::channels_last;
    assumptions.cross_entropy = static_cast<CrossEntropy>(turn % 3);
    if (turn % 4 > 0) assumptions.attention = static_cast<AttentionKernels>(turn % 4 - 1);
    coefficients.software.launch_overhead = Seconds(static_cast<double>(turn % 3) * 2e-5);
    coefficients.overlap = {.kernels = 1 + static_cast<double>(turn % 4) / 4, .exchange = 1.5};
    INFO(setting.name << ", turn " << turn);
    const OwnedJob owned(setting.model, machine, assumptions, 1e4, std::nullopt, setting.precision, setting.optimizer,
                         coefficients);
    const Estimator estimator(owned.job);
    const SearchResult exhaustive = all_above_their_bounds(owned, setting);
    for (const Estimate& best : exhaustive.best) {
      Breakdown layers;
      for (const LayerExplanation& layer : explain(estimator, best.plan).layers) {
        for (const TimePart& part : time_parts) layers[part.part] += layer.time[part.part];
      }
      INFO(text_of(best.plan));
      REQUIRE(layers.step_time().value() == Approx(best.time.step_time().value()).epsilon(1e-9));
    }
    check_same_best(owned, options_of(setting, Objective::time), exhaustive);
  }
}

/// Returns random measured times of exchanges. Larger messages may take less time, and other counts any time.
MeasuredExchanges anything_measured(const Machine& machine, std::uint64_t seed) {
  Random random(seed);
  std::vector<MeasuredCurve> curves;
  const int on_node = machine.devices_per_node();
  for (const Collective operation :
       {Collective::allreduce, Collective::allgather, Collective::reduce_scatter, Collective::all_to_all}) {
    for (const int nodes : {1, 2, 4}) {
      if (random.whole(0, 3) == 0 || on_node * nodes < 2) continue;
      MeasuredCurve curve{.operation = operation, .ranks = on_node * nodes, .nodes = nodes};
      curve.spread = 1 + 0.1 * static_cast<double>(curves.size() % 4);
      for (double bytes = 1024; bytes < 1e9; bytes *= 8) {
        curve.points.push_back({Bytes(bytes), Seconds((1e-5 + bytes * 1e-10) * std::exp2(random.whole(-30, 30) / 10.0))});
      }
      curves.push_back(std::move(curve));
    }
  }
  return MeasuredExchanges(std::move(curves));
}

TEST_CASE("a search with measured exchanges finds the best plans as well") {
  const std::size_t every = tests_are_long() ? 5 : 11;
  std::size_t turn = 0;
  for (const Setting& setting : settings(2)) {
    if (++turn % every != 2 || setting.assumptions.memory_reuse) continue;
    Machine machine = setting.machine;
    machine.device.memory = Bytes(1e15);
    Coefficients coefficients = setting.coefficients;
    coefficients.exchanges = anything_measured(machine, turn);
    if (turn % 2 == 0) coefficients.learned = anything_learned(turn);
    Assumptions assumptions = setting.assumptions;
    if (turn % 4 < 2) assumptions.congestion_quantile = 2;
    INFO(setting.name << ", turn " << turn);
    const OwnedJob owned(setting.model, machine, assumptions, 1e4, std::nullopt, setting.precision, setting.optimizer,
                         coefficients);
    const SearchResult exhaustive = all_above_their_bounds(owned, setting);
    check_same_best(owned, options_of(setting, Objective::time), exhaustive);
  }
}

TEST_CASE("plans on one device, and the closed forms, ignore factors fitted to runs") {
  for (const Model& model : some_models()) {
    const OwnedJob plain(model, three_levels(), Assumptions{}, 1e4);
    Coefficients coefficients;
    coefficients.learned = anything_learned(5);
    const OwnedJob fitted(model, three_levels(), Assumptions{}, 1e4, std::nullopt, Precision::fp32, Optimizer::momentum,
                          coefficients);
    Plan plan;
    plan.global_batch = 8;
    CHECK(Estimator(plain.job).estimate(plan).time.step_time() == Estimator(fitted.job).estimate(plan).time.step_time());
    const OwnedJob ideal(model, three_levels(), ideal_assumptions(), 1e4);
    const OwnedJob ideal_taught(model, three_levels(), ideal_assumptions(), 1e4, std::nullopt, Precision::fp32,
                                Optimizer::momentum, coefficients);
    plan.mesh.set(Axis::data, 4);
    CHECK(Estimator(ideal.job).estimate(plan).time.step_time() ==
          Estimator(ideal_taught.job).estimate(plan).time.step_time());
  }
}

}  // namespace

}  // namespace search_tests
