// Tests All-to-alls of experts that overlap with the compute of another micro-batch.

#include <cstdint>

#include "estimator/explain/explanation.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/step/estimate.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

/// A mixture of experts on four expert-parallel ranks, with links that have no start-up.
struct Mixture {
  double bandwidth = 1e12;  ///< bandwidth of a link in a node, in bytes per second
  bool overlaps = true;
  Assumptions assumptions{};
  OverlapSlowdown slowdown{};
  Plan plan{};

  explicit Mixture(std::int64_t micro_batches) {
    plan.mesh.set(Axis::expert, 4);
    plan.global_batch = 4 * micro_batches;
    plan.micro_batches = micro_batches;
  }
  [[nodiscard]] Explanation explanation() const {
    Model model = parse_model(
        "format: 1\nmodel: mixture\nfamily: llama\nparameters: {layers: 8, hidden: 128, heads: 8, feed_forward: 256, "
        "vocabulary: 32, tokens: 64, experts: 8, active: 2}\n",
        "mixture.yaml");
    Machine machine = nodes_of_four();
    for (LinkLevel& level : machine.levels) level.latency = Seconds(0);
    machine.levels[0].bandwidth = machine.levels[1].bandwidth = Bandwidth(bandwidth);
    Coefficients coefficients;
    coefficients.software.overlaps_expert_exchanges = overlaps;
    coefficients.overlap = slowdown;
    const OwnedJob owned(std::move(model), machine, assumptions, 1000, std::nullopt, Precision::fp32, Optimizer::momentum,
                         coefficients);
    return explain(Estimator(owned.job), plan);
  }
  [[nodiscard]] Breakdown time() const { return explanation().estimate.time; }
  [[nodiscard]] Breakdown time_without() const {
    Mixture without = *this;
    without.overlaps = false;
    return without.time();
  }
  /// Returns the part of the All-to-alls that is hidden.
  [[nodiscard]] double hidden() const {
    REQUIRE(time_without()[Part::layer_collectives].value() > 0);
    return 1 - time()[Part::layer_collectives] / time_without()[Part::layer_collectives];
  }
};

}  // namespace

TEST_CASE("long compute hides the All-to-alls of all micro-batches but one") {
  CHECK(Mixture(4).hidden() == Approx(3.0 / 4));
  CHECK(Mixture(8).hidden() == Approx(7.0 / 8));
  const Breakdown with = Mixture(4).time(), without = Mixture(4).time_without();
  CHECK(with[Part::forward] == without[Part::forward]);
  CHECK(with[Part::backward] == without[Part::backward]);
}

TEST_CASE("a single micro-batch hides no All-to-all") {
  CHECK(Mixture(1).time().step_time() == Mixture(1).time_without().step_time());
}

TEST_CASE("All-to-alls are hidden at most behind the available computation") {
  Mixture slow(4);
  slow.bandwidth = 1e6;
  const Breakdown with = slow.time(), without = slow.time_without();
  const Seconds computing = with[Part::forward] + with[Part::backward];
  REQUIRE(without[Part::layer_collectives] > computing);
  CHECK((without[Part::layer_collectives] - with[Part::layer_collectives]).value() == Approx(3.0 / 4 * computing.value()));
}

TEST_CASE("hidden All-to-alls slow computation down") {
  Mixture slowed(4);
  slowed.slowdown.kernels = 1.25;
  CHECK(slowed.hidden() == Approx(3.0 / 4 / 1.25));
  // If kernels and exchange together are slower than one after the other, no All-to-all is hidden.
  slowed.slowdown = {.kernels = 2, .exchange = 3};
  CHECK(slowed.hidden() == Approx(0).margin(1e-12));
}

TEST_CASE("more micro-batches hide more of the All-to-alls, and faster links leave less of them exposed") {
  double before = -1;
  for (const std::int64_t count : {1, 2, 3, 4, 8, 64}) {
    const double hidden = Mixture(count).hidden();
    CHECK(hidden > before);
    before = hidden;
  }
  Seconds longer = Mixture(4).time_without().step_time() * 1e6;
  for (const double bandwidth : {1e5, 1e6, 1e8, 1e10, 1e12}) {
    Mixture mixture(4);
    mixture.bandwidth = bandwidth;
    const Seconds step_time = mixture.time().step_time();
    CHECK(step_time < longer);
    CHECK(step_time < mixture.time_without().step_time());
    longer = step_time;
  }
}

TEST_CASE("a pipeline hides All-to-alls if its stages are interleaved, between its first backward and its last forward") {
  Mixture piped(8);
  piped.plan.mesh.set(Axis::pipeline, 2);
  CHECK(piped.time().step_time() == piped.time_without().step_time());
  piped.plan.virtual_stages = 2;
  // Of sixteen forwards of model chunks, the first stage runs five before its first backward, and the last stage runs three.
  const int longest = piped.explanation().estimate.critical.time;
  CHECK(piped.hidden() == Approx(longest == 0 ? 11.0 / 16 : 13.0 / 16));
  // Stages that wait for the first micro-batch also wait for its exchanges.
  CHECK(piped.time()[Part::bubble].value() == Approx(piped.time_without()[Part::bubble].value()));
}

TEST_CASE("DualPipe hides All-to-alls behind micro-batches of the other direction") {
  Mixture both_ways(16);
  both_ways.plan.mesh.set(Axis::pipeline, 4);
  both_ways.plan.schedule = Schedule::dual_pipe;
  // At most five of the sixteen micro-batches are in flight before the first pair.
  const Breakdown with = both_ways.time(), without = both_ways.time_without();
  CHECK(with.step_time() < without.step_time());
  CHECK(both_ways.hidden() == Approx(11.0 / 16));
  both_ways.plan.recompute = Recompute::full;
  // Stages are summed one by one in one of the two steps.
  CHECK(both_ways.time().step_time().value() == Approx(both_ways.time_without().step_time().value()).epsilon(1e-12));
}

TEST_CASE("GPipe, full recomputation and a study without overlap hide no All-to-all") {
  Mixture gpipe(8);
  gpipe.plan.mesh.set(Axis::pipeline, 2);
  gpipe.plan.schedule = Schedule::gpipe;
  CHECK(gpipe.time().step_time() == gpipe.time_without().step_time());
  Mixture again(8);
  again.plan.recompute = Recompute::full;
  CHECK(again.time().step_time() == again.time_without().step_time());
  again.plan.recompute = Recompute::selective;
  CHECK(again.time().step_time() < again.time_without().step_time());
  Mixture alone(8);
  alone.assumptions.overlap = false;
  CHECK(alone.time().step_time() == alone.time_without().step_time());
}

TEST_CASE("an explanation gives the hidden time, and its layers add up") {
  const Mixture mixture(4);
  const Explanation explanation = mixture.explanation();
  Breakdown layers;
  for (const LayerExplanation& layer : explanation.layers) {
    for (const TimePart& part : time_parts) layers[part.part] += layer.time[part.part];
  }
  for (const TimePart& part : time_parts)
    CHECK((layers[part.part]).value() == Approx((explanation.estimate.time[part.part]).value()));
  for (const PhaseShare& phase : explanation.phases) {
    if (phase.what.part != Part::layer_collectives) continue;
    CHECK((phase.time + phase.hidden).value() == Approx(mixture.time_without()[Part::layer_collectives].value()));
  }
}
