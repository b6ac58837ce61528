#include "model_zoo/importers/hugging_face/hugging_face.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/source_text.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/imported_models.hpp"

namespace hugging_face_tests {

using namespace ddl;

namespace {

Import imported(const std::string& name) {
  return import_hugging_face(read_file(std::string(DATA_FOLDER) + "hugging_face/" + name + ".json"), name + ".json");
}
Model model_of(const std::string& name) { return parse_model(imported(name).model_file, name + ".yaml"); }

}  // namespace

TEST_CASE("imported models have the published number of parameters") {
  struct Case {
    std::string name;
    std::int64_t parameters;
  };
  // The expected numbers are the elements of the weight files, from the model pages at huggingface.co (exactly for
  // safetensors). They follow from the configurations by these formulas (h hidden, l layers, V vocabulary, f inner size; the
  // embedding counts once if the head shares it): shares it):
  for (const Case& c : {
           // l(12h² + 13h) + (V + 1024)h + 2h
           Case{"gpt2", 124'439'808},
           {"gpt2-xl", 1'557'611'200},
           // l(12h² + 13h) + 2Vh + 2h; 20,554,567,680 and the Pythias' are in table 3 of arXiv 2204.06745 and table 1 of
           // arXiv 2304.01373 (with the embedding: 162,322,944 and 6,857,302,016)
           {"gpt-neox-20b", 20'554'567'680},
           {"pythia-160m", 162'322'944},
           {"pythia-6.9b", 6'857'302'016},
           // l(12h² + 13h) + 512V + 2050h + 2 · 512h, with narrow embeddings and without a norm at the end
           {"opt-350m", 331'196'416},
           // l(12h² + 13h) + (V + 2050)h + 2h
           {"opt-1.3b", 1'315'758'080},
           // l(12h² + 13h) + Vh + 4h; 176,247,271,424 is in table 3 of arXiv 2211.05100
           {"bloom-560m", 559'214'592},
           {"bloom", 176'247'271'424},
           // l(2h² + 2h·kv·size + 3hf + 2h) + 2Vh + h
           {"llama-2-7b", 6'738'415'616},
           {"llama-2-70b", 68'976'648'192},
           {"llama-3.1-8b", 8'030'261'248},
           // like llama-2-7b with one embedding: 16(2·2048² + 2·2048·512 + 3·2048·8192 + 4096) + 128256·2048 + 2048
           {"llama-3.2-1b", 1'235'814'400},
           {"mistral-7b", 7'241'732'096},
           // heads of 128 for h = 5120: 40(2·5120·4096 + 2·5120·1024 + 3·5120·14336 + 2·5120) + 2·131072·5120 + 5120
           {"mistral-nemo", 12'247'782'400},
           // l(2h² + 2h·1024 + 8·3hf + 8h + 2h) + 2Vh + h
           {"mixtral-8x7b", 46'702'792'704},
           // like Llama, with biases of (heads + 2 kv) · size in each layer
           {"qwen2-0.5b", 494'032'768},
           {"qwen2-7b", 7'615'616'512},
           // BertModel: (V + 512 + 2)h + 2h + l(12h² + 13h) + h² + h
           {"bert-base", 109'482'240},
           // BertForMaskedLM: without pooler, with the head's inner layer h² + h, norm 2h and bias V
           {"bert-base-uncased", 109'514'298},
           // BertForPreTraining: BertModel of h = 1024 with the head of BertForMaskedLM, and 2h + 2 for pairs
           {"bert-large-pretraining", 336'226'108},
           // BertModel and 3h + 3
           {"bert-base-classifier", 109'484'547},
           // l(4hd + 2hf + 2h) + l(8hd + 2hf + 3h) + Vh + 2h + 2 · 32 · heads, d = 64 heads
           {"t5-small", 60'506'624},
           {"t5-large", 737'668'096},
           // like t5-small, with 3hf and a separate head
           {"flan-t5-small", 76'961'152},
           // the first term of t5-small, Vh + h + 32 · heads
           {"t5-small-encoder", 35'330'816},
           // 3·16²h + h, h + 197h, l(12h² + 13h), 2h, and 1000h + 1000, or h² + h for ViTModel
           {"vit-base", 86'567'656},
           {"vit-base-model", 86'389'248},
       }) {
    INFO(c.name);
    CHECK(model_of(c.name).parameters() == c.parameters);
  }
}

TEST_CASE("imported decoders have the parameters of the published weights") {
  struct Case {
    std::string name;
    std::int64_t parameters;
  };
  // The numbers are from the weight files at huggingface.co, as in language_model_parameters.csv. DeepSeek-V3 and Kimi K2
  // are without the 58 · 256 and 60 · 384 numbers that correct the router, which are not trained. Grok-1 has 64(2h² +
  // 2h·1024 + 8·3·32768h + 8h + 4h) + 131072h + h for h = 6144.
  for (const Case& c : {Case{"qwen3-8b", 8'190'735'360},
                        {"qwen3-0.6b", 596'049'920},
                        {"qwen3-30b-a3b", 30'532'122'624},
                        {"gemma-2b", 2'506'172'416},
                        {"gemma2-9b", 9'241'705'984},
                        {"gemma3-1b", 999'885'952},
                        {"phi-2", 2'779'683'840},
                        {"phi-3-mini", 3'821'079'552},
                        {"phi-4-mini", 3'836'021'760},
                        {"minitron-4b", 4'190'509'056},
                        {"nemotron3-nano", 31'577'937'344},
                        {"gpt-oss-20b", 20'914'757'184},
                        {"grok-1", 315'684'820'992},
                        {"deepseek-v2-lite", 15'706'484'224},
                        {"deepseek-v3", 671'026'419'200 - 58 * 256},
                        {"kimi-k2", 1'026'408'232'448 - 60 * 384},
                        {"falcon-7b", 6'921'720'704},
                        {"falcon-40b", 41'303'293'952},
                        {"mpt-7b", 6'649'286'656},
                        {"mixtral-8x22b", 140'620'634'112}}) {
    INFO(c.name);
    CHECK(model_of(c.name).parameters() == c.parameters);
  }
}

TEST_CASE("imported decoders have the layers of the bundled models") {
  for (const std::string name : {"qwen3-8b", "qwen3-0.6b", "qwen3-30b-a3b", "gemma-2b", "gemma2-9b", "gemma3-1b",
                                 "phi-3-mini", "minitron-4b", "nemotron3-nano", "gpt-oss-20b", "grok-1", "deepseek-v2-lite",
                                 "deepseek-v3", "kimi-k2", "falcon-7b", "falcon-40b", "mpt-7b", "mixtral-8x22b"}) {
    const Model theirs = model_of(name);
    // If the library runs unfused attention, everything except attention is compared.
    const Model ours = load_model(name + "@fused=" + (has_line(imported(name), "fused: yes") ? "yes" : "no"));
    INFO(name);
    REQUIRE(theirs.layers.size() == ours.layers.size());
    for (std::size_t i = 0; i < ours.layers.size(); ++i) {
      REQUIRE(theirs.layers[i].name == ours.layers[i].name);
      REQUIRE(theirs.layers[i].operation->attributes() == ours.layers[i].operation->attributes());
      REQUIRE(theirs.layers[i].output_shape.channels == ours.layers[i].output_shape.channels);
    }
  }
}

TEST_CASE("unread keys that change the number of parameters are refused with their position") {
  const auto refusal = [](const std::string& type, const std::string& key) {
    const std::string message = refusal_of("{\n  \"model_type\": \"" + type + "\",\n  " + key + "\n}");
    return message.substr(0, message.find('\n'));
  };
  CHECK(refusal("llama", R"("num_local_experts": 8)") ==
        "config.json:3:24: 'num_local_experts' changes the number of parameters, and models of this type have no such key");
  CHECK(refusal("mistral", R"("q_lora_rank": 1536)").starts_with("config.json:3:18: 'q_lora_rank' changes"));
  CHECK(refusal("gemma3_text", R"("vision_config": {"hidden_size": 3})").starts_with("config.json:3:20: 'vision_config'"));
  CHECK(refusal("qwen3_moe", R"("decoder_sparse_step": 0)") ==
        "config.json:3:26: 'decoder_sparse_step' is too small: at least 1");
  CHECK(refusal("qwen3_moe", R"("mlp_only_layers": [-1])") ==
        "config.json:3:22: 'mlp_only_layers' is too small: at least 0");
  CHECK(refusal("phi", R"("qk_layernorm": true)") ==
        "config.json:3:19: 'qk_layernorm: true' is not known: queries and keys have no norm");
  CHECK(refusal("falcon", R"("alibi": true)") == "config.json:3:12: 'alibi: true' is not known: positions are rotary");
  CHECK(refusal("mpt", R"("attn_config": {"qk_ln": true})") == "config.json:3:28: queries and keys have no norm");
  CHECK(refusal("mpt", R"("attn_config": {"alibi": 1})") == "config.json:3:28: 'alibi' is a number, not true or false");
  CHECK(refusal("deepseek_v3", R"("moe_layer_freq": 2)") ==
        "config.json:3:21: 'moe_layer_freq' is not 1: all layers after the first dense layers have experts");
  CHECK(refusal("deepseek_v3", R"("scoring_func": "softmax")") == "config.json:3:19: unknown 'scoring_func' 'softmax'");
  CHECK(refusal("deepseek_v2", R"("first_k_dense_replace": 1)") ==
        "config.json:1:1: the configuration has no 'num_experts_per_tok', and the library has no default");
  CHECK(refusal("gpt_oss", R"("layer_types": ["full_attention"])") ==
        "config.json:3:18: 'layer_types' has 1 entries, but there are 36 layers");
  CHECK(refusal("gpt_oss",
                R"("num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "full_attention"])") ==
        "config.json:3:42: layer 2 breaks the pattern (1 layers with a window, then a layer without a window)");
  // A key with the value none has no effect.
  CHECK(model_of_text(R"({"model_type": "llama", "num_local_experts": 0, "vision_config": null})").parameters() ==
        6'738'415'616);
  const Import allowed =
      import_hugging_face(R"({"model_type": "llama", "num_local_experts": 8})", "config.json", {.allow_unknown = true});
  CHECK(std::any_of(allowed.warnings.begin(), allowed.warnings.end(),
                    [](const std::string& warning) { return warning.find("'num_local_experts'") != std::string::npos; }));
}

TEST_CASE("caps and windows are in the imported model, and unsupported layers are reported") {
  const auto lines = [](const std::string& keys) { return import_hugging_face("{" + keys + "}", "c.json"); };
  CHECK(has_line(lines(R"("model_type": "gemma2")"), "soft_cap: yes"));
  CHECK(has_line(lines(R"("model_type": "gemma2")"), "fused: no"));
  CHECK(has_line(lines(R"("model_type": "gemma2", "attn_logit_softcapping": null)"), "soft_cap: no"));
  CHECK(has_line(lines(R"("model_type": "gemma2", "attn_logit_softcapping": null)"), "output_cap: yes"));
  CHECK(has_line(lines(R"("model_type": "gemma3_text")"), "windows: 5"));
  const Import v3 = imported("deepseek-v3");
  CHECK(has_line(v3, "tokens: 4096"));
  REQUIRE(v3.warnings.size() == 1);
  CHECK(v3.warnings.front() ==
        "not read: 'num_nextn_predict_layers': the library leaves out the layer that predicts further tokens; "
        "'@predicted=1' adds it");
}

TEST_CASE("an imported model is a short file of a bundled family, and equals the file of a bundled model") {
  const Import import = imported("llama-2-70b");
  CHECK(import.warnings.empty());
  CHECK(import.model_file ==
        "format: 1\n"
        "model: llama-2-70b\n"
        "description: Imported from a configuration of the type llama\n"
        "source: the configuration, interpreted as in Hugging Face's transformers 5.24\n"
        "family: llama\n"
        "parameters:\n"
        "  layers: 80\n"
        "  hidden: 8192\n"
        "  heads: 64\n"
        "  kv_heads: 8\n"
        "  head_size: 128\n"
        "  feed_forward: 28672\n"
        "  vocabulary: 32000\n"
        "  tokens: 4096\n"
        "  activation: silu\n"
        "  fused: yes\n"
        "  dropout: 0\n"
        "  head: language_model\n"
        "  tied: no\n"
        "  labels: 2\n"
        "  attention_bias: no\n"
        "  feed_forward_bias: no\n");
  for (const auto& [file, bundled] : {std::pair<std::string, std::string>{"llama-2-70b", "llama2-70b"},
                                      {"llama-2-7b", "llama2-7b"},
                                      {"llama-3.1-8b", "llama3-8b"},
                                      {"mixtral-8x7b", "mixtral-8x7b"},
                                      {"t5-large", "t5-large"}}) {
    const Model theirs = model_of(file);
    const Model ours = load_model(bundled);
    INFO(file);
    REQUIRE(theirs.layers.size() == ours.layers.size());
    CHECK(theirs.sequence_length == ours.sequence_length);
    for (std::size_t i = 0; i < ours.layers.size(); ++i) {
      CHECK(theirs.layers[i].name == ours.layers[i].name);
      CHECK(theirs.layers[i].operation->attributes() == ours.layers[i].operation->attributes());
      CHECK(theirs.layers[i].output_shape == ours.layers[i].output_shape);
    }
  }
}

TEST_CASE("a model gets the name that the user gives, or else the file's name, or else the name of its type") {
  const auto name = [](const std::string& text, const std::string& given) {
    return parse_model(import_hugging_face(text, "c.json", {.name = given}).model_file, "m.yaml").name;
  };
  const std::string gpt2 = R"({"model_type": "gpt2", "architectures": ["GPT2Model"])";
  CHECK(name(gpt2 + "}", "mine") == "mine");
  CHECK(name(gpt2 + "}", "My.Net_1") == "My.Net_1");
  CHECK(name(gpt2 + "}", "") == "c");
  CHECK(name(gpt2 + R"(, "_name_or_path": "open: [ai]/GPT 2-XL_v1.0/"})", "") == "gpt2-xl_v1.0");
  CHECK(name(gpt2 + R"(, "_name_or_path": "a/..."})", "") == "c");
  CHECK(name(gpt2 + R"(, "_name_or_path": "NULL"})", "") == "c");
  const auto name_in = [&](const std::string& path) {
    return parse_model(import_hugging_face(gpt2 + "}", path).model_file, "m.yaml").name;
  };
  CHECK(name_in("nets/Small-1/config.json") == "small-1");
  CHECK(name_in("nets/tiny.v2.json") == "tiny.v2");
  CHECK(name_in("config.json") == "gpt2");
  CHECK(name_in("../config.json") == "gpt2");
}

TEST_CASE("missing keys have the library's defaults") {
  // The defaults of LlamaConfig are the first Llama of 7 billion, of GPT2Config the smallest GPT-2, of BertConfig the
  // smaller BERT, of T5Config the small T5, and of BloomConfig two layers of 64: 2(12·64² + 13·64) + 250880·64 + 4·64.
  CHECK(model_of_text(R"({"model_type": "llama"})").parameters() == 6'738'415'616);
  CHECK(model_of_text(R"({"model_type": "llama"})").sequence_length == 2048);
  CHECK(model_of_text(R"({"model_type": "gpt2"})").parameters() == 124'439'808);
  CHECK(model_of_text(R"({"model_type": "gpt_neox"})").parameters() == 20'554'567'680);
  CHECK(model_of_text(R"({"model_type": "bert", "architectures": ["BertModel"]})").parameters() == 109'482'240);
  CHECK(model_of_text(R"({"model_type": "t5"})").parameters() == 60'506'624);
  // The defaults of MT5Config are the published mt5-small, which has 300 million parameters.
  CHECK(model_of_text(R"({"model_type": "mt5"})").parameters() == 300'176'768);
  CHECK(model_of_text(R"({"model_type": "bloom"})").parameters() == 2 * (12 * 64 * 64 + 13 * 64) + 250'880 * 64 + 4 * 64);
  // The defaults of MistralConfig and MixtralConfig are the published models, except for the longest sequence.
  CHECK(model_of_text(R"({"model_type": "mistral"})").parameters() == 7'241'732'096);
  CHECK(model_of_text(R"({"model_type": "mixtral"})").parameters() == 46'702'792'704);
  // The defaults of OPTConfig are opt-125m: 12(12·768² + 13·768) + (50272 + 2050)·768 + 2·768.
  CHECK(model_of_text(R"({"model_type": "opt"})").parameters() == 125'239'296);
  // The defaults of Qwen2Config have 32(4·4096² + 3·4096·22016 + 3·4096 + 2·4096) + 2·151936·4096 + 4096 parameters.
  CHECK(model_of_text(R"({"model_type": "qwen2"})").parameters() ==
        32LL * (4LL * 4096 * 4096 + 3LL * 4096 * 22016 + 5 * 4096) + 2LL * 151'936 * 4096 + 4096);
}

TEST_CASE("missing key and value heads have the library's default, null means as many as heads") {
  const auto kv_heads = [](const std::string& text) { return import_hugging_face(text, "c.json"); };
  CHECK(has_line(kv_heads(R"({"model_type": "mistral"})"), "kv_heads: 8"));
  CHECK(has_line(kv_heads(R"({"model_type": "mistral", "num_key_value_heads": null})"), "kv_heads: 32"));
  CHECK(has_line(kv_heads(R"({"model_type": "llama", "num_attention_heads": 16})"), "kv_heads: 16"));
}

TEST_CASE("windows are read for the layers that use them") {
  const auto window = [](const std::string& keys) {
    return layer_of(model_of_text("{" + keys + "}"), "layer0.attention1").operation->attributes();
  };
  CHECK(window(R"("model_type": "mistral", "max_position_embeddings": 8192)") ==
        "heads=32 kv_heads=8 causal=yes window=4096 fused=yes");
  CHECK(window(R"("model_type": "mistral", "sliding_window": null)") == "heads=32 kv_heads=8 causal=yes fused=yes");
  CHECK(window(R"("model_type": "qwen2", "sliding_window": 512)") == "heads=32 causal=yes fused=yes");
  CHECK(window(R"("model_type": "qwen2", "sliding_window": 512, "use_sliding_window": true, "max_window_layers": 0)") ==
        "heads=32 causal=yes window=512 fused=yes");
  const Import mixed = import_hugging_face(R"({"model_type": "qwen2", "use_sliding_window": true})", "c.json");
  CHECK(has_line(mixed, "pattern: \"(F)28WWWW\""));
  CHECK(has_line(mixed, "window: 4096"));
}

TEST_CASE("positions and biases of a configuration are in the layers") {
  const Model neox = model_of("gpt-neox-20b");
  // The rotary positions rotate a quarter of 96 channels.
  CHECK(layer_of(neox, "layer0.parts.attention.rotary1").operation->attributes() == "heads=64 turned=24");
  CHECK(layer_of(neox, "layer0.parts.add1").inputs.size() == 3);
  const Model sequential = model_of_text(R"({"model_type": "gpt_neox", "use_parallel_residual": false})");
  CHECK(layer_of(sequential, "layer0.parts.add2").inputs.size() == 2);
  CHECK(sequential.parameters() == neox.parameters());
  CHECK(layer_of(model_of("bloom-560m"), "layer0.attention1").operation->attributes() == "heads=16 causal=yes alibi=yes");
  CHECK(layer_of(model_of("qwen2-7b"), "layer0.qkv").biases == (28 + 2 * 4) * 128);
  CHECK(layer_of(model_of("qwen2-7b"), "layer0.projection").biases == 0);
  const Model biased = model_of_text(R"({"model_type": "llama", "attention_bias": true, "mlp_bias": true})");
  CHECK(layer_of(biased, "layer0.projection").biases == 4096);
  CHECK(layer_of(biased, "layer0.perceptron.down").biases == 4096);
  CHECK(layer_of(model_of("t5-small"), "decoded.decoder_layer0.cross_attention.heads").inputs.size() == 2);
}

TEST_CASE("positions that RoPE scaling extends after training do not lengthen a sample") {
  CHECK(model_of("llama-3.1-8b").sequence_length == 8192);
  CHECK(imported("llama-3.1-8b").warnings.empty());
  CHECK(model_of("mistral-nemo").sequence_length == 131'072);
  CHECK(imported("mistral-nemo").warnings ==
        std::vector<std::string>{"a sample has 131072 tokens, the model's maximum: set 'tokens' to the training length"});
}

TEST_CASE("positions that are stretched linearly were trained at their own length") {
  const auto tokens = [](const std::string& scaling) {
    return model_of_text(R"({"model_type": "llama", "max_position_embeddings": 16384, "rope_scaling": )" + scaling + "}")
        .sequence_length;
  };
  CHECK(tokens("null") == 16384);
  CHECK(tokens(R"({"type": "linear", "factor": 8.0})") == 2048);
  CHECK(tokens(R"({"type": "dynamic", "factor": 2})") == 16384);
  CHECK(tokens(R"({"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 8192})") == 8192);
  const auto refused = [](const std::string& scaling) {
    const std::string message = refusal_of(R"({"model_type": "llama", "rope_scaling": )" + scaling + "}");
    return message.substr(0, message.find('\n'));
  };
  CHECK(refused(R"({"type": "linear", "factor": 0})") == "config.json:1:70: 'factor' is too small: at least 1");
  CHECK(refused(R"({"type": "linear", "factor": "2"})") == "config.json:1:70: 'factor' is text, not a number");
  CHECK(refused(R"({"type": {"a": 1}})") == "config.json:1:50: 'type' is an object, not text");
  CHECK(refused(R"({"type": "liner"})") == "config.json:1:50: unknown kind of scaled positions (rope_scaling) 'liner'");
  CHECK(refused(R"({"other_attention": {"factor": 2}})") ==
        "config.json:1:61: 'other_attention' is an object: layers with different positions are not supported");
  CHECK(tokens(R"({"full_attention": {"type": "linear", "factor": 2}, "sliding_attention": {"type": "default"}})") == 8192);
  CHECK(refused(R"({"full_attention": {"factor": 0}})") == "config.json:1:71: 'factor' is too small: at least 1");
}

TEST_CASE("sizes that the file leaves to the library are named, each once") {
  const auto warnings = [](const std::string& keys) {
    return import_hugging_face(R"({"model_type": "qwen2", "architectures": ["Qwen2Model"])" + keys + "}", "c.json").warnings;
  };
  CHECK(warnings(R"(, "max_position_embeddings": 512)") ==
        std::vector<std::string>{"from the library's defaults: num_hidden_layers 32, hidden_size 4096, "
                                 "num_attention_heads 32, intermediate_size 22016, vocab_size 151936"});
  CHECK(imported("qwen2-7b").warnings.size() == 1);  // a warning about the length of samples
}

TEST_CASE("if a key has two names, the one that the library uses takes precedence") {
  // BloomConfig uses n_embed if both are given.
  const Model bloom = model_of_text(R"({"model_type": "bloom", "hidden_size": 64, "n_embed": 128})");
  CHECK(layer_of(bloom, "embedding").output_shape.channels == 128);
  // In Qwen2Config, there is no window if sliding_window is null.
  const std::string qwen = R"({"model_type": "qwen2", "max_window_layers": 0, "use_sliding_window": true, )";
  CHECK(import_hugging_face(qwen + R"("sliding_window": null})", "c.json").model_file.find("window") == std::string::npos);
  CHECK(import_hugging_face(qwen + R"("sliding_window": 128})", "c.json").model_file.find("window: 128") !=
        std::string::npos);
}

TEST_CASE("images have the size of the configuration") {
  const Model model = model_of_text(R"({"model_type": "vit", "image_size": 384, "num_channels": 1, "num_labels": 10})");
  CHECK(to_string(model.input) == "1×384×384");
  CHECK(layer_of(model, "layer0.qkv").input_shapes.front().extent[0] == 24 * 24 + 1);
  // The size stays a parameter of the model, also with other channels.
  for (const std::string channels : {"1", "3"}) {
    const std::string text =
        import_hugging_face(R"({"model_type": "vit", "num_channels": )" + channels + "}", "c.json").model_file;
    std::string larger = text;
    larger.replace(larger.find("size: 224"), 9, "size: 448");
    CHECK(to_string(parse_model(text, "vit.yaml").input) == channels + "×224×224");
    CHECK(to_string(parse_model(larger, "vit.yaml").input) == channels + "×448×448");
  }
  CHECK(refusal_of(R"({"model_type": "vit", "patch_size": 15})")
            .starts_with("config.json:1:37: patches of 15 do not divide an image of 224\n"));
  CHECK(refusal_of(R"({"model_type": "vit", "image_size": [224, 112]})")
            .starts_with("config.json:1:37: 'image_size' is a list, not a whole number\n"));
}

/// The warning for a GPT-2 without any size.
const std::string gpt2_defaults =
    "from the library's defaults: n_embd 768, n_positions 1024, n_layer 12, n_head 12, vocab_size 50257";

TEST_CASE("an architecture determines the head after the layers") {
  const auto last = [](const std::string& architecture, const std::string& type) {
    const Model model =
        model_of_text(R"({"model_type": ")" + type + R"(", "architectures": [")" + architecture + R"("], "num_labels": 5})");
    return to_string(model.layers.back().input_shapes.front()) + ", " + model.layers.back().operation->attributes();
  };
  CHECK(last("GPT2LMHeadModel", "gpt2") == "50257 over 1024 tokens, kind=cross_entropy");
  CHECK(last("GPT2Model", "gpt2") == "768 over 1024 tokens, kind=mse");
  CHECK(last("GPT2ForSequenceClassification", "gpt2") == "5, kind=cross_entropy");
  CHECK(last("BertForTokenClassification", "bert") == "5 over 512 tokens, kind=cross_entropy");
  CHECK(last("T5EncoderModel", "t5") == "512 over 512 tokens, kind=mse");
  CHECK(imported("bert-base").warnings.empty());
  CHECK(import_hugging_face(R"({"model_type": "gpt2"})", "c.json").warnings ==
        std::vector<std::string>{"the file has no architecture: read as GPT2LMHeadModel", gpt2_defaults});
}

TEST_CASE("unread keys are named") {
  CHECK(imported("gpt2").warnings.empty());
  const auto warnings = [](const std::string& keys) {
    return import_hugging_face(R"({"model_type": "gpt2", "architectures": ["GPT2Model"])" + keys + "}", "c.json").warnings;
  };
  CHECK(warnings(R"(, "use_cache": true, "torch_dtype": "float32")") == std::vector<std::string>{gpt2_defaults});
  CHECK(warnings(R"(, "n_experts": 4, "rotary": {"a": 1})") ==
        std::vector<std::string>{gpt2_defaults, "not read: 'n_experts', 'rotary'"});
  std::string many;
  for (int i = 0; i < 15; ++i) many += ", \"k" + std::to_string(i) + "\": 0";
  CHECK(warnings(many).back().ends_with("'k11' and 3 more"));
}

TEST_CASE("the error for an unknown type names the type, and corrects typing errors only") {
  const std::string unknown = refusal_of("{\n  \"model_type\": \"xlstm\"\n}");
  CHECK(
      unknown.starts_with("config.json:2:17: unknown model_type 'xlstm'\n"
                          "    \"model_type\": \"xlstm\"\n"
                          "                  ^\n"
                          "hint: use a bundled model of about the same size ('models list')"));
  // MarianMT is no Aria, although the names are similar.
  CHECK(refusal_of(R"({"model_type": "marian"})").find("did you mean") == std::string::npos);
  CHECK(refusal_of(R"({"model_type": "qwen3_mo"})").ends_with("hint: did you mean 'qwen3_moe'?"));
  // A megabyte is compared with no type, which would take seconds.
  CHECK(refusal_of(R"({"model_type": ")" + std::string(1U << 20U, 'q') + R"("})").find("use a bundled model") !=
        std::string::npos);
  CHECK(refusal_of("{}").starts_with("config.json:1:1: the configuration has no 'model_type'\n"));
  CHECK(refusal_of("[]").starts_with("config.json:1:1: expected an object, found a list\n"));
  const std::vector<std::string_view> types = hugging_face_model_types();
  CHECK(std::is_sorted(types.begin(), types.end()));
  CHECK(std::adjacent_find(types.begin(), types.end()) == types.end());
}

TEST_CASE("an impossible value is refused with its position") {
  CHECK(refusal_of("{\"model_type\": \"llama\",\n \"hidden_size\": \"4096\"}") ==
        "config.json:2:17: 'hidden_size' is text, not a whole number\n"
        "   \"hidden_size\": \"4096\"}\n"
        "                  ^");
  const auto llama = [](const std::string& key) {
    const std::string message = refusal_of(R"({"model_type": "llama", )" + key + "}");
    return message.substr(0, message.find('\n'));
  };
  CHECK(llama(R"("hidden_size": 4096.5)") == "config.json:1:40: 'hidden_size' is 4096.5, not a whole number");
  CHECK(model_of_text(R"({"model_type": "llama", "hidden_size": 4096.0})").parameters() == 6'738'415'616);
  CHECK(llama(R"("hidden_size": 1e12)") == "config.json:1:40: 'hidden_size' is too large: at most 2147483648");
  CHECK(llama(R"("num_hidden_layers": 1000000000)") == "config.json:1:46: 'num_hidden_layers' is too large: at most 10000");
  CHECK(llama(R"("hidden_size": 0)") == "config.json:1:40: 'hidden_size' is too small: at least 1");
  CHECK(llama(R"("hidden_size": -4)") == "config.json:1:40: 'hidden_size' is too small: at least 1");
  CHECK(llama(R"("hidden_size": 18446744073709551615)") ==
        "config.json:1:40: 'hidden_size' is too large: at most 2147483648");
  CHECK(llama(R"("hidden_size": true)") == "config.json:1:40: 'hidden_size' is true or false, not a whole number");
  CHECK(llama(R"("num_attention_heads": 30)") == "config.json:1:48: 4096 channels are not divisible by 30 heads");
  CHECK(llama(R"("num_key_value_heads": 5)") == "config.json:1:48: 32 heads are not divisible by 5 key-value heads");
  CHECK(llama(R"("head_dim": 5)") == "config.json:1:37: heads of 5 channels cannot be rotated in pairs");
  CHECK(llama(R"("attention_dropout": 2)") == "config.json:1:46: 'attention_dropout' is not from 0 to 1");
  CHECK(llama(R"("attention_dropout": "no")") == "config.json:1:46: 'attention_dropout' is text, not a number");
  CHECK(llama(R"("tie_word_embeddings": 1)") == "config.json:1:48: 'tie_word_embeddings' is a number, not true or false");
  CHECK(llama(R"("hidden_act": 1)") == "config.json:1:39: 'hidden_act' is a number, not text");
  CHECK(llama(R"("rope_scaling": 2)") == "config.json:1:41: 'rope_scaling' is a number, not an object");
  CHECK(llama(R"("rope_scaling": {"original_max_position_embeddings": 0})") ==
        "config.json:1:78: 'original_max_position_embeddings' is too small: at least 1");
  CHECK(llama(R"("architectures": "LlamaModel")") == "config.json:1:42: 'architectures' is not a list of names");
  CHECK(llama(R"("id2label": {})") == "config.json:1:37: 'id2label' is not an object with a name for each label");
  CHECK(llama(R"("id2label": [1, 2])") == "config.json:1:37: 'id2label' is not an object with a name for each label");
}

TEST_CASE("impossible sizes are refused, even if each one alone is possible") {
  const auto message = [](const std::string& keys) {
    const std::string text = refusal_of("{\"model_type\": " + keys + "}");
    return text.substr(0, text.find('\n'));
  };
  const std::string huge = message(R"("llama", "hidden_size": 536870912, "intermediate_size": 2147483648)");
  CHECK(huge.starts_with("config.json:1:1: no model can have these sizes: "));
  CHECK(huge.find("would have more than 2^53 elements") != std::string::npos);
  CHECK(message(R"("llama", "num_hidden_layers": 100000)").find("at most 10000") != std::string::npos);
  CHECK(message(R"("llama", "num_hidden_layers": 10000)").find("more than 100000 layers") != std::string::npos);
  CHECK(message(R"("mixtral", "num_local_experts": 4, "num_experts_per_tok": 5)")
            .ends_with("there are 4 experts, so 5 cannot be active"));
}

TEST_CASE("invalid JSON is refused, and depth and length are limited") {
  CHECK(refusal_of("{\"model_type\": }").starts_with("config.json:1:16: not valid JSON\n"));
  CHECK(refusal_of("").starts_with("config.json:1:1: the file is empty\n"));
  CHECK(refusal_of(R"({"model_type": "llama", "model_type": "gpt2"})").starts_with("config.json:1:25: duplicate key"));
  const std::string deep = R"({"model_type": "gpt2", "x": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  CHECK(refusal_of(deep).starts_with("config.json:1:92: nested deeper than 64 levels\n"));
  CHECK(refusal_of(std::string(5U << 20U, ' ')) ==
        "config.json: longer than 4 MiB\nhint: pass the 'config.json' of a model of Hugging Face's transformers");
}

TEST_CASE("configurations that no family supports are refused, or read as the nearest one with a warning") {
  const std::string cross = R"({"model_type": "gpt2", "architectures": ["GPT2Model"], "add_cross_attention": true})";
  CHECK(refusal_of(cross).starts_with(
      "config.json:1:79: 'add_cross_attention: true' is not known: these layers read no encoder\n"));
  const std::string odd =
      R"({"model_type": "gpt2", "architectures": ["GPT2DoubleHeadsModel"], "activation_function": "xielo"})";
  CHECK(refusal_of(odd).starts_with("config.json:1:90: unknown activation 'xielo'\n"));
  const Import import = import_hugging_face(odd, "c.json", {.allow_unknown = true});
  CHECK(import.warnings == std::vector<std::string>{"the activation 'xielo' is counted as gelu",
                                                    "the architecture 'GPT2DoubleHeadsModel' is read as GPT2LMHeadModel",
                                                    gpt2_defaults});
  CHECK(parse_model(import.model_file, "m.yaml").parameters() == 124'439'808);
  CHECK(import_hugging_face(cross, "c.json", {.allow_unknown = true}).warnings ==
        std::vector<std::string>{"read as if 'add_cross_attention' were false", gpt2_defaults});
  CHECK(refusal_of(R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadMode"]})")
            .ends_with("did you mean 'GPT2LMHeadModel'?"));
  CHECK(refusal_of(R"({"model_type": "bert", "position_embedding_type": "relative_key"})").find("relative_key") !=
        std::string::npos);
  CHECK(refusal_of(R"({"model_type": "t5", "feed_forward_proj": "gated-what"})")
            .starts_with("config.json:1:43: unknown activation 'what'\n"));
}

}  // namespace hugging_face_tests
