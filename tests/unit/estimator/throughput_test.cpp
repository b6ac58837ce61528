#include "estimator/explain/throughput.hpp"

#include <string>

#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"
#include "tests/owned_job.hpp"
#include "tests/unit/estimator/nodes_of_four.hpp"

namespace {

using namespace ddl;

SampleFlops flops_of(const Model& model) { return sample_flops(facts_of(model)); }

Model model_of(const std::string& input, const std::string& layers) {
  return parse_model("format: 1\nmodel: m\ninput: " + input + "\nlayers:\n" + layers, "m.yaml");
}

Plan plan_of(Recompute recompute) {
  Plan plan;
  plan.recompute = recompute;
  return plan;
}

/// One sample of GPT-3: 96 layers of hidden size 12,288, sequences of 2,048, and a vocabulary of 51,200.
struct Gpt3 {
  static constexpr double l = 96, h = 12288, s = 2048, v = 51200;
  SampleFlops flops = flops_of(load_model("gpt3-175b"));
};

TEST_CASE("full recomputation of GPT-3 takes the FLOPs of equation 3 of Narayanan et al., SC 2021") {
  const Gpt3 gpt3;
  // The published FLOPs of one sample are 96 B s l h² (1 + s/6h + V/16lh).
  const double published =
      96 * Gpt3::s * Gpt3::l * Gpt3::h * Gpt3::h * (1 + Gpt3::s / (6 * Gpt3::h) + Gpt3::v / (16 * Gpt3::l * Gpt3::h));
  CHECK(gpt3.flops.hardware(plan_of(Recompute::full)) == Approx(published).epsilon(1e-9));
  // Three of four passes are the model's. The head is not recomputed, so all of its three passes are the model's.
  const double head = 6 * Gpt3::s * Gpt3::h * Gpt3::v;
  CHECK(gpt3.flops.model() == Approx(0.75 * (published - head) + head).epsilon(1e-9));
}

TEST_CASE("the FLOPs of GPT-3 follow PaLM's formula, except for operations other than matrix products") {
  const Gpt3 gpt3;
  // The FLOPs per token are 6N + 12 L H Q T, with H Q = h [Chowdhery et al., arXiv 2204.02311, appendix B].
  const auto parameters = static_cast<double>(load_model("gpt3-175b").parameters());
  const double per_token = 6 * parameters + 12 * Gpt3::l * Gpt3::h * Gpt3::s;
  // N includes the table of positions, norms and biases, 0.02 % of 174.6 billion parameters.
  CHECK(gpt3.flops.model() / Gpt3::s == Approx(per_token).epsilon(1e-3));
  CHECK(gpt3.flops.model() / Gpt3::s < per_token);
}

TEST_CASE("selective recomputation repeats the forward of attention: two products of s × s × h in each layer") {
  const Gpt3 gpt3;
  CHECK(gpt3.flops.hardware(plan_of(Recompute::selective)) - gpt3.flops.model() ==
        Approx(4 * Gpt3::s * Gpt3::s * Gpt3::h * Gpt3::l).epsilon(1e-6));
  CHECK(gpt3.flops.hardware(plan_of(Recompute::none)) == gpt3.flops.model());
}

TEST_CASE("pairs hidden by a causal mask are included, even if the kernel skips them") {
  const SampleFlops fused = flops_of(load_model("gpt2"));
  const SampleFlops written = flops_of(load_model("gpt2@fused=no"));
  CHECK(fused.model() == written.model());
  CHECK(fused.of({RecomputeModule::core_attn}) == written.of({RecomputeModule::core_attn}));
  // There are two products of 12 layers, 1,024 × 1,024 × 768 each.
  CHECK(fused.of({RecomputeModule::core_attn}) == 12 * 2 * 2.0 * 1024 * 1024 * 768);
}

TEST_CASE("FLOPs that kernels may leave out are those of masked pairs and of windows of 3 × 3 with stride 1") {
  // Of s² pairs, s (s − 1) / 2 are masked; a pair has 2 h FLOPs in each of two products and three passes.
  const SampleFlops gpt2 = flops_of(load_model("gpt2"));
  CHECK(gpt2.masked == Approx(3 * 2 * 2 * 12 * 768.0 * 1024 * 1023 / 2));
  CHECK(gpt2.square3 == 0);
  // Kernels that write scores skip no pairs.
  CHECK(flops_of(load_model("gpt2@fused=no")).masked == 0);
  const SampleFlops images = flops_of(model_of("{channels: 4, size: 16x16}", R"(  - convolution: {filters: 8, kernel: 1}
  - convolution: {filters: 8, kernel: 3, padding: same}
  - convolution: {filters: 8, kernel: 3, stride: 2}
)"));
  CHECK(images.masked == 0);
  CHECK(images.square3 == 3 * 2 * 16 * 16 * 8 * 8 * 9);
}

TEST_CASE("a window has as many pairs per query as its width") {
  const auto attention = [](const std::string& more) {
    return flops_of(model_of("{tokens: 64}",
                             "  - embedding: {vocabulary: 100, features: 24}\n"
                             "  - fully_connected: {features: 72}\n"
                             "  - attention: {heads: 3, causal: yes" +
                                 more + "}\n"))
        .of({RecomputeModule::core_attn});
  };
  CHECK(attention("") == 2 * 2.0 * 64 * 64 * 24);
  CHECK(attention(", window: 16, fused: yes") == 2 * 2.0 * 64 * 16 * 24);
  CHECK(attention(", window: 16") == attention(", window: 16, fused: yes"));
  CHECK(attention(", window: 100, fused: yes") == attention(""));
}

TEST_CASE("only products count as FLOPs, and the first convolution has no gradient of its input") {
  const SampleFlops flops = flops_of(model_of("{channels: 3, size: 8x8}",
                                              "  - convolution: {filters: 5, kernel: 3, padding: 1}\n"
                                              "  - activation: {kind: relu}\n"
                                              "  - flatten\n"
                                              "  - fully_connected: {features: 10}\n"));
  const double convolution = 2.0 * 5 * 8 * 8 * 3 * 3 * 3, matrix = 2.0 * 5 * 8 * 8 * 10;
  CHECK(flops.forward == convolution + matrix);
  CHECK(flops.backward == convolution + 2 * matrix);
  // There are neither blocks nor attention, so nothing is recomputed.
  CHECK(flops.hardware(plan_of(Recompute::full)) == flops.model());
  CHECK(flops.hardware(plan_of(Recompute::selective)) == flops.model());
}

/// Returns a step of 8 samples on 4 devices in 2 s.
Estimate estimate_of(Precision precision) {
  Estimate estimate;
  estimate.plan.global_batch = 8;
  estimate.plan.mesh.set(Axis::data, 4);
  estimate.plan.precision = precision;
  estimate.time[Part::forward] = Seconds(2);
  return estimate;
}

struct OnNodesOfFour : OwnedJob {
  explicit OnNodesOfFour(Model a_model) : OwnedJob(std::move(a_model), nodes_of_four(), Assumptions{}, 1000) {}
};

TEST_CASE("a device's share of the FLOPs is divided by its peak in the plan's precision") {
  const OnNodesOfFour features(model_of("{features: 8}", "  - fully_connected: {features: 10}\n"));
  const SampleFlops flops{.forward = 1e11, .backward = 2e11, .blocks = 1e11};
  Estimate estimate = estimate_of(Precision::fp32);
  estimate.plan.recompute = Recompute::full;
  const auto throughput = throughput_of(features.job, flops, estimate);
  REQUIRE(throughput);
  // 4 samples per second, one on each device, are 3e11 and 4e11 FLOP/s of 1e12.
  CHECK(throughput->samples == 4);
  CHECK_FALSE(throughput->tokens.has_value());
  CHECK(throughput->model.value() == Approx(3e11));
  CHECK(throughput->hardware.value() == Approx(4e11));
  CHECK(throughput->model_share.value() == Approx(0.3));
  CHECK(throughput->hardware_share.value() == Approx(0.4));
  // The peak is 4e12 in half precision.
  estimate.plan.precision = Precision::fp16;
  CHECK(throughput_of(features.job, flops, estimate)->model_share.value() == Approx(0.075));
}

TEST_CASE("without a peak, no MFU is reported, and without a time, no throughput") {
  const OnNodesOfFour features(model_of("{features: 8}", "  - fully_connected: {features: 10}\n"));
  const SampleFlops flops{.forward = 1e11, .backward = 2e11};
  const auto throughput = throughput_of(features.job, flops, estimate_of(Precision::tf32));
  REQUIRE(throughput);
  CHECK(throughput->model.value() == Approx(3e11));
  CHECK_FALSE(throughput->model_share.has_value());
  CHECK_FALSE(throughput->hardware_share.has_value());
  CHECK_FALSE(throughput_of(features.job, flops, Estimate{}).has_value());
}

TEST_CASE("tokens are counted only for models of sequences") {
  const OnNodesOfFour words(model_of("{tokens: 16}",
                                     "  - embedding: {vocabulary: 100, features: 8}\n"
                                     "  - fully_connected: {features: 10}\n"));
  const Estimate estimate = estimate_of(Precision::fp32);
  CHECK(throughput_of(words.job, {}, estimate)->tokens.value() == 64);
  // There are 128 tokens in each step of 2 s. A partial step counts as a whole step.
  CHECK(training_time(words.job, estimate, 1280).value() == Seconds(20));
  CHECK(training_time(words.job, estimate, 1).value() == Seconds(2));
  CHECK_FALSE(training_time(words.job, Estimate{}, 1280).has_value());
  const OnNodesOfFour features(model_of("{features: 8}", "  - fully_connected: {features: 10}\n"));
  CHECK_FALSE(training_time(features.job, estimate, 1280).has_value());
}

}  // namespace
