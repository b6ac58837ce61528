// Tests that no completed plan takes less time, or needs less memory, than any bound by which a search prunes plans. Random
// plans of all bundled models on bundled machines are tested. DDL_RANDOM_SEED and DDL_RANDOM_COUNT select other plans and
// more plans. A failure prints the seed that repeats the failing plan alone.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/software_file.hpp"
#include "calibration/inputs/study.hpp"
#include "core/error.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/search/activation_bounds.hpp"
#include "estimator/search/memory_bounds.hpp"
#include "estimator/search/mesh_bounds.hpp"
#include "estimator/search/saving_plans.hpp"
#include "estimator/search/sharding_bounds.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/property/random_plans.hpp"

namespace bounds_tests {

namespace {

using namespace ddl;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Returns a model as written, with adapters, or with some layers frozen.
std::string random_variant(Random& random, const std::string& model) {
  switch (random.whole(0, 7)) {
    case 0:
      return model + "@lora=8";
    case 1:
      return model + "@trained=head";
    default:
      return model;
  }
}

/// Returns a model on any machine, predicted for any software. Null if the machine lacks the
/// precision, or if the model lacks the parts of a variant.
std::unique_ptr<const Study> random_study(Random& random, const std::string& model) {
  static const std::vector<std::string> machines = machine_names(), softwares = software_names();
  StudySpec spec;
  spec.model = random_variant(random, model);
  spec.machine = random.of(machines);
  if (random.chance()) spec.software = random.of(softwares);
  if (random.whole(0, 3) == 0) spec.coefficients = "none";
  if (random.chance()) spec.precision = enum_values<Precision>[static_cast<std::size_t>(random.whole(0, 5))];
  if (random.whole(0, 3) == 0) spec.known_kernels = KnownKernels::none;
  if (random.whole(0, 7) == 0) spec.assumptions = ideal_assumptions();
  if (random.whole(0, 7) == 0) spec.assumptions.overlap = false;
  if (random.whole(0, 7) == 0) spec.assumptions.contention = false;
  if (random.whole(0, 7) == 0) spec.assumptions.ring_only = true;
  if (random.whole(0, 7) == 0) spec.assumptions.host_launch = false;
  if (random.whole(0, 7) == 0) spec.assumptions.weight_versions = true;
  if (random.whole(0, 7) == 0) spec.assumptions.token_pieces = random.whole(2, 16);
  if (random.whole(0, 7) == 0)
    spec.settings.set("mixed_precision", {static_cast<double>(random.whole(0, 3)), SettingOrigin::option, {}});
  try {
    return std::make_unique<const Study>(spec);
  } catch (const Error&) {
    return nullptr;
  }
}

int random_divisor(Random& random, int devices) {
  std::vector<int> divisors;
  for (int d = 2; d <= devices; ++d) {
    if (devices % d == 0) divisors.push_back(d);
  }
  return divisors.empty() ? 1 : random.of(divisors);
}

Mesh random_mesh(Random& random, const Model& model, int devices) {
  const TensorShape& input = model.input;
  Mesh mesh;
  const auto take = [&] {
    const int degree = random_divisor(random, devices);
    devices /= degree;
    return degree;
  };
  std::vector<Axis> axes{Axis::pipeline, Axis::tensor, Axis::filter, Axis::channel};
  if (input.sequence) axes.insert(axes.end(), {Axis::context, Axis::expert, Axis::tensor, Axis::expert});
  std::shuffle(axes.begin(), axes.end(), random.engine());
  if (!input.sequence && input.rank > 0 && random.chance()) {
    Tiles tiles = mesh.tiles();
    for (int d = 0; d < input.rank; ++d) {
      if (random.chance()) tiles[static_cast<std::size_t>(d)] = take();
    }
    mesh.set_tiles(tiles);
  }
  for (const Axis axis : axes) {
    if (mesh[axis] == 1 && random.whole(0, 2) == 0) mesh.set(axis, take());
  }
  mesh.set(Axis::data, devices);
  return mesh;
}

Plan random_plan(Random& random, const Study& study) {
  const ModelFacts& facts = study.job().facts;
  Plan plan;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  plan.mesh = random_mesh(random, study.model(), random.of(std::vector{1, 2, 4, 8, 8, 12, 16, 24, 32, 64, 128, 512}));
  plan.micro_batches = random.of(std::vector<std::int64_t>{1, 2, 4, 8, 16, 32});
  plan.global_batch = plan.mesh.batch_parts() * plan.micro_batches * random.of(std::vector{1, 1, 2, 3, 8});
  std::shuffle(plan.placement.begin(), plan.placement.end(), random.engine());
  // Closed forms refuse choices that they do not include.
  const bool is_ideal = study.assumptions().linear_kernels;
  for (const PlanChoiceRow& row : plan_choices()) {
    if (!row.matters(plan.mesh) || random.chance() || (is_ideal && !row.beyond_ideal.empty())) continue;
    const bool is_size = row.choice == PlanChoice::shard_group || row.choice == PlanChoice::secondary_shards;
    const int value = is_size ? random_divisor(random, plan.mesh[Axis::data]) : random.whole(1, std::min(row.last, 15));
    if (row.possible == nullptr || row.possible(facts, plan, value)) row.set(plan, value);
  }
  return plan;
}

std::string described(const Study& study, const Plan& plan) {
  const StudySpec& spec = study.spec();
  std::string text = fmt::format("{} on {} with software '{}', coefficients '{}', {}: {} ({}), B = {}, S = {}", spec.model,
                                 spec.machine, spec.software, spec.coefficients, to_string(study.precision()),
                                 degrees_text(plan.mesh), placement_text(plan), plan.global_batch, plan.micro_batches);
  for (const PlanChoiceRow& row : plan_choices()) {
    if (row.get(plan) != 0) text += fmt::format(", {} {}", row.key, row.name(row.get(plan)));
  }
  return text;
}

/// Returns the plan with the first value of each choice for which `is_reset` is true.
template <class IsReset>
Plan with_first_values(Plan plan, const IsReset& is_reset) {
  for (const PlanChoiceRow& row : plan_choices()) {
    if (is_reset(row)) row.set(plan, 0);
  }
  return plan;
}

/// Reports a bound that is above the value that it bounds.
void require_below(std::string_view bound, double value, double whole) {
  // A bound is a sum of the same terms in a different order.
  constexpr double sums = 1 + 1e-9;
  if (!(value <= whole * sums))
    FAIL_CHECK(fmt::format("{} is {}, beyond {} by {:.3g} %", bound, value, whole, (value / whole - 1) * 100));
}

void check_times(const Estimator& estimator, const Plan& plan, double time) {
  const TimeBounds bounds(estimator);
  // A search requests bounds for many plans at once, of which it knows only the degrees, the
  // placement, or the choices that divide layers.
  const Plan plainest = with_first_values(plan, [](const PlanChoiceRow&) { return true; });
  Plan like = with_first_values(plan, [](const PlanChoiceRow& row) { return !row.divides_layers; });
  Plan placed = plainest;
  // A requested shard group is known before the search.
  like.shard_group = placed.shard_group = plan.shard_group;
  const auto check = [&](const char* bound, Seconds value) { require_below(bound, value.value(), time); };
  check("by size", bounds.least(Closeness::size, plainest));
  check("by degrees", bounds.least(Closeness::degrees, plainest));
  check("by placement", bounds.least(Closeness::placement, placed));
  for (const Plan& each : {like, plan}) {
    check("by exchanges", bounds.least(Closeness::exchanges, each));
    check("by split", bounds.least(Closeness::split, each));
    check("by stages", bounds.least(Closeness::stages, each));
    check("by layers", bounds.least(Closeness::layers, each));
  }
  // The bound of all orders holds for the plan's recomputed blocks, without the sharding and offloading of parameters.
  if (!plan.offload_activations) {
    Plan ordered = with_first_values(plan, [](const PlanChoiceRow& row) {
      return !row.divides_layers && row.choice != PlanChoice::recompute && row.choice != PlanChoice::recompute_modules;
    });
    if (plan.recompute_blocks > 0) ordered.recompute_blocks = static_cast<int>(most_recomputed_blocks(plan));
    check("of all orders", bounds.of_orders(ordered));
  }
  // A number of micro-batches is left out by its bound by size, if this bound exceeds another number's bound by degrees.
  require_below("by size, of that by degrees,", bounds.least(Closeness::size, plainest).value(),
                bounds.least(Closeness::degrees, plainest).value());
}

void check_mesh_bounds(const Estimator& estimator, const Plan& plan, double time) {
  SearchOptions options;
  options.devices = plan.mesh.devices();
  options.global_batch = plan.global_batch;
  const Job& job = estimator.job();
  const VariantSpace space(options, job.facts, job.machine);
  const std::vector<std::int64_t>& known = space.micro_batches(plan);
  if (std::find(known.begin(), known.end(), plan.micro_batches) == known.end()) return;
  const TimeBounds time_bounds(estimator);
  const BoundsLeftOut none;
  MeshBounds bounds(estimator, time_bounds, space, options.devices, none);
  // Meshes of the same size share some bounds, so bounds of other ways to split layers are known first.
  constexpr std::array splits{Axis::spatial, Axis::filter, Axis::channel, Axis::tensor};
  for (const Axis axis : splits) {
    Plan other = plan;
    int degree = 1;
    for (const Axis each : splits) {
      degree *= plan.mesh[each];
      other.mesh.set(each, 1);
    }
    other.mesh.set(axis, degree);
    if (estimator.limits(other).empty()) static_cast<void>(bounds.bare(other));
  }
  const Plan plainest = with_first_values(plan, [](const PlanChoiceRow&) { return true; });
  require_below("MeshBounds::bare", bounds.bare(plainest).value(), time);
  require_below("MeshBounds::full", bounds.full(plainest).value(), time);
  require_below("MeshBounds::of", bounds.of(plainest).value(), time);
  double least = std::numeric_limits<double>::infinity();
  Plan each = plainest;
  for (const std::int64_t micro_batches : known) {
    each.micro_batches = micro_batches;
    if (plan.mesh[Axis::pipeline] > 1 || micro_batches == known.front()) least = std::min(least, bounds.of(each).value());
  }
  INFO("the least of the bounds of numbers of micro-batches");
  REQUIRE(bounds.full(plainest).value() == Approx(least).epsilon(1e-9));
}

void check_memory(const Estimator& estimator, const Plan& plan) {
  if (estimator.job().assumptions.memory_reuse) return;
  const Bytes memory = estimator.memory(plan).total();
  if (!plan.offload_activations && plan.segments.empty())
    require_below("ActivationBounds", ActivationBounds(estimator).least(plan).value(), memory.value() * (1 + 1e-9));
  const Bytes more = memory * (1 + 1e-9);
  Plan saving = with_first_values(plan, [](const PlanChoiceRow&) { return true; });
  saving.offload = plan.offload;
  require_below("memory_lower_bound", memory_lower_bound(estimator.job(), saving).value(), memory.value());
  require_below("parameters_lower_bound", parameters_lower_bound(estimator.job(), plan).value(), memory.value());
  CHECK_FALSE(keeps_more_than(estimator, plan, more));
  CHECK_FALSE(needs_more_than(estimator, plan, more));
}

/// Checks the bounds that hold for plans that fit in as much memory as one of them, with random choices, needs.
void check_savings(Random& random, const Study& study, const Estimator& estimator, Plan plan) {
  SearchOptions options;
  options.devices = plan.mesh.devices();
  options.global_batch = plan.global_batch;
  options.precision = plan.precision;
  options.optimizer = plan.optimizer;
  const VariantSpace space(options, estimator.job().facts, estimator.job().machine);
  const std::vector<LikeChoices>& groups = space.choices(plan);
  if (groups.empty()) return;
  const LikeChoices& choices = random.of(groups);
  const ChoiceValues& values = random.of(choices);
  set_choices(plan, choices.front());
  const Plan first = plan;
  set_choices(plan, values);
  if (!estimator.limits(plan).empty() || estimator.stages(plan).empty()) return;
  if (const int most = estimator.steps().most_blocks_again(plan); most > 0 && space.may_recompute_blocks(values)) {
    plan.recompute = Recompute::full;
    plan.recompute_blocks = random.whole(1, most);
  }
  const double time = estimator.step_time(plan).value();
  const Bytes limit = estimator.memory(plan).total() * (1 + 1e-9);
  INFO("with other choices: " << described(study, plan));
  ShardingBounds sharding(estimator, space);
  require_below("ShardingBounds", sharding.least(first, limit).value(), time);
  const TimeBounds bounds(estimator);
  const auto is_longer = [&](Seconds each) { return each.value() > time * (1 + 1e-9); };
  CHECK_FALSE(all_that_fit_are_slow(estimator, bounds, space, {first, SavingChoices(choices)}, limit, is_longer));
}

/// Checks random plans of a model. Returns the number of possible plans.
int check_plans(Random& random, const std::string& model, int tries) {
  const std::unique_ptr<const Study> study = random_study(random, model);
  if (study == nullptr) return 0;
  const Estimator estimator(study->job());
  int possible = 0;
  for (int i = 0; i < tries; ++i) {
    const Plan plan = random_plan(random, *study);
    if (!is_meaningful(plan.mesh.family())) continue;
    if (!estimator.limits(plan).empty() || estimator.stages(plan).empty()) continue;
    ++possible;
    INFO(described(*study, plan));
    const double time = estimator.step_time(plan).value();
    check_times(estimator, plan, time);
    check_mesh_bounds(estimator, plan, time);
    check_memory(estimator, plan);
    check_savings(random, *study, estimator, plan);
  }
  return possible;
}

TEST_CASE("the bound of kept activations leaves out the copy of a tensor that only the end of a stage sends") {
  // This software keeps what a stage sends. The output of the first convolution is larger than that of the first stage.
  StudySpec spec;
  spec.model = "cosmoflow-256";
  spec.machine = "runpod-a100";
  spec.software = "deepspeed";
  const Study study(spec);
  REQUIRE(study.assumptions().keeps_sent);
  Plan plan;
  plan.mesh = {{Axis::pipeline, 8}, {Axis::tensor, 4}};
  plan.global_batch = 128;
  plan.micro_batches = 16;
  plan.precision = study.precision();
  plan.optimizer = study.optimizer();
  const Estimator estimator(study.job());
  REQUIRE(estimator.limits(plan).empty());
  check_memory(estimator, plan);
}

TEST_CASE("no plan of a bundled model is below the search's bounds of time and memory") {
  const std::vector<std::string> models = model_names();
  const bool is_long = std::getenv("DDL_LONG_TESTS") != nullptr, is_nightly = std::getenv("DDL_NIGHTLY") != nullptr;
  const std::uint64_t first = number_from("DDL_RANDOM_SEED", 1);
  const std::uint64_t count = number_from("DDL_RANDOM_COUNT", (is_nightly ? 300 : is_long ? 20 : 1) * models.size());
  int possible = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("DDL_RANDOM_SEED=" << seed << " DDL_RANDOM_COUNT=1");
    Random random(seed);
    possible += check_plans(random, models[seed * 97 % models.size()], 30);
  }
  if (count > models.size()) WARN(fmt::format("{} possible plans of {} random studies", possible, count));
  CHECK((count == 1 || possible > static_cast<int>(count)));
  CHECK((!is_nightly || count < models.size() || possible >= 1'000'000));
}

}  // namespace

}  // namespace bounds_tests
