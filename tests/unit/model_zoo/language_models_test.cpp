#include <algorithm>
#include <string>
#include <vector>

#include "model_zoo/model.hpp"
#include "tests/catch.hpp"
#include "tests/unit/model_zoo/kept_bytes.hpp"

using namespace ddl;

namespace {

std::vector<int> layers_of_block(const Model& model, int block) {
  std::vector<int> layers;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].block == block) layers.push_back(static_cast<int>(i));
  }
  return layers;
}

double macs_of(const Model& model, const std::string& type) {
  double sum = 0;
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() == type) sum += layer.operation->macs(layer.input_shapes, layer.output_shape);
  }
  return sum;
}

}  // namespace

TEST_CASE("GPT-2 and Megatron's models have the published number of parameters") {
  struct Case {
    std::string name;
    std::int64_t layers, h, vocabulary, tokens, parameters;
    double billions;  ///< as printed
  };
  // Per layer 12h² + 13h, embeddings (V + s)h, final norm 2h. The counts of GPT-2 are those of the weights at huggingface.co
  // (openai-community); its paper prints 345M, 762M and 1542M. Those of Megatron are printed by Shoeybi et al. 2019, table
  // 2, and by Narayanan et al. 2021, table 1, from P = 12lh²(1 + 13/(12h) + (V + s)/(12lh)), which leaves the final norm
  // out.
  for (const Case& c : {Case{"gpt2-medium", 24, 1024, 50257, 1024, 354'823'168, 0.355},
                        Case{"gpt2-large", 36, 1280, 50257, 1024, 774'030'080, 0.774},
                        Case{"gpt2-xl", 48, 1600, 50257, 1024, 1'557'611'200, 1.558},
                        Case{"megatron-8.3b", 72, 3072, 51200, 1024, 8'317'040'640, 8.3},
                        Case{"megatron-530b", 105, 20480, 51200, 2048, 529'600'819'200, 529.6},
                        Case{"megatron-1t", 128, 25600, 51200, 2048, 1'008'038'758'400, 1008.0}}) {
    const Model model = load_model(c.name);
    INFO(c.name);
    CHECK(model.parameters() == c.parameters);
    CHECK(model.parameters() == c.layers * (12 * c.h * c.h + 13 * c.h) + (c.vocabulary + c.tokens) * c.h + 2 * c.h);
    CHECK(static_cast<double>(c.parameters) / 1e9 == Approx(c.billions).margin(c.billions < 2 ? 0.0005 : 0.05));
    CHECK(model.blocks == c.layers);
    CHECK(model.sequence_length == c.tokens);
  }
}

TEST_CASE("Megatron's models do the floating-point operations of Narayanan et al.") {
  // Equation 3 there, without recomputation 72Blsh²(1 + s/(6h) + V/(12lh)) forward and backward, a third of it forward: in
  // matrix products alone, and each multiply-add as two.
  for (const auto& [name, l, h] :
       {std::tuple<std::string, double, double>{"megatron-530b", 105, 20480}, {"megatron-1t", 128, 25600}}) {
    const double s = 2048;
    const double vocabulary = 51200;
    INFO(name);
    CHECK(2 * load_model(name).macs() ==
          Approx(24 * l * s * h * h * (1 + s / (6 * h) + vocabulary / (12 * l * h))).epsilon(1e-12));
  }
}

TEST_CASE("Llama and Mixtral have the published number of parameters") {
  struct Case {
    std::string name;
    std::int64_t layers, h, kv, f, vocabulary, experts, active, parameters;
  };
  // Of the weights at huggingface.co: meta-llama's Llama-2 and Llama-3.1, mistralai's Mixtral-8x7B-v0.1. A layer has queries
  // and output h² each, keys and values h·kv each, experts of 3hf and a router of h each where there are several, two norms
  // of h; embedding and head Vh each, a norm of h at the end.
  for (const Case& c : {Case{"llama2-7b", 32, 4096, 4096, 11008, 32000, 1, 1, 6'738'415'616},
                        Case{"llama2-13b", 40, 5120, 5120, 13824, 32000, 1, 1, 13'015'864'320},
                        Case{"llama2-70b", 80, 8192, 1024, 28672, 32000, 1, 1, 68'976'648'192},
                        Case{"llama3-8b", 32, 4096, 1024, 14336, 128256, 1, 1, 8'030'261'248},
                        Case{"llama3-70b", 80, 8192, 1024, 28672, 128256, 1, 1, 70'553'706'496},
                        Case{"llama3-405b", 126, 16384, 1024, 53248, 128256, 1, 1, 405'853'388'800},
                        Case{"mixtral-8x7b", 32, 4096, 1024, 14336, 32000, 8, 2, 46'702'792'704}}) {
    const Model model = load_model(c.name);
    INFO(c.name);
    const std::int64_t router = c.experts > 1 ? c.experts * c.h : 0;
    const auto layer = [&](std::int64_t experts) {
      return 2 * c.h * c.h + 2 * c.h * c.kv + experts * 3 * c.h * c.f + router + 2 * c.h;
    };
    CHECK(model.parameters() == c.parameters);
    CHECK(model.parameters() == c.layers * layer(c.experts) + 2 * c.vocabulary * c.h + c.h);
    CHECK(model.blocks == c.layers);
    // Forward: a multiply-add of each token with each parameter that it meets in a matrix, and attention, where token i
    // multiplies queries and values with i tokens: 2lh·s(s + 1)/2.
    const double s = static_cast<double>(model.sequence_length);
    const auto met = static_cast<double>(c.layers * (layer(c.active) - 2 * c.h) + c.vocabulary * c.h);
    const double attention = static_cast<double>(c.layers * c.h) * s * (s + 1);
    CHECK(macs_of(model, "attention") == attention);
    CHECK(model.macs() == Approx(s * met + attention).epsilon(1e-12));
  }
}

TEST_CASE("Mixtral uses 12.9 of its 46.7 billion parameters for each token") {
  // As Jiang et al. 2024 print, 13B in the abstract; all but the embedding, of which a token reads a row, and norms.
  const Model model = load_model("mixtral-8x7b");
  const double s = static_cast<double>(model.sequence_length);
  const double met = (model.macs() - macs_of(model, "attention")) / s;
  CHECK((met + 32000.0 * 4096) / 1e9 == Approx(12.9).margin(0.05));
}

TEST_CASE("BERT and T5 have the published number of parameters") {
  // BertModel of bert-base-uncased: (30522 + 512 + 2)h + 2h, 12 layers of 12h² + 13h, pooler h² + h, for h = 768.
  const std::int64_t h = 768;
  const Model bert = load_model("bert-base");
  CHECK(bert.parameters() == (30522 + 512 + 2) * h + 2 * h + 12 * (12 * h * h + 13 * h) + h * h + h);
  CHECK(bert.parameters() == 109'482'240);
  CHECK(bert.blocks == 12);

  // T5ForConditionalGeneration of t5-large (770 million, Raffel et al. 2020, table 14's caption and section 3.7): h = 1024
  // in 16 heads of 64, perceptrons of 4096. Encoder: 4h² + 2·4096h and two norms; decoder: 8h² + 2·4096h and three; one
  // embedding of 32,128; a norm at the end of each; 32 biases for each head of each.
  const Model t5 = load_model("t5-large");
  const std::int64_t d = 1024;
  const std::int64_t encoder = 4 * d * d + 2 * 4096 * d + 2 * d;
  const std::int64_t decoder = 8 * d * d + 2 * 4096 * d + 3 * d;
  CHECK(t5.parameters() == 24 * (encoder + decoder) + 32128 * d + 2 * d + 2 * 32 * 16);
  CHECK(t5.parameters() == 737'668'096);
  CHECK(t5.blocks == 48);
  // Of equally long sequences: each matrix once for each of its tokens, keys and values of the encoder's output too, and
  // three attentions of 2s²h in the two stacks; the head.
  const double s = 512;
  CHECK(t5.macs() == Approx(s * static_cast<double>(24 * (encoder + decoder - 5 * d) + 32128 * d) +
                            24 * 3 * 2 * s * s * static_cast<double>(d))
                         .epsilon(1e-12));
}

TEST_CASE("the layers of T5's stacks share the biases of their first") {
  const Model t5 = load_model("t5-large");
  int owners = 0, sharers = 0, crossing = 0;
  for (const Layer& layer : t5.layers) {
    if (layer.operation->type() != "attention") continue;
    owners += layer.parameters() == 32 * 16 ? 1 : 0;
    sharers += layer.tied_to >= 0 ? 1 : 0;
    crossing += layer.inputs.size() == 2 ? 1 : 0;
    if (layer.tied_to >= 0) {
      const std::string& owner = t5.layers[static_cast<std::size_t>(layer.tied_to)].name;
      CHECK(owner.substr(0, 7) == layer.name.substr(0, 7));
      CHECK(owner.find("layer0.attention") != std::string::npos);
    }
  }
  CHECK(owners == 2);
  CHECK(sharers == 2 * 23);
  CHECK(crossing == 24);
}

TEST_CASE("a layer of Llama keeps for backward what its kernels need") {
  // In bytes for a token, at 2 bytes an item: two norms and two sums in, their outputs (as inputs of qkv, gate and up): 4h;
  // queries, keys and values behind the rotation h + 2 kv; attention's output h, and 4 bytes for each head; gate, silu of
  // it, up, their product: 4f.
  for (const auto& [name, h, kv, heads, f] :
       {std::tuple<std::string, double, double, double, double>{"llama2-7b", 4096, 4096, 32, 11008},
        {"llama3-70b", 8192, 1024, 64, 28672}}) {
    const Model model = load_model(name);
    const double tokens = static_cast<double>(model.sequence_length);
    INFO(name);
    CHECK(kept_bytes(model, layers_of_block(model, 3), 2).sum() ==
          Approx(tokens * (2 * (4 * h + h + 2 * kv + h + 4 * f) + 4 * heads)).epsilon(1e-12));
  }
}

TEST_CASE("published spellings of language models find them") {
  for (const auto& [spelling, name] : {std::pair{"Llama-2-7b-hf", "llama2-7b"},
                                       {"LLaMA2-70B", "llama2-70b"},
                                       {"Llama-3.1-405B", "llama3-405b"},
                                       {"Mixtral-8x7B-v0.1", "mixtral-8x7b"},
                                       {"GPT-2 XL", "gpt2-xl"},
                                       {"T5-Large", "t5-large"},
                                       {"BERT-Base", "bert-base"},
                                       {"Megatron-1T", "megatron-1t"}}) {
    CHECK(canonical_model_name(spelling) == name);
  }
}
