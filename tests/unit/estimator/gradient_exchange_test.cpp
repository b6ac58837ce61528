#include "estimator/exchanges/gradient_exchange.hpp"

#include <ostream>

#include "tests/catch.hpp"

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

}  // namespace
