#include <string>

#include "estimator/facts/model_facts.hpp"
#include "model_zoo/files/load_model.hpp"
#include "tests/catch.hpp"

using namespace ddl;

namespace {

struct Split {
  Model model;
  ModelFacts facts;

  explicit Split(const std::string& name) : model(load_model(name)), facts(facts_of(model)) {}

  [[nodiscard]] std::size_t find(const std::string& name) const {
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      if (model.layers[i].name == name) return i;
    }
    FAIL("no layer " << name);
    return 0;
  }
  [[nodiscard]] TensorSplitRole role(const std::string& name) const { return facts.tensor_role[find(name)]; }
  [[nodiscard]] std::int64_t units(const std::string& name) const { return facts.tensor_units[find(name)]; }
  [[nodiscard]] bool sends(const std::string& name) const { return facts.sends_input_gradient[find(name)]; }
};

}  // namespace

TEST_CASE("latent attention is split between heads, but its compression is not") {
  const Split deepseek("deepseek-v3");
  const std::string attention = "layer5.attention.";
  // Megatron-LM splits the matrices after the compressed vectors by heads, and the projection of the heads.
  CHECK(deepseek.role(attention + "queries.up") == TensorSplitRole::column);
  CHECK(deepseek.role(attention + "keys_and_values") == TensorSplitRole::column);
  CHECK(deepseek.role(attention + "queries.rotary1") == TensorSplitRole::inside);
  CHECK(deepseek.role(attention + "attention1") == TensorSplitRole::inside);
  CHECK(deepseek.role(attention + "projection") == TensorSplitRole::row);
  for (const std::string name : {"queries.up", "keys_and_values", "attention1", "projection"}) {
    CHECK(deepseek.units(attention + name) == 128);
  }
  for (const std::string name : {"compressed", "queries.down"})
    CHECK(deepseek.role(attention + name) == TensorSplitRole::lone);
  CHECK(deepseek.role(attention + "latent") == TensorSplitRole::whole);
  // Each column layer reads its own compressed vector, and sums the gradient of this vector.
  CHECK(deepseek.sends(attention + "queries.up"));
  CHECK(deepseek.sends(attention + "keys_and_values"));
  // Experts and the shared expert are separate pairs.
  for (const std::string part : {"routed.experts.", "shared."}) {
    const std::string name = "layer5.mixture." + part;
    INFO(name);
    for (const Layer& layer : deepseek.model.layers) {
      if (layer.name == name + "gate") CHECK(deepseek.role(layer.name) == TensorSplitRole::column);
      if (layer.name == name + "down") CHECK(deepseek.role(layer.name) == TensorSplitRole::row);
    }
  }
}

TEST_CASE("norms of queries and keys stay within a rank's heads") {
  const Split qwen("qwen3-8b");
  CHECK(qwen.role("layer7.qkv") == TensorSplitRole::column);
  CHECK(qwen.role("layer7.query_key_norm1") == TensorSplitRole::inside);
  CHECK(qwen.units("layer7.query_key_norm1") == 8);
  CHECK(qwen.role("layer7.projection") == TensorSplitRole::row);
  // A cap of the output is part of the loss, so the head stays split up to the cap.
  const Split gemma("gemma2-9b");
  CHECK(gemma.role("head") == TensorSplitRole::head);
}

TEST_CASE("Llama's query heads are cut between key-value heads, its perceptron between features") {
  const Split llama("llama3-70b");
  for (const std::string name : {"qkv", "rotary1", "attention1", "projection"}) CHECK(llama.units("layer7." + name) == 8);
  CHECK(llama.role("layer7.qkv") == TensorSplitRole::column);
  CHECK(llama.role("layer7.rotary1") == TensorSplitRole::inside);
  CHECK(llama.role("layer7.attention1") == TensorSplitRole::inside);
  CHECK(llama.role("layer7.projection") == TensorSplitRole::row);
  for (const std::string name : {"gate", "up"}) {
    CHECK(llama.role("layer7.perceptron." + name) == TensorSplitRole::column);
    CHECK(llama.units("layer7.perceptron." + name) == 28672);
  }
  CHECK(llama.role("layer7.perceptron.silu1") == TensorSplitRole::inside);
  CHECK(llama.role("layer7.perceptron.multiply1") == TensorSplitRole::inside);
  CHECK(llama.role("layer7.perceptron.down") == TensorSplitRole::row);
  // Gate and up projection have one sum of the gradient.
  CHECK(llama.sends("layer7.perceptron.gate"));
  CHECK_FALSE(llama.sends("layer7.perceptron.up"));
  CHECK(llama.role("head") == TensorSplitRole::head);
  CHECK(llama.role("embedding") == TensorSplitRole::lookup);
}

TEST_CASE("each of Mixtral's experts is split, and every rank routes") {
  const Split mixtral("mixtral-8x7b");
  for (const std::string name : {"gate", "up"}) {
    CHECK(mixtral.role("layer7.mixture.experts." + name) == TensorSplitRole::column);
    CHECK(mixtral.units("layer7.mixture.experts." + name) == 14336);
  }
  CHECK(mixtral.role("layer7.mixture.experts.down") == TensorSplitRole::row);
  for (const std::string name : {"router", "dispatch1", "combine1"}) {
    CHECK(mixtral.role("layer7.mixture." + name) == TensorSplitRole::whole);
    CHECK_FALSE(mixtral.facts.divisible[mixtral.find("layer7.mixture." + name)].matrix);
  }
}

TEST_CASE("T5's attention to the encoder is split by heads, and both of its column-parallel layers send a gradient") {
  const Split t5("t5-large");
  const std::string part = "decoded.decoder_layer3.cross_attention.";
  CHECK(t5.role(part + "queries") == TensorSplitRole::column);
  CHECK(t5.role(part + "keys_and_values") == TensorSplitRole::column);
  CHECK(t5.role(part + "heads") == TensorSplitRole::inside);
  CHECK(t5.role(part + "projection") == TensorSplitRole::row);
  for (const std::string name : {"queries", "keys_and_values", "heads", "projection"}) CHECK(t5.units(part + name) == 16);
  // The two layers read different tensors.
  CHECK(t5.sends(part + "queries"));
  CHECK(t5.sends(part + "keys_and_values"));
}

TEST_CASE("for layers that share a table, the table's owner and the previous user are known") {
  const Split t5("t5-large");
  const int words = static_cast<int>(t5.find("words"));
  std::vector<TiedLayer> readers;
  for (const TiedLayer& tied : t5.facts.tied) {
    if (tied.owner == words) readers.push_back(tied);
  }
  REQUIRE(readers.size() == 2);
  CHECK(readers[0].reader == static_cast<int>(t5.find("target_words")));
  CHECK(readers[0].previous == words);
  CHECK(readers[1].reader == static_cast<int>(t5.find("head")));
  CHECK(readers[1].previous == readers[0].reader);
  // A table of biases does not make attention a layer with a matrix.
  for (const int layer : t5.facts.weighted) {
    CHECK(t5.model.layers[static_cast<std::size_t>(layer)].operation->type() != "attention");
  }
}
