#include "estimator/exchanges/gradient_exchange.hpp"

#include <ostream>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

TEST_CASE("gradients are exchanged in the precision in which they are stored") {
  const auto bytes = [](Precision precision, MixedPrecision mixed, std::optional<GradientSums> sums = std::nullopt) {
    Plan plan;
    plan.precision = precision;
    Assumptions assumptions;
    assumptions.mixed_precision = mixed;
    assumptions.gradient_sums = sums;
    const ExchangedBytes each = exchanged_bytes(plan, assumptions);
    return std::pair(each.gradient, each.weight);
  };
  // With fp32 and tf32, weights and gradients have 4 bytes, for any setting of mixed precision.
  CHECK(bytes(Precision::tf32, MixedPrecision::half_gradients) == std::pair(4.0, 4.0));
  CHECK(bytes(Precision::bf16, MixedPrecision::half_gradients) == std::pair(2.0, 2.0));
  // Gradients are summed in 4 bytes, and weights are gathered in 2 bytes [Kort22; DeepSpeed, bf16_optimizer.py].
  CHECK(bytes(Precision::bf16, MixedPrecision::full_gradients) == std::pair(4.0, 2.0));
  CHECK(bytes(Precision::bf16, MixedPrecision::accumulated) == std::pair(4.0, 2.0));
  CHECK(bytes(Precision::fp16, MixedPrecision::autocast) == std::pair(4.0, 4.0));
  // The software's setting has priority.
  CHECK(bytes(Precision::bf16, MixedPrecision::half_gradients, GradientSums::full) == std::pair(4.0, 2.0));
  CHECK(bytes(Precision::bf16, MixedPrecision::full_gradients, GradientSums::half) == std::pair(2.0, 2.0));
}

/// The exchange of 100 weights on eight of nodes_of_four(), whose latencies are multiplied.
GradientExchange exchange_of(const Plan& plan, const Assumptions& assumptions, double latency) {
  Machine machine = nodes_of_four();
  for (LinkLevel& level : machine.levels) level.latency *= latency;
  const Coefficients coefficients;
  const ExchangeTimes times(plan, machine, coefficients, assumptions);
  const Model model = load_model("alexnet");
  const ExchangedBytes each = exchanged_bytes(plan, assumptions, facts_of(model));
  return gradient_exchange(plan, times, each, GradientGroup{family_bit(Axis::data), 100}, true);
}

TEST_CASE("the start-up parts of an exchange are what grows with the latency, also if gradients are coded") {
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  plan.precision = Precision::bf16;
  for (const Compression compression :
       {Compression::none, Compression::fp16, Compression::int8, Compression::one_bit, Compression::top_k}) {
    for (const int stage : {0, 1, 3}) {
      plan.zero_stage = stage;
      if (stage > 0 && !may_scatter(compression)) continue;
      Assumptions assumptions;
      assumptions.compression = compression;
      const GradientExchange usual = exchange_of(plan, assumptions, 1), slow = exchange_of(plan, assumptions, 2);
      INFO("compression " << static_cast<int>(compression) << ", ZeRO-" << stage);
      CHECK(usual.gradient_startups > Seconds{});
      CHECK((slow.of_gradients - usual.of_gradients).value() == Approx(usual.gradient_startups.value()));
    }
  }
}

TEST_CASE("after local steps, shard groups exchange differences of weights in fp32") {
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  plan.precision = Precision::bf16;
  plan.zero_stage = 3;
  plan.shard_group = 4;
  Assumptions assumptions;
  assumptions.mixed_precision = MixedPrecision::half_gradients;
  const auto bytes_between_groups = [&] {
    // Without latency, the time is proportional to the bytes.
    return exchange_of(plan, assumptions, 0).of_copies.value();
  };
  const double of_gradients = bytes_between_groups();
  assumptions.local_steps = 10;
  CHECK(bytes_between_groups() == Approx(2 * of_gradients / 10));
  // Gradients inside a group are still in half precision.
  const Model model = load_model("alexnet");
  CHECK(exchanged_bytes(plan, assumptions, facts_of(model)).gradient == 2);
}

TEST_CASE("local steps exchange fragments of the weights as messages of their own") {
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  Assumptions whole;
  whole.local_steps = 20;
  Assumptions parts = whole;
  parts.local_fragments = 5;
  // Without latency, five parts take as long as the whole. Each of them pays the latency.
  CHECK(exchange_of(plan, parts, 0).of_copies.value() == Approx(exchange_of(plan, whole, 0).of_copies.value()));
  CHECK(exchange_of(plan, parts, 1).copy_startups.value() == Approx(5 * exchange_of(plan, whole, 1).copy_startups.value()));
  plan.zero_stage = 1;
  plan.shard_group = 4;
  CHECK(exchange_of(plan, parts, 0).of_copies.value() == Approx(exchange_of(plan, whole, 0).of_copies.value()));
}

struct Messages {
  double gradients, gathers;
  friend bool operator==(const Messages&, const Messages&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Messages& messages) {
    return out << messages.gradients << " and " << messages.gathers;
  }
};

Messages messages_of(const Software& software, Plan plan, double parameters, double blocks) {
  plan.mesh.set(Axis::data, 64);
  GradientGroup group{family_bit(Axis::data), parameters};
  divide_into_messages(software, {}, plan, blocks, group);
  return {group.messages, group.gathers};
}

TEST_CASE("gradients and weights are divided into the messages of the framework") {
  constexpr double parameters = 1e9, blocks = 32;
  Plan plan;
  CHECK(messages_of({}, plan, parameters, blocks) == Messages{1, 1});

  Software buckets;
  buckets.gradient_bucket = (25_MiB).value();
  // 4e9 bytes of gradients in buckets of 25 MiB: 152.6.
  CHECK(messages_of(buckets, plan, parameters, blocks) == Messages{153, 1});
  plan.zero_stage = 2;
  CHECK(messages_of(buckets, plan, parameters, blocks) == Messages{blocks, 1});
  plan.zero_stage = 3;
  CHECK(messages_of(buckets, plan, parameters, blocks) == Messages{blocks, blocks});

  // Megatron-LM: buckets of max(40e6, 1e6 * 64) parameters, or one message without overlap
  // [NVIDIA/Megatron-LM, megatron/core/distributed/distributed_data_parallel.py].
  Software megatron;
  megatron.bucket_parameters = 40e6;
  megatron.bucket_parameters_per_rank = 1e6;
  plan.zero_stage = 1;
  CHECK(messages_of(megatron, plan, parameters, blocks) == Messages{16, 16});
  plan.virtual_stages = 10;
  CHECK(messages_of(megatron, plan, parameters, blocks) == Messages{20, 20});
  plan.virtual_stages = 1;
  megatron.overlaps_gradients = false;
  CHECK(messages_of(megatron, plan, parameters, blocks) == Messages{1, 1});
}

TEST_CASE("the last message of gradients is exposed, and the others while compute does not hide them") {
  GradientExchangeTimes<double> exchange;
  exchange.of_gradients = 8;
  // Four messages of 2 s. Three of them overlap with three quarters of the compute.
  CHECK(exposed(exchange, 100.0, 0.0, {4, 1}) == Approx(2));
  CHECK(exposed(exchange, 4.0, 0.0, {4, 1}) == Approx(2 + 6 - 3));
  // Only one message: all of it is exposed.
  CHECK(exposed(exchange, 100.0, 0.0, {1, 1}) == Approx(8));
}

TEST_CASE("ZeRO-3 copies weights after gathering them, and gradients before scattering them, if the software does") {
  constexpr double weights = 1000 * 1000, item = 2, bandwidth = 100e9;
  Plan plan;
  plan.mesh.set(Axis::data, 4);
  plan.global_batch = 8;
  plan.micro_batches = 2;
  plan.precision = Precision::bf16;
  plan.optimizer = Optimizer::adam;
  const auto waiting = [&](bool copies, int stage, bool reshard) {
    plan.zero_stage = stage;
    plan.reshard = reshard;
    Assumptions assumptions;
    assumptions.copies_gathered = copies;
    const OwnedJob owned(parse_model("format: 1\nmodel: m\ninput: {features: 1000}\nlayers:\n"
                                     "  - fully_connected: {features: 1000, bias: no}\n  - loss: mse\n",
                                     "m.yaml"),
                         nodes_of_four(), assumptions, 1000, std::nullopt, plan.precision, plan.optimizer);
    return Estimator(owned.job).estimate(plan).time[Part::waiting].value();
  };
  // Each of two micro-batches reads and writes the weights twice, and gradients once.
  CHECK(waiting(true, 3, true) - waiting(false, 3, true) == Approx(2 * (2 + 2 + 2) * weights * item / bandwidth));
  // Weights that stay in memory after forward are copied once.
  CHECK(waiting(true, 3, false) - waiting(false, 3, false) == Approx(2 * (2 + 2) * weights * item / bandwidth));
  CHECK(waiting(true, 2, true) == waiting(false, 2, true));
}

TEST_CASE("ranks that keep whole gradients copy them to messages and back, if the software does") {
  constexpr double weights = 1000 * 1000, bandwidth = 100e9;
  Plan plan;
  plan.global_batch = 8;
  plan.precision = Precision::bf16;
  plan.optimizer = Optimizer::adam;
  const auto update = [&](bool copies, int stage, int ranks) {
    plan.zero_stage = stage;
    plan.mesh.set(Axis::data, ranks);
    Assumptions assumptions;
    assumptions.copies_gradients = copies;
    const OwnedJob owned(parse_model("format: 1\nmodel: m\ninput: {features: 1000}\nlayers:\n"
                                     "  - fully_connected: {features: 1000, bias: no}\n  - loss: mse\n",
                                     "m.yaml"),
                         nodes_of_four(), assumptions, 1000, std::nullopt, plan.precision, plan.optimizer);
    return Estimator(owned.job).estimate(plan).time[Part::weight_update].value();
  };
  // Each copy reads and writes the gradients.
  const double gradient = exchanged_bytes(plan, Assumptions{}).gradient;
  CHECK(update(true, 0, 4) - update(false, 0, 4) == Approx(4 * weights * gradient / bandwidth));
  // ZeRO-1 sums gradients in the same messages. ZeRO-2 scatters them, and `copies_gathered` describes ZeRO-3.
  CHECK(update(true, 1, 4) - update(false, 1, 4) == Approx(4 * weights * gradient / bandwidth));
  CHECK(update(true, 2, 4) == update(false, 2, 4));
  CHECK(update(true, 0, 1) == update(false, 0, 1));
}

TEST_CASE("the time of copies does not depend on which plan is estimated first") {
  Assumptions assumptions;
  assumptions.copies_gathered = true;
  Plan plan;
  plan.mesh.set(Axis::data, 4);
  plan.global_batch = 8;
  plan.precision = Precision::bf16;
  plan.optimizer = Optimizer::adam;
  plan.zero_stage = 3;
  const OwnedJob owned(load_model("alexnet"), nodes_of_four(), assumptions, 1000, std::nullopt, plan.precision,
                       plan.optimizer);
  Plan kept = plan;
  kept.reshard = false;
  const auto waiting = [](const Estimator& estimator, const Plan& each) {
    return estimator.estimate(each).time[Part::waiting];
  };
  const Estimator one(owned.job), other(owned.job);
  const Seconds first = waiting(one, plan), second = waiting(one, kept);
  CHECK(waiting(other, kept) == second);
  CHECK(waiting(other, plan) == first);
  CHECK(second < first);
}

TEST_CASE("stages that hold whole weights and gradients exchange them once per step") {
  Plan plan;
  plan.mesh.set(Axis::data, 8);
  plan.mesh.set(Axis::pipeline, 4);
  plan.precision = Precision::bf16;
  plan.micro_batches = 16;
  plan.zero_stage = 3;
  Assumptions assumptions;
  const GradientExchange each_time = exchange_of(plan, assumptions, 1);
  assumptions.gathers_units = true;
  const GradientExchange once = exchange_of(plan, assumptions, 1);
  CHECK(each_time.rounds == 16);
  CHECK(each_time.gathers == 2 * 16);
  CHECK(once.rounds == 1);
  CHECK(once.gathers == 1);
  CHECK(once.of_gradients.value() == Approx(each_time.of_gradients.value() / 16));
  // Without a pipeline, each micro-batch gathers and scatters.
  plan.mesh.set(Axis::pipeline, 1);
  CHECK(exchange_of(plan, assumptions, 1).rounds == 16);
}

}  // namespace
