#include "estimator/exchanges/gradient_exchange.hpp"

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

}  // namespace
