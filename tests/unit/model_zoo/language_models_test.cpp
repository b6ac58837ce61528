#include <algorithm>
#include <string>
#include <vector>

#include "core/csv.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/published_names.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/kept_bytes.hpp"

namespace language_models_tests {

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
    double billions;  ///< billions of parameters, as printed
  };
  // A layer has 12h² + 13h parameters, the embeddings (V + s)h, and the final norm 2h. The counts of GPT-2 are those of the
  // weights at huggingface.co (openai-community); its paper prints 345M, 762M and 1542M. The counts of Megatron are printed
  // by Shoeybi et al. 2019, table 2, and by Narayanan et al. 2021, table 1, from P = 12lh²(1 + 13/(12h) + (V + s)/(12lh)),
  // which leaves out the final norm.
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
  // Their equation 3, without recomputation, is 72Blsh²(1 + s/(6h) + V/(12lh)) for forward and backward, of which forward is
  // a third. Only matrix products count, and a multiply-add counts as two.
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
  // The numbers are those of the weights at huggingface.co: meta-llama's Llama-2 and Llama-3.1, mistralai's
  // Mixtral-8x7B-v0.1. A layer has queries and output of h² each, keys and values of h·kv each, experts of 3hf and, if there
  // are several, a router of h for each, and two norms of h. Embedding and head have Vh each, and the final norm h.
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
    // Forward has a multiply-add of each token with each parameter of the matrices that it passes,
    // and attention, where token i multiplies queries and values with i tokens: 2lh·s(s + 1)/2.
    const double s = static_cast<double>(model.sequence_length);
    const auto met = static_cast<double>(c.layers * (layer(c.active) - 2 * c.h) + c.vocabulary * c.h);
    const double attention = static_cast<double>(c.layers * c.h) * s * (s + 1);
    CHECK(macs_of(model, "attention") == attention);
    CHECK(model.macs() == Approx(s * met + attention).epsilon(1e-12));
  }
}

TEST_CASE("Mixtral uses 12.9 of its 46.7 billion parameters for each token") {
  // Jiang et al. 2024 print 13B in the abstract. This leaves out the embedding, of which a token reads a row, and norms.
  const Model model = load_model("mixtral-8x7b");
  const double s = static_cast<double>(model.sequence_length);
  const double met = (model.macs() - macs_of(model, "attention")) / s;
  CHECK((met + 32000.0 * 4096) / 1e9 == Approx(12.9).margin(0.05));
}

TEST_CASE("language models have as many parameters as their published weights have items") {
  const CsvTable table = CsvTable::load(DATA_FOLDER "language_model_parameters.csv");
  REQUIRE(table.rows() == 80);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name = table.cell(row, table.column("model"));
    INFO(name);
    const Model model = load_model(name);
    // The numbers that correct the router's scores of DeepSeek-V3 are not trained, but they are published with the weights.
    CHECK(model.parameters() + model.buffers() == static_cast<std::int64_t>(*table.number(row, table.column("parameters"))));
  }
}

TEST_CASE("language models have the parameters that transformers counts for their configurations") {
  const CsvTable table = CsvTable::load(DATA_FOLDER "transformers_parameters.csv");
  REQUIRE(table.rows() == 187);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name = table.cell(row, table.column("model"));
    INFO(name);
    const std::int64_t parameters = load_model(name).parameters();
    CHECK(parameters == static_cast<std::int64_t>(*table.number(row, table.column("parameters"))));
    // The name of the configuration's repository means the model.
    CHECK(canonical_model_name(table.cell(row, table.column("configuration"))) == name);
  }
}

TEST_CASE("sparse attention scores all tokens before each token, and reads the selected ones") {
  // DeepSeek-AI, arXiv 2512.02556: an indexer of 64 heads with 128 channels selects 2,048 tokens. Query i has i keys;
  // attention has min(i, 2048).
  const Model model = load_model("deepseek-v3.2@tokens=8192");
  const double all = 8192.0 * 8193 / 2, read = 2048.0 * 2049 / 2 + (8192.0 - 2048) * 2048;
  CHECK(macs_of(model, "index_scores") == 61 * all * 64 * 129);
  CHECK(macs_of(model, "attention") == 61 * read * 128 * (192 + 128));
  // An indexer has matrices for queries, keys and weights, and the norm of its keys.
  CHECK(model.parameters() - load_model("deepseek-v3").parameters() ==
        61 * (1536 * 64 * 128 + 7168 * 128 + 2 * 128 + 7168 * 64));
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() != "index_scores") continue;
    CHECK(layer.output_shape.channels == 2048);
    // Only the selected pairs have gradients: products for queries, keys and the recomputed score, and of weights.
    const Work work = layer.operation->work(Pass::backward_data, layer.input_shapes, layer.output_shape);
    CHECK(work.flops == read * 64 * (6 * 128 + 4));
    break;
  }
}

TEST_CASE("language models have the sizes that their publications print") {
  struct Case {
    std::string name;
    double billions, within;
  };
  for (const Case& c : {
           // The sources are Narayanan et al. 2021, table 1, and Korthikanti et al. 2023, table 3.
           Case{"megatron-1.7b", 1.7, 0.05},
           {"megatron-3.6b", 3.6, 0.05},
           {"megatron-7.5b", 7.5, 0.05},
           {"megatron-18.4b", 18.4, 0.05},
           {"megatron-39.1b", 39.1, 0.05},
           {"megatron-76.1b", 76.1, 0.05},
           {"megatron-145.6b", 145.6, 0.05},
           {"megatron-310.1b", 310.1, 0.05},
           {"megatron-22b", 22, 0.5},
           // Brown et al. 2020, table 2.1.
           {"gpt3-125m", 0.125, 0.001},
           {"gpt3-350m", 0.356, 0.001},
           {"gpt3-760m", 0.760, 0.002},
           {"gpt3-1.3b", 1.3, 0.05},
           {"gpt3-2.7b", 2.7, 0.05},
           {"gpt3-6.7b", 6.7, 0.05},
           {"gpt3-13b", 13.0, 0.2},
           // Zhang et al. 2022, table 1.
           {"opt-66b", 66, 0.5},
           {"opt-175b", 175, 0.5},
           // Parmar et al. 2024, section 2, print 3.2 for the embeddings and 12.5 for the rest.
           // NVIDIA 2024, section 2.1, prints 9.4 and 331.6.
           {"nemotron-4-15b", 3.2 + 12.5, 0.1},
           {"nemotron-4-340b", 9.4 + 331.6, 0.1},
           {"minitron-4b", 4.19, 0.005},
           {"mpt-30b", 30, 0.5},
           {"mpt-125m", 0.125, 0.001},
           // The release of Grok-1 prints 314, without the embedding: 131,072 · 6144 are 0.8.
           {"grok-1", 314 + 0.8, 1},
           // The model cards of Ling 2.0 (inclusionAI, 2025).
           {"ling-mini-2.0", 16, 0.5},
           {"ling-flash-2.0", 103, 0.5},
           {"ling-1t", 1000, 1},
       }) {
    INFO(c.name);
    CHECK(static_cast<double>(load_model(c.name).parameters()) / 1e9 == Approx(c.billions).margin(c.within));
  }
}

TEST_CASE("mixtures of experts use the published number of parameters for each token") {
  struct Case {
    std::string name;
    double billions, within;  ///< billions of parameters, as printed
    bool with_embedding;      ///< whether the embedding, of which a token reads a row, counts
  };
  for (const Case& c : {
           Case{"mixtral-8x22b", 39, 0.5, true},  // Mistral AI 2024
           {"qwen3-30b-a3b", 3.3, 0.1, true},     // Yang et al. 2025, section 2
           {"qwen3-235b-a22b", 22, 0.5, true},
           {"deepseek-v2-lite", 2.4, 0.1, false},  // DeepSeek-AI 2024, appendix B.1, and section 3.1.2
           {"deepseek-v2", 21, 0.5, false},
           {"deepseek-v3", 37, 0.5, false},     // DeepSeek-AI 2025, abstract
           {"kimi-k2", 32, 0.5, false},         // Kimi Team 2025, table 2
           {"gpt-oss-20b", 3.61, 0.02, false},  // OpenAI 2025, table 1, which counts the head and not the embedding
           {"gpt-oss-120b", 5.13, 0.02, false},
           {"mistral-large-3", 39, 0.5, false},     // the model card of Mistral AI, 2025: 39 of 673 in the language model
           {"ernie4.5-300b-a47b", 47, 0.5, false},  // Baidu 2025, ERNIE 4.5 technical report, table 1
           {"hunyuan-a13b", 13, 0.5, true},         // Tencent 2025, Hunyuan-A13B technical report
           {"hy3", 21, 0.5, true},                  // the model card of Hy3-preview
           {"dots.llm1", 14, 0.5, true},            // rednote 2025, dots.llm1 technical report
           {"solar-open-100b", 12, 0.5, true},      // the model card of Upstage
           {"ling-flash-2.0", 6.1, 0.1, true},      // the model cards of Ling 2.0
           {"ling-1t", 50, 0.5, false},
       }) {
    const Model model = load_model(c.name);
    const Layer& embedding = model.layers.front();
    const double met = (model.macs() - macs_of(model, "attention")) / static_cast<double>(model.sequence_length);
    INFO(c.name);
    CHECK((met + (c.with_embedding ? static_cast<double>(embedding.weights) : 0)) / 1e9 ==
          Approx(c.billions).margin(c.within));
  }
}

TEST_CASE("DeepSeek-V3 has the matrices of multi-head latent attention") {
  // By arXiv 2412.19437, section 4.2, h = 7168, with 128 heads of 128 + 64, and values of 128. Queries are compressed to
  // 1536, keys and values to 512. Of 61 layers, 3 have MLPs of 18,432, and the others have one shared expert and 256 experts
  // of 2048. There are norms before both parts, of the compressed queries, and of the compressed keys and values.
  const std::int64_t h = 7168;
  const std::int64_t attention = h * 1536 + 1536 * 128 * 192 + h * (512 + 64) + 512 * 128 * 256 + 128 * 128 * h + 1536 + 512;
  const std::int64_t dense = attention + 3 * h * 18432 + 2 * h;
  const std::int64_t sparse = attention + 257 * 3 * h * 2048 + 256 * h + 2 * h;
  const Model model = load_model("deepseek-v3");
  CHECK(model.parameters() == 3 * dense + 58 * sparse + 2 * 129280 * h + h);
  CHECK(model.buffers() == 58 * 256);
  CHECK(model.blocks == 61);
  // Attention of s tokens has s(s + 1)/2 pairs. In each head, a pair has 192 multiply-adds for a score and 128 for a value.
  const double s = 4096;
  CHECK(macs_of(model, "attention") == 61 * 128 * s * (s + 1) / 2 * (192 + 128));
  // A layer without experts keeps for a token, at 2 bytes per item: inputs and outputs of two norms 4h; the compressed keys
  // and values before their norm 512, and after it with the shared key 512 + 64; the compressed queries before and after
  // their norm 2 · 1536; queries after the rotation 128 · 192; keys and values 128 · (192 + 128); attention's output 128 ·
  // 128, and 4 bytes for each head; gate, silu of gate, up, and their product 4 · 18,432.
  const double heads = 128;
  CHECK(kept_bytes(model, layers_of_block(model, 1), 2).sum() ==
        Approx(s * (2 * (4 * 7168.0 + 512 + 576 + 2 * 1536 + heads * (192 + 320 + 128) + 4 * 18432) + 4 * heads))
            .epsilon(1e-12));
}

TEST_CASE("layers with a window come before each layer without a window") {
  const auto windows = [](const std::string& name) {
    std::string text;
    for (const Layer& layer : load_model(name).layers) {
      if (layer.operation->type() == "attention") {
        text += layer.operation->attribute_values().has("window") ? 'w' : '-';
      }
    }
    return text;
  };
  CHECK(windows("gpt-oss-20b") == "w-w-w-w-w-w-w-w-w-w-w-w-");
  CHECK(windows("gemma2-2b") == "w-w-w-w-w-w-w-w-w-w-w-w-w-");
  CHECK(windows("gemma3-1b") == "wwwww-wwwww-wwwww-wwwww-ww");
  CHECK(windows("gemma-2b") == std::string(18, '-'));
  CHECK(windows("mistral-7b") == std::string(32, 'w'));
}

TEST_CASE("BERT and T5 have the published number of parameters") {
  // BertModel of bert-base-uncased has (30522 + 512 + 2)h + 2h, 12 layers of 12h² + 13h, and a
  // pooler of h² + h, for h = 768.
  const std::int64_t h = 768;
  const Model bert = load_model("bert-base");
  CHECK(bert.parameters() == (30522 + 512 + 2) * h + 2 * h + 12 * (12 * h * h + 13 * h) + h * h + h);
  CHECK(bert.parameters() == 109'482'240);
  CHECK(bert.blocks == 12);

  // T5ForConditionalGeneration of t5-large has 770 million parameters (Raffel et al. 2020, table 14's caption and section
  // 3.7): h = 1024 in 16 heads of 64, MLPs of 4096. An encoder layer has 4h² + 2·4096h and two norms, and a decoder layer
  // has 8h² + 2·4096h and three norms. There are one embedding of 32,128, a norm at the end of each stack, and 32 biases for
  // each head of each stack.
  const Model t5 = load_model("t5-large");
  const std::int64_t d = 1024;
  const std::int64_t encoder = 4 * d * d + 2 * 4096 * d + 2 * d;
  const std::int64_t decoder = 8 * d * d + 2 * 4096 * d + 3 * d;
  CHECK(t5.parameters() == 24 * (encoder + decoder) + 32128 * d + 2 * d + 2 * 32 * 16);
  CHECK(t5.parameters() == 737'668'096);
  CHECK(t5.blocks == 48);
  // For equally long sequences, the sum contains each matrix once for each of its tokens, keys and
  // values of the encoder's output too, three attentions of 2s²h in the two stacks, and the head.
  const double s = 512;
  CHECK(t5.macs() == Approx(s * static_cast<double>(24 * (encoder + decoder - 5 * d) + 32128 * d) +
                            24 * 3 * 2 * s * s * static_cast<double>(d))
                         .epsilon(1e-12));
}

TEST_CASE("the layers of T5's stacks share the biases of their first layer") {
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

TEST_CASE("a layer of Llama keeps the tensors that its kernels need for backward") {
  // In bytes for a token, at 2 bytes per item, a layer keeps: inputs of two norms and of two sums, and the norms' outputs
  // (as inputs of qkv, gate and up) 4h; queries, keys and values after the rotation h + 2 kv; attention's output h, and 4
  // bytes for each head; gate, silu of gate, up, and their product 4f.
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

TEST_CASE("published spellings of language models find the models") {
  for (const auto& [spelling, name] : {std::pair{"Llama-2-7b-hf", "llama2-7b"},
                                       {"LLaMA2-70B", "llama2-70b"},
                                       {"Llama-3.1-405B", "llama3-405b"},
                                       {"Mixtral-8x7B-v0.1", "mixtral-8x7b"},
                                       {"GPT-2 XL", "gpt2-xl"},
                                       {"T5-Large", "t5-large"},
                                       {"BERT-Base", "bert-base"},
                                       {"Megatron-1T", "megatron-1t"},
                                       {"Llama-3.3-70B", "llama3-70b"},
                                       {"Turing-NLG 530B", "megatron-530b"},
                                       {"GPT OSS 120B", "gpt-oss-120b"},
                                       {"DeepSeekV3", "deepseek-v3"},
                                       {"Kimi_K2", "kimi-k2"},
                                       {"Qwen3_30B_a3B", "qwen3-30b-a3b"},
                                       {"Nemotron-340B", "nemotron-4-340b"},
                                       {"Mixtral-8x22B-v0.1", "mixtral-8x22b"},
                                       {"Gemma 2 9B", "gemma2-9b"},
                                       {"Phi-3-mini-4k-instruct", "phi-3-mini"},
                                       {"BLOOM", "bloom-176b"}}) {
    CHECK(canonical_model_name(spelling) == name);
  }
}

TEST_CASE("names of checkpoints with quantized weights give the format of the weights") {
  CHECK(quantized_format("unsloth/Qwen3-8B-unsloth-bnb-4bit") == "nf4-double");
  CHECK(quantized_format("unsloth/mistral-7b-instruct-v0.2-bnb-4bit@lora=8") == "nf4-double");
  CHECK(quantized_format("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4") == "nf4-double");
  CHECK(quantized_format("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8") == "int8");
  CHECK(quantized_format("Qwen/Qwen2.5-7B-Instruct-AWQ") == "nf4-double");
  for (const char* const other : {"Qwen/Qwen3-8B", "Qwen/Qwen3-8B-FP8", "llama3-8b@lora=8", "", "net-4bit.yaml"}) {
    CHECK(quantized_format(other).empty());
  }
}

TEST_CASE("names of repositories at Hugging Face, and of torchtitan's sizes, mean bundled models of these sizes") {
  for (const auto& [published, name] : {std::pair<std::string, std::string>{"meta-llama/Llama-3.1-8B", "llama3-8b"},
                                        {"meta-llama/Meta-Llama-3.1-70B-Instruct", "llama3-70b"},
                                        {"Qwen/Qwen3-8B", "qwen3-8b"},
                                        {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
                                        {"google/gemma-2-9b-it", "gemma2-9b"},
                                        {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
                                        {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b"},
                                        {"google-bert/bert-large-uncased", "bert-large"},
                                        {"bigscience/bloom-7b1", "bloom-7.1b"},
                                        {"llama3 8B", "llama3-8b"},
                                        {"llama3.1 405B", "llama3-405b"},
                                        {"unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama3-8b"},
                                        {"unsloth/gpt-oss-120b-unsloth-bnb-4bit", "gpt-oss-120b"},
                                        {"moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"},
                                        {"llama3.1:8b-instruct-q4_K_M", "llama3-8b"},
                                        {"gpt-oss:20b", "gpt-oss-20b"},
                                        {"Qwen/Qwen3-4B-Instruct-2507-FP8", "qwen3-4b"},
                                        {"mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b-v0.2"},
                                        {"codellama/CodeLlama-34b-Instruct-hf", "llama2-34b"},
                                        {"google-bert/bert-base-multilingual-cased", "bert-base-multilingual-cased"},
                                        {"bert-large-cased", "bert-large-cased"},
                                        {"unsloth/mistral-7b-instruct-v0.2-bnb-4bit", "mistral-7b-v0.2"},
                                        {"mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b"},
                                        {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
                                        {"deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "llama3-70b"},
                                        {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4-scout"},
                                        {"allenai/OLMo-2-1124-7B-Instruct", "olmo2-7b"}}) {
    INFO(published);
    CHECK(canonical_model_name(published) == name);
    CHECK(load_model(published).name == name);
    CHECK(load_model(published + "@lora=8").name == name + "@lora=8");
  }
  // These names must not be found: versions have other layers, this Llama has a size that does not exist, four digits are no
  // date, and a path is not a name.
  for (const std::string other : {"mistralai/Mistral-7B-v0.4", "deepseek-ai/DeepSeek-V4", "meta-llama/Llama-3.2-7B-Vision",
                                  "Qwen/Qwen3-8B-9999", "./Qwen3-8B", "a/b/Qwen3-8B"}) {
    INFO(other);
    CHECK(error_of([&] { static_cast<void>(load_model(other)); }) != "no error");
  }
}

TEST_CASE("modules that predict additional tokens share the embedding and the head") {
  const Model one = load_model("nemotron3-nano@predicted=1");
  const Model none = load_model("nemotron3-nano");
  std::int64_t tied = 0, losses = 0;
  for (const Layer& layer : one.layers) {
    tied += layer.tied_to >= 0 ? 1 : 0;
    losses += layer.operation->type() == "loss" ? 1 : 0;
  }
  CHECK(tied == 2);
  CHECK(losses == 2);
  // There are two norms and one at the end, a matrix of 2h to h, a layer of attention and a layer
  // of experts, which have a norm each.
  const double h = 2688;
  const double attention = h * (32 + 4) * 128 + 32 * 128 * h;
  const double experts = h * 128 + 2 * 128 * h * 1856 + 2 * h * 3712;
  CHECK(static_cast<double>(one.parameters() - none.parameters()) == 5 * h + 2 * h * h + attention + experts);
}

TEST_CASE("DeepSeek-V3's module that predicts a second token is one more layer") {
  // By DeepSeek-V3, README_WEIGHTS.md, the module has 11.5 billion parameters of its own: a norm of
  // each input, a matrix of 2h to h, a layer like the others, and a norm.
  const Model one = load_model("deepseek-v3@predicted=1");
  const Model none = load_model("deepseek-v3");
  CHECK(static_cast<double>(one.parameters() - none.parameters()) == Approx(11.5e9).margin(0.15e9));
  CHECK(one.layers.back().operation->type() == "identity");
  CHECK(none.layers.back().operation->type() == "loss");
  const auto tied =
      std::count_if(one.layers.begin(), one.layers.end(), [](const Layer& layer) { return layer.tied_to >= 0; });
  CHECK(tied == 2);
}

}  // namespace language_models_tests
