// Tests of what fp8 training keeps in memory: inputs of linear layers, weights, and frozen weights.

#include <algorithm>
#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/strategies/shard_memory.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/trained_parts.hpp"
#include "tests/catch.hpp"
#include "tests/unit/estimator/small_models.hpp"

namespace {

using namespace ddl;

TEST_CASE("a linear layer keeps a copy of its input in fp8, and other layers keep what they read") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {features: 5}\nlayers:\n  - fully_connected: 9\n  - activation: gelu\n"
      "  - fully_connected: 7\n  - fully_connected: 3\n  - loss: cross_entropy\n",
      "m.yaml");
  const ModelFacts facts = facts_of(model);
  CHECK(facts.output_kept == std::vector<bool>{true, true, true, false, false});
  // gelu keeps its input, and the last product before the loss runs in bf16.
  CHECK(facts.output_kept_narrow == std::vector<bool>{true, false, true, false, false});
  CHECK(facts.narrow_copies == std::vector<bool>{false, false, true, false, false});
}

TEST_CASE("linear layers that read the same tensor share its copy in fp8") {
  // The linear layers of a Llama block read four tensors: both norms, the output of attention, and the gated product. The
  // output of attention is kept anyway.
  const Model model = load_model("llama3-8b@layers=2");
  const ModelFacts facts = facts_of(model);
  CHECK(std::count(facts.narrow_copies.begin(), facts.narrow_copies.end(), true) == 6);
}

TEST_CASE("weights in fp8: copies of weights in bf16, or fp8 alone, and frozen weights once") {
  Model model = chain_of(3);
  Plan plan;
  plan.optimizer = Optimizer::adam;
  plan.precision = Precision::fp8;
  Assumptions assumptions;
  // Weights and transposes in fp8 take one byte each, weights in bf16 two.
  CHECK(parameter_bytes(facts_of(model), plan, assumptions).weight == 4);
  CHECK(exchanged_bytes(plan, assumptions).weight == 2);
  assumptions.narrow_weights = NarrowWeights::primary;
  CHECK(parameter_bytes(facts_of(model), plan, assumptions).weight == 2);
  CHECK(exchanged_bytes(plan, assumptions).weight == 1);
  plan.precision = Precision::bf16;
  CHECK(parameter_bytes(facts_of(model), plan, assumptions).weight == 2);
  plan.precision = Precision::fp8;

  TrainedParts parts;
  parts.trained = {model.layers.front().name};
  train_only(model, parts);
  const ModelFacts facts = facts_of(model);
  const double trained = facts.trained_parameters / facts.parameters;
  REQUIRE(trained < 1);
  // A frozen weight has one byte, and a scale of one byte for each 32 weights.
  CHECK(parameter_bytes(facts, plan, assumptions).weight == Approx(2 * trained + (1 - trained) * 33 / 32));
}

TEST_CASE("copies of weights and inputs have the bits of the format, and scales of 8 bits for 16 or 32 elements") {
  Model model = chain_of(3);
  const ModelFacts facts = facts_of(model);
  Plan plan;
  plan.optimizer = Optimizer::adam;
  const Assumptions assumptions;
  struct Format {
    Precision precision;
    double item;
  };
  for (const auto& [precision, item] : {Format{Precision::nvfp4, 0.5 + 1.0 / 16},
                                        {Precision::mxfp8, 1 + 1.0 / 32},
                                        {Precision::mxfp6, 0.75 + 1.0 / 32},
                                        {Precision::mxfp4, 0.5 + 1.0 / 32}}) {
    INFO(to_string(precision));
    plan.precision = precision;
    CHECK(narrow_item_bytes(precision) == Approx(item));
    CHECK(parameter_bytes(facts, plan, assumptions).weight == Approx(2 + 2 * item));
    CHECK(exchanged_bytes(plan, assumptions).weight == 2);
  }
}

TEST_CASE("training in int8 keeps weights, frozen weights and inputs of products in half precision") {
  Model model = chain_of(3);
  Plan plan;
  plan.optimizer = Optimizer::adam;
  plan.precision = Precision::int8;
  Assumptions assumptions;
  assumptions.fp8_activation_inputs = true;
  const auto form_in = [&](Precision precision) {
    Plan other = plan;
    other.precision = precision;
    return kept_form(other, assumptions);
  };
  // torchao makes integers where a product reads them.
  CHECK(form_in(Precision::int8) == form_in(Precision::bf16));
  CHECK(form_in(Precision::mxfp8) == KeptForm::stored);
  CHECK(parameter_bytes(facts_of(model), plan, assumptions).weight == 2);
  TrainedParts parts;
  parts.trained = {model.layers.front().name};
  train_only(model, parts);
  CHECK(parameter_bytes(facts_of(model), plan, assumptions).weight == 2);
}

}  // namespace
