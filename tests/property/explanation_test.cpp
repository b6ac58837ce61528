// Tests that the parts of an explanation add up to the estimate, for every model and plan.
#include "estimator/explain/explanation.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/study.hpp"
#include "cli/sentences/sentences.hpp"
#include "estimator/explain/comparison.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "estimator/strategies/tensor.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"

namespace explanation_tests {

namespace {

using namespace ddl;

/// The tolerance of two sums of the same terms in different orders. Stages are differences of
/// running sums, so their error is that of the whole sum.
constexpr double rounding = 1e-9;

struct Setting {
  std::string machine;
  Assumptions assumptions;
};

std::vector<Setting> settings() {
  Assumptions leader;
  leader.input_mode = InputMode::leader;
  leader.input_overlapped = false;
  Assumptions no_overlap;
  no_overlap.overlap = false;
  return {{"abci", Assumptions{}}, {"dgx-a100", no_overlap}, {"dgx-h100", leader}, {"abci", ideal_assumptions()}};
}

StudySpec spec_of(const std::string& model, const Setting& setting) {
  StudySpec spec;
  spec.model = model;
  spec.machine = setting.machine;
  spec.assumptions = setting.assumptions;
  return spec;
}

class Plans {
 public:
  explicit Plans(std::uint64_t seed) : engine_(seed) {}

  /// Returns any plan of a few devices that the shape of the model may allow.
  Plan next(const Study& study) {
    Plan plan;
    int devices = pick({1, 2, 4, 8, 12, 16, 32, 64});
    const auto taken = [&] {
      std::vector<int> divisors;
      for (int d = 1; d <= devices; ++d) {
        if (devices % d == 0) divisors.push_back(d);
      }
      const int degree = pick(divisors);
      devices /= degree;
      return degree;
    };
    const bool extents = !study.model().input.sequence && study.model().input.rank > 0;
    Tiles tiles = plan.mesh.tiles();
    if (extents && chance()) tiles[0] = taken();
    if (extents && chance()) tiles[1] = taken();
    plan.mesh.set_tiles(tiles);
    const ModelFacts& facts = study.job().facts;
    if (facts.context_units > 0 && chance()) plan.mesh.set(Axis::context, taken());
    if (facts.experts > 0 && chance()) plan.mesh.set(Axis::expert, taken());
    if (chance()) plan.mesh.set(Axis::pipeline, taken());
    if (chance()) {
      plan.mesh.set(Axis::tensor, taken());
    } else {
      if (chance()) plan.mesh.set(Axis::filter, taken());
      if (chance()) plan.mesh.set(Axis::channel, taken());
    }
    plan.mesh.set(Axis::data, devices);
    plan.micro_batches = pick({1, 2, 3, 8});
    plan.global_batch = plan.mesh.batch_parts() * plan.micro_batches * pick({1, 2, 5});
    if (!study.assumptions().memory_reuse) {
      plan.zero_stage = pick({0, 1, 2, 3});
      plan.recompute = static_cast<Recompute>(pick({0, 1, 2}));
      plan.sequence_parallel = plan.mesh[Axis::tensor] > 1 && may_split_tokens(facts, plan) && chance();
    }
    if (plan.mesh[Axis::context] > 1 && may_exchange_heads(facts, plan) && chance())
      plan.context_exchange = ContextExchange::ulysses;
    const bool has_groups = plan.zero_stage > 0 && plan.mesh[Axis::data] > 2 && plan.mesh[Axis::data] % 2 == 0;
    if (has_groups && chance()) plan.shard_group = 2;
    plan.schedule = static_cast<Schedule>(pick({0, 1, 2, 3, 4}));
    if (!may_schedule(facts, plan, plan.schedule)) plan.schedule = Schedule::one_forward_one_backward;
    const int chunks = pick({1, 2, 3});
    const bool interleaves = !study.assumptions().slot_pipeline && plan.mesh[Axis::pipeline] > 1;
    if (interleaves && may_interleave(facts, plan, chunks)) plan.virtual_stages = chunks;
    plan.precision = study.precision();
    plan.optimizer = study.optimizer();
    std::shuffle(plan.placement.begin(), plan.placement.end(), engine_);
    return plan;
  }

 private:
  int pick(const std::vector<int>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(engine_)];
  }
  bool chance() { return pick({0, 1}) == 1; }
  std::mt19937_64 engine_;
};

std::string text_of(const Study& study, const Plan& plan) {
  return fmt::format("{} on {}: {} ({}), B = {}, S = {}, v = {}, ZeRO-{}, recompute {}, {}", study.model().name,
                     study.machine().name, degrees_text(plan.mesh), placement_text(plan), plan.global_batch,
                     plan.micro_batches, plan.virtual_stages, plan.zero_stage, to_string(plan.recompute),
                     plan.sequence_parallel ? "sequence parallel" : "whole tokens");
}

/// Calls `check(study, estimator, plan)` with possible plans of one in five bundled models; of every bundled model if
/// DDL_LONG_TESTS is set.
template <class Check>
int for_plans_of_the_zoo(std::uint64_t seed, int tries, const Check& check) {
  Plans plans(seed);
  int checked = 0;
  std::size_t turn = 0;
  const std::vector<Setting> all = settings();
  const std::size_t stride = std::getenv("DDL_LONG_TESTS") != nullptr ? 1 : 5;
  const std::vector<std::string> names = model_names();
  for (std::size_t name = seed % stride; name < names.size(); name += stride) {
    const Study study(spec_of(names[name], all[turn++ % all.size()]));
    const Estimator estimator(study.job());
    for (int i = 0; i < tries; ++i) {
      const Plan plan = plans.next(study);
      if (!estimator.limits(plan).empty()) continue;
      INFO(text_of(study, plan));
      check(study, estimator, plan);
      ++checked;
    }
  }
  return checked;
}

/// Returns every strategy and every hybrid of two strategies, with degrees that a model of the zoo allows.
std::vector<Plan> plans_of_every_strategy(const Study& study) {
  std::vector<Plan> plans;
  const bool extents = !study.model().input.sequence && study.model().input.rank > 0;
  for (Family family = 0; family < (Family{1} << axis_count); ++family) {
    for (const int degree : {2, 4}) {
      Plan plan;
      if ((family & family_bit(Axis::spatial)) != 0) {
        if (!extents) continue;
        plan.mesh.set(Axis::spatial, degree);
      }
      for (const Axis axis : all_axes) {
        if (axis != Axis::spatial && (family & family_bit(axis)) != 0) plan.mesh.set(axis, degree);
      }
      plan.micro_batches = plan.mesh[Axis::pipeline] > 1 ? 4 : 1;
      plan.global_batch = 32;
      plan.precision = study.precision();
      plan.optimizer = study.optimizer();
      plans.push_back(plan);
    }
  }
  return plans;
}

void check_sums(const Estimator& estimator, const Plan& plan) {
  const Explanation explanation = explain(estimator, plan);
  const Estimate& estimate = explanation.estimate;
  const Estimate direct = estimator.estimate(plan);
  const Seconds whole = direct.time.step_time();
  REQUIRE(explanation.has_time());
  REQUIRE(estimate.time.step_time() == whole);
  REQUIRE(estimate.memory.total() == direct.memory.total());
  REQUIRE(explanation.layers.size() == estimator.job().facts.model->layers.size());
  REQUIRE(explanation.phases.size() == time_parts.size());

  Seconds phases{};
  for (std::size_t i = 0; i < time_parts.size(); ++i) {
    const TimePart& part = time_parts[i];
    INFO(part.name);
    const PhaseShare& phase = explanation.phases[i];
    REQUIRE(phase.what.part == part.part);
    REQUIRE(phase.time == direct.time[part.part]);
    REQUIRE(phase.hidden.value() >= 0);
    REQUIRE_FALSE(describe(phase, estimate).empty());
    phases += phase.time;
    Seconds layers{};
    for (const LayerExplanation& layer : explanation.layers) layers += layer.time[part.part];
    REQUIRE(layers.value() == Approx(phase.time.value()).epsilon(rounding).margin(rounding * whole.value()));
  }
  // The sum has the order of the breakdown's sum.
  REQUIRE(phases == whole);

  Seconds collectives{}, halos{};
  for (const ExchangeTotal& total : explanation.exchanges) {
    REQUIRE(total.count > 0);
    if (total.purpose == Purpose::layer) REQUIRE(total.time > Seconds{});  // hidden or not
    REQUIRE(total.hidden <= total.time);
    if (total.purpose == Purpose::layer) collectives += total.time - total.hidden;
    if (total.purpose == Purpose::halo) halos += total.time - total.hidden;
    if (total.purpose == Purpose::gradient) REQUIRE(total.phase == Phase::gradient);
  }
  const double margin = rounding * whole.value();
  REQUIRE(collectives.value() == Approx(direct.time[Part::layer_collectives].value()).epsilon(rounding).margin(margin));
  REQUIRE(halos.value() == Approx(direct.time[Part::halo].value()).epsilon(rounding).margin(margin));
}

TEST_CASE("the layers of an explanation add up to each part of the breakdown, and the phases to the step") {
  const int checked = for_plans_of_the_zoo(
      11, 24, [](const Study&, const Estimator& estimator, const Plan& plan) { check_sums(estimator, plan); });
  REQUIRE(checked > 100);
}

TEST_CASE("the layers of every strategy and hybrid add up as well") {
  for (const char* model : {"alexnet", "resnet50", "cosmoflow-128", "gpt2"}) {
    const Study study(spec_of(model, settings().front()));
    const Estimator estimator(study.job());
    int priced = 0;
    for (const Plan& plan : plans_of_every_strategy(study)) {
      if (!estimator.limits(plan).empty()) continue;
      INFO(text_of(study, plan));
      check_sums(estimator, plan);
      ++priced;
    }
    INFO(model);
    REQUIRE(priced > 10);
  }
}

TEST_CASE("the problems and exchanges of a layer add up to its costs, and like layers cost the same") {
  for_plans_of_the_zoo(12, 6, [](const Study&, const Estimator& estimator, const Plan& plan) {
    const Explanation explanation = explain(estimator, plan);
    for (const LayerExplanation& layer : explanation.layers) {
      INFO(layer.layer);
      LayerCosts sum;
      for (const TimedKernel& kernel : layer.detail.kernels)
        (kernel.phase == Phase::forward ? sum[LayerTime::forward] : sum[LayerTime::backward]) += kernel.time;
      for (const TimedExchange& one : layer.detail.exchanges) {
        const bool halo = one.exchange.purpose == Purpose::halo;
        if (one.exchange.phase == Phase::forward) {
          (halo ? sum[LayerTime::halo_forward] : sum[LayerTime::exchange_forward]) += one.time;
        } else {
          (halo ? sum[LayerTime::halo_backward] : sum[LayerTime::exchange_backward]) += one.time;
        }
        if (one.ranks > 1) REQUIRE_FALSE(one.algorithm.empty());
      }
      REQUIRE(sum[LayerTime::forward] == layer.costs[LayerTime::forward]);
      REQUIRE(sum[LayerTime::backward] == layer.costs[LayerTime::backward]);
      REQUIRE(sum[LayerTime::exchange_forward] == layer.costs[LayerTime::exchange_forward]);
      REQUIRE(sum[LayerTime::exchange_backward] == layer.costs[LayerTime::exchange_backward]);
      REQUIRE(sum[LayerTime::halo_forward] == layer.costs[LayerTime::halo_forward]);
      REQUIRE(sum[LayerTime::halo_backward] == layer.costs[LayerTime::halo_backward]);
      const LayerExplanation& first = *std::find_if(explanation.layers.begin(), explanation.layers.end(),
                                                    [&](const LayerExplanation& each) { return each.kind == layer.kind; });
      REQUIRE(first.costs[LayerTime::forward] == layer.costs[LayerTime::forward]);
      REQUIRE(first.costs[LayerTime::backward] == layer.costs[LayerTime::backward]);
      REQUIRE(first.detail.kernels.size() == layer.detail.kernels.size());
    }
  });
}

TEST_CASE("provenances follow from the measurements of the model and the machine") {
  const auto source_of = [](const char* model, const char* machine, int filter) {
    StudySpec spec;
    spec.model = model;
    spec.machine = machine;
    const Study study(spec);
    Plan plan;
    plan.mesh.set(Axis::filter, filter);
    plan.global_batch = 8;
    Provenance farthest = Provenance::measured;
    const Explanation explanation = explain(Estimator(study.job()), plan);
    for (const LayerExplanation& layer : explanation.layers) {
      for (const TimedKernel& kernel : layer.detail.kernels) farthest = least_certain(farthest, kernel.source);
    }
    return farthest;
  };
  // For abci, there are a measured total of resnet50, none of resnet18, and a fit of split filters.
  // For dgx-a100, no fp32 convolutions were published.
  CHECK(source_of("resnet50", "abci", 1) == Provenance::interpolated);
  CHECK(source_of("resnet50", "abci", 4) == Provenance::curve);
  CHECK(source_of("resnet18", "abci", 1) == Provenance::curve);
  CHECK(source_of("resnet50", "dgx-a100", 4) == Provenance::roofline);
}

TEST_CASE("an impossible plan has limits and no layers; one of too many devices or too much memory is predicted") {
  const Study study(spec_of("resnet50", settings().front()));
  const Estimator estimator(study.job());
  Plan plan;
  plan.mesh.set(Axis::filter, 128);  // conv1 has 64
  plan.global_batch = 128;
  Explanation explanation = explain(estimator, plan);
  CHECK_FALSE(explanation.has_time());
  CHECK(explanation.layers.empty());
  REQUIRE(explanation.estimate.limits.size() == 1);
  CHECK(explanation.estimate.limits.begin()->kind == Limit::Kind::filters);

  plan = {};
  plan.mesh.set(Axis::data, 8192);  // abci has 4,352 devices
  plan.global_batch = 8192;
  explanation = explain(estimator, plan);
  CHECK(explanation.has_time());
  CHECK_FALSE(explanation.estimate.feasible());
  CHECK(explanation.estimate.memory.total().value() > 0);

  plan = {};
  plan.mesh.set(Axis::data, 2);
  plan.global_batch = 4096;
  explanation = explain(estimator, plan);
  CHECK(explanation.has_time());
  REQUIRE(explanation.estimate.limits.size() == 1);
  CHECK(explanation.estimate.limits.begin()->kind == Limit::Kind::memory);
}

template <class Q>
void check_turned(const std::vector<PairedTerm<Q>>& terms, const std::vector<PairedTerm<Q>>& turned) {
  REQUIRE(terms.size() == turned.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    REQUIRE(terms[i].name == turned[i].name);
    REQUIRE(terms[i].explained == turned[i].other);
    REQUIRE(terms[i].difference() == -turned[i].difference());
  }
}

template <class Q>
void check_same_term(const std::optional<PairedTerm<Q>>& term, const std::optional<PairedTerm<Q>>& turned) {
  REQUIRE(term.has_value() == turned.has_value());
  if (!term) return;
  REQUIRE(term->name == turned->name);
  REQUIRE(term->difference() == -turned->difference());
}

TEST_CASE("swapping two plans changes the sign of every difference, and keeps the deciding term") {
  for (const char* model : {"vgg16", "cosmoflow-256", "gpt2"}) {
    const Study study(spec_of(model, settings().front()));
    const Estimator estimator(study.job());
    Plans plans(13);
    std::vector<Estimate> estimates;
    for (int i = 0; i < 60; ++i) estimates.push_back(estimator.estimate(plans.next(study)));
    int decided = 0;
    for (std::size_t i = 0; i + 1 < estimates.size(); ++i) {
      const Compared a{"a", estimates[i], study.model()};
      const Compared b{"b", estimates[i + 1], study.model()};
      INFO(text_of(study, estimates[i].plan) << "; " << text_of(study, estimates[i + 1].plan));
      const Comparison forth = compare(a, b);
      const Comparison back = compare(b, a);
      const std::string sentence = describe(forth, a, b);
      CAPTURE(sentence);
      check_turned(forth.time, back.time);
      check_turned(forth.memory, back.memory);
      check_same_term(forth.deciding_time, back.deciding_time);
      check_same_term(forth.deciding_memory, back.deciding_memory);
      REQUIRE(forth.basis == back.basis);
      REQUIRE(sentence.find("nan") == std::string::npos);
      REQUIRE(sentence.find("inf") == std::string::npos);
      if (!forth.deciding_time) continue;
      ++decided;
      // The deciding term has the sign of the total difference.
      Seconds whole{};
      for (const PairedTerm<Seconds>& term : forth.time) whole += term.difference();
      REQUIRE((whole.value() > 0) == (forth.deciding_time->difference().value() > 0));
      REQUIRE((whole.value() > 0) == (sentence.find("longer than") != std::string::npos));
    }
    INFO(model);
    REQUIRE(decided > 5);
  }
}

}  // namespace

}  // namespace explanation_tests
