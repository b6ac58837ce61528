#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/source_text.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/importers/hugging_face/hugging_face.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/imported_models.hpp"

namespace hugging_face_types_tests {

using namespace ddl;

TEST_CASE("a type that no family can express is refused with the reason") {
  CHECK(
      refusal_of(R"({"model_type": "rwkv6"})")
          .starts_with("config.json:1:16: models of the type 'rwkv6' are not read: the recurrence of RWKV is not among the "
                       "operations of model files\n"));
  CHECK(refusal_of(R"({"model_type": "some_vl", "text_config": {"model_type": "step3_text"}})")
            .find("models of the type 'step3_text' are not read") != std::string::npos);
}

TEST_CASE("if a bundled model has a type that is not read, the hint names it") {
  for (const std::string type : {"detr", "gated_deltanet", "mask2former", "mllama", "sam", "sam2", "step3p7"}) {
    INFO(type);
    const std::string refusal = refusal_of(R"({"model_type": ")" + type + R"("})");
    const std::string words = "hint: the bundled ";
    const std::size_t start = refusal.find(words);
    REQUIRE(start != std::string::npos);
    const std::size_t name = start + words.size();
    CHECK(load_model(refusal.substr(name, refusal.find(' ', name) - name)).parameters() > 0);
  }
}

TEST_CASE("encoders with decoders, ModernBERT and ConvNeXt have the number of parameters that transformers builds") {
  // transformers 5.24, default configurations: the defaults are those of the large BART, mBART and M2M-100, of PEGASUS,
  // ModernBERT-base and ConvNeXt-T. PEGASUS without the 2 x 1,024 x 1,024 sines of its positions.
  CHECK(model_of_text(R"({"model_type": "bart"})").parameters() == 406'291'456);
  CHECK(model_of_text(R"({"model_type": "bart", "decoder_layers": 6})").parameters() == 305'511'424);
  CHECK(model_of_text(R"({"model_type": "mbart"})").parameters() == 406'295'552);
  CHECK(model_of_text(R"({"model_type": "m2m_100"})").parameters() == 483'905'536);
  CHECK(model_of_text(R"({"model_type": "pegasus"})").parameters() == 406'287'360 - 2 * 1'024 * 1'024);
  CHECK(model_of_text(R"({"model_type": "modernbert"})").parameters() == 149'655'232);
  CHECK(model_of_text(R"({"model_type": "convnext", "num_labels": 1000})").parameters() == 28'589'128);
  CHECK(model_of_text(R"({"model_type": "convnextv2", "num_labels": 1000})").parameters() == 28'635'496);
  CHECK(refusal_of(R"({"model_type": "bart", "decoder_ffn_dim": 2048})").find("of equal sizes") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "bart", "normalize_before": true})").find("normalize_before") != std::string::npos);
  for (const std::string sizes : {"[96, 192, 384, 700]", "[96, 192, 384]", "[]"}) {
    INFO(sizes);
    CHECK(refusal_of(R"({"model_type": "convnext", "hidden_sizes": )" + sizes + "}")
              .find("each with twice the channels of the previous one") != std::string::npos);
  }
  CHECK(refusal_of(R"({"model_type": "modernbert", "num_hidden_layers": 2, "layer_types": ["sliding_attention",
      "full_attention"]})")
            .find("the first layer has a window") != std::string::npos);
  const Import wide = import_hugging_face(R"({"model_type": "modernbert", "num_hidden_layers": 4, "hidden_size": 768,
      "global_attn_every_n_layers": 2, "local_attention": 256})",
                                          "config.json");
  CHECK(has_line(wide, "window: 257"));
  CHECK(has_line(wide, "pattern: \"fWFW\""));
}

TEST_CASE("ResNet and Swin have the number of parameters that transformers builds") {
  // transformers 5.24 with 1,000 labels: the defaults are ResNet-50 and the tiny Swin of both versions.
  CHECK(model_of_text(R"({"model_type": "resnet", "num_labels": 1000})").parameters() == 25'557'032);
  CHECK(model_of_text(R"({"model_type": "resnet", "num_labels": 1000, "layer_type": "basic", "depths": [2, 2, 2, 2],
      "hidden_sizes": [64, 128, 256, 512]})")
            .parameters() == 11'689'512);
  CHECK(model_of_text(R"({"model_type": "swin", "num_labels": 1000})").parameters() == 28'288'354);
  CHECK(model_of_text(R"({"model_type": "swin", "num_labels": 1000, "embed_dim": 128, "depths": [2, 2, 18, 2],
      "num_heads": [4, 8, 16, 32], "image_size": 384, "window_size": 12})")
            .parameters() == 87'903'584);
  CHECK(model_of_text(R"({"model_type": "swinv2", "num_labels": 1000})").parameters() == 28'347'154);
  const std::string wide = R"({"model_type": "swinv2", "num_labels": 1000, "image_size": 256, "window_size": 16})";
  CHECK(model_of_text(wide).parameters() == 28'347'154);
  CHECK(has_line(import_hugging_face(wide, "config.json"), "last_window: 8"));
  CHECK(refusal_of(R"({"model_type": "resnet", "hidden_sizes": [64, 128, 256, 512]})").find("256, 512, 1024, 2048") !=
        std::string::npos);
  CHECK(refusal_of(R"({"model_type": "swin", "num_heads": []})").find("num_heads") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "swin", "depths": [2, 2, 5, 2]})").find("an even number") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "swin", "image_size": 256})").find("windows of 7 do not divide") != std::string::npos);
}

TEST_CASE("decoders whose attention reads selected tokens have the published number of parameters") {
  // The released configurations; the numbers are those that transformers builds (tests/data/transformers_parameters.csv).
  const std::string glm = R"({"model_type": "glm_moe_dsa", "architectures": ["GlmMoeDsaForCausalLM"], "head_dim": 64,
      "first_k_dense_replace": 3, "hidden_size": 6144, "index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048,
      "intermediate_size": 12288, "kv_lora_rank": 512, "max_position_embeddings": 202752, "moe_intermediate_size": 2048,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 8,
      "num_hidden_layers": 78, "num_key_value_heads": 64, "q_lora_rank": 2048, "qk_nope_head_dim": 192,
      "qk_rope_head_dim": 64, "v_head_dim": 256, "vocab_size": 154880)";
  CHECK(model_of_text(glm + "}").parameters() == 743'911'199'232);
  const std::string deepseek = R"({"model_type": "deepseek_v32", "architectures": ["DeepseekV32ForCausalLM"],
      "first_k_dense_replace": 3, "hidden_size": 7168, "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048,
      "intermediate_size": 18432, "kv_lora_rank": 512, "moe_intermediate_size": 2048, "n_group": 8, "topk_group": 4,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8,
      "num_hidden_layers": 61, "q_lora_rank": 1536, "vocab_size": 129280)";
  const Import import = import_hugging_face(deepseek + "}", "config.json");
  CHECK(parse_model(import.model_file, "config.yaml").parameters() == 671'877'929'216);
  CHECK(has_line(import, "selected: 2048"));
  CHECK(has_line(import, "index_heads: 64"));
  // The defaults are those of the released models.
  CHECK(model_of_text(R"({"model_type": "glm_moe_dsa"})").parameters() == 743'911'199'232);
  CHECK(model_of_text(R"({"model_type": "deepseek_v32"})").parameters() == 671'877'929'216);
  CHECK(refusal_of(glm + R"(, "num_hidden_layers_": 1, "indexer_types": ["full", "shared"]})")
            .find("no family has layers that share the indexer of another layer\n") != std::string::npos);
  CHECK(refusal_of(glm + R"(, "index_topk_freq": 4})").find("share the indexer") != std::string::npos);
  CHECK(refusal_of(glm + R"(, "mlp_layer_types": ["dense", "sparse"]})").find("of which the first 3 have no experts\n") !=
        std::string::npos);
}

TEST_CASE("Kimi Linear and Step 3.5 Flash have the published number of parameters") {
  // The released configurations; the numbers are those of tests/data/transformers_parameters.csv.
  const std::string kimi = R"({"model_type": "kimi_linear", "architectures": ["KimiLinearForCausalLM"], "head_dim": 72,
      "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 2304, "intermediate_size": 9216,
      "kv_lora_rank": 512, "mla_use_nope": true, "moe_intermediate_size": 1024, "moe_layer_freq": 1,
      "num_attention_heads": 32, "num_experts": 256, "num_experts_per_token": 8, "num_hidden_layers": 27,
      "num_key_value_heads": 32, "num_shared_experts": 1, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
      "v_head_dim": 128, "vocab_size": 163840, "model_max_length": 1048576, "linear_attn_config": {
        "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4, "full_attn_layers": [4, 8, 12, 16, 20, 24, 27]})";
  const Import linear = import_hugging_face(kimi + "}", "config.json");
  CHECK(parse_model(linear.model_file, "config.yaml").parameters() == 49'122'675'072);
  CHECK(has_line(linear, "pattern: \"L(llfl)6lf\""));
  // Without shared experts, each of 26 layers lacks three matrices of 2,304 x 1,024. Without experts, all layers are dense.
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string changed = kimi;
    const std::size_t at = changed.find("\"" + key + "\": ") + key.size() + 4;
    return changed.replace(at, changed.find_first_of(",}", at) - at, value) + "}";
  };
  for (const char* const none : {"0", "null"})
    CHECK(model_of_text(with("num_shared_experts", none)).parameters() == 49'122'675'072 - 26 * 3 * 2304 * 1024);
  CHECK(model_of_text(with("num_experts", "null")).parameters() ==
        model_of_text(with("first_k_dense_replace", "27")).parameters());
  // Kimi K3 gives its language model the same type, with further parts.
  CHECK(refusal_of(kimi + R"(, "attn_res_block_size": 12})").find("no attention to earlier layers") != std::string::npos);
  CHECK(refusal_of(kimi + R"(, "q_lora_rank": 1536})").find("are not compressed") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "kimi_linear"})").find("no list of the layers with attention") != std::string::npos);
  const std::string windows = R"("sliding_attention", "sliding_attention", "sliding_attention", )";
  std::string types, experts;
  for (int group = 0; group < 12; ++group) types += R"("full_attention", )" + (group < 11 ? windows : "");
  for (int layer = 3; layer < 45; ++layer) experts += (layer > 3 ? "," : "") + std::to_string(layer);
  types.resize(types.size() - 2);
  const std::string step = R"({"model_type": "step3p5", "architectures": ["Step3p5ForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 11264, "num_hidden_layers": 45, "num_attention_heads": 64, "num_attention_groups": 8,
      "head_dim": 128, "vocab_size": 128896, "moe_num_experts": 288, "moe_top_k": 8, "moe_intermediate_size": 1280,
      "share_expert_dim": 1280, "sliding_window": 512, "use_head_wise_attn_gate": true, "use_moe_router_bias": true,
      "moe_router_activation": "sigmoid", "attention_other_setting": {"attention_type": "sliding_attention",
        "num_attention_heads": 96, "num_attention_groups": 8, "head_dim": 128}, "layer_types": [)" +
                           types + "]";
  const Import flash = import_hugging_face(step + R"(, "moe_layers_enum": ")" + experts + "\"}", "config.json");
  CHECK(parse_model(flash.model_file, "config.yaml").parameters() == 196'956'118'272);
  CHECK(has_line(flash, "pattern: \"FWW(wfww)10wf\""));
  CHECK(refusal_of(step + R"(, "moe_layers_enum": "3,x"})").find("'3,x' is not a list of layers") != std::string::npos);
}

TEST_CASE("Whisper and DINOv3 have the published number of parameters") {
  // The released configurations; the numbers are those of tests/data/media_model_parameters.csv, of DINOv3 without the
  // token of masked patches.
  const std::string whisper = R"({"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"],
      "d_model": 1280, "decoder_attention_heads": 20, "decoder_layers": 32, "encoder_attention_heads": 20,
      "encoder_ffn_dim": 5120, "encoder_layers": 32, "max_source_positions": 1500, "max_target_positions": 448,
      "num_mel_bins": 128, "num_hidden_layers": 32, "vocab_size": 51866, "activation_function": "gelu")";
  CHECK(model_of_text(whisper + R"(, "decoder_ffn_dim": 5120})").parameters() == 1'543'490'560);
  CHECK(refusal_of(whisper + R"(, "decoder_ffn_dim": 2560})").find("of equal sizes") != std::string::npos);
  CHECK(refusal_of(whisper + R"(, "tie_word_embeddings": false})").find("shares the embedding") != std::string::npos);
  CHECK(model_of_text(R"({"model_type": "whisper"})").parameters() == 37'760'640);
  const std::string dino = R"({"model_type": "dinov3_vit", "architectures": ["DINOv3ViTModel"], "image_size": 224,
      "patch_size": 16, "num_register_tokens": 4)";
  CHECK(model_of_text(dino + R"(, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
      "num_hidden_layers": 24})")
            .parameters() == 303'129'600 - 1024);
  CHECK(model_of_text(dino + R"(, "hidden_size": 4096, "intermediate_size": 8192, "num_attention_heads": 32,
      "num_hidden_layers": 40, "use_gated_mlp": true, "hidden_act": "silu", "query_bias": false, "value_bias": false})")
            .parameters() == 6'716'035'072 - 4096);
  CHECK(refusal_of(dino + R"(, "key_bias": true})").find("have no biases") != std::string::npos);
}

TEST_CASE("Gemma 3n has the number of parameters that transformers builds") {
  // The numbers of tests/data/transformers_parameters.csv. The defaults are those of E4B.
  CHECK(model_of_text(R"({"model_type": "gemma3n_text"})").parameters() == 6'835'235'568);
  const std::string small = R"({"model_type": "gemma3n", "architectures": ["Gemma3nForConditionalGeneration"],
      "text_config": {"model_type": "gemma3n_text", "num_hidden_layers": 30, "intermediate_size": 8192)";
  const Import e2b = import_hugging_face(small + R"(, "num_kv_shared_layers": 10}})", "config.json");
  const Model theirs = parse_model(e2b.model_file, "config.yaml");
  CHECK(theirs.parameters() == 4'435'182'688);
  CHECK(has_line(e2b, "pattern: \"(wwwwf)2WWWWFWWW\""));
  CHECK(has_line(e2b, "borrowing: \"(WWWWF)2\""));
  CHECK(theirs.layers.size() == load_model("gemma3n-e2b").layers.size());
  std::string sparse;
  for (int layer = 1; layer < 30; ++layer) sparse += "0.95, ";
  CHECK(refusal_of(small + R"(, "num_kv_shared_layers": 11}})").find("a layer of each kind\n") != std::string::npos);
  CHECK(refusal_of(small + R"(, "num_kv_shared_layers": 10, "activation_sparsity_pattern": [)" + sparse + "0.95]}}")
            .find("no family has sparse activations in layers that share") != std::string::npos);
  CHECK(refusal_of(small + R"(, "num_kv_shared_layers": 10, "activation_sparsity_pattern": [0.95]}})")
            .find("'activation_sparsity_pattern' is not a list of 30 numbers\n") != std::string::npos);
  CHECK(refusal_of(small + R"(, "altup_num_inputs": 2, "num_kv_shared_layers": 10}})").find("four streams") !=
        std::string::npos);
}

TEST_CASE("MiMo-V2-Flash has the published number of parameters") {
  // The released configuration; the number is that of tests/data/transformers_parameters.csv.
  const std::string start = R"({"model_type": "mimo_v2_flash", "num_attention_heads": 64, "num_key_value_heads": 4,
      "head_dim": 192, "v_head_dim": 128, "hidden_size": 4096, "intermediate_size": 16384, "vocab_size": 152576,
      "partial_rotary_factor": 0.334, "sliding_window": 128, "swa_num_key_value_heads": 8, "moe_intermediate_size": 2048,
      "n_routed_experts": 256, "n_shared_experts": null, "num_experts_per_tok": 8, "num_hidden_layers": 48)";
  const std::string windows = "0, 1, 1, 1, 1" + [] {
    std::string rest;
    for (int group = 0; group < 7; ++group) rest += ", 0, 1, 1, 1, 1, 1";
    return rest + ", 0";
  }();
  const Import import = import_hugging_face(start + R"(, "hybrid_layer_pattern": [)" + windows + "]}", "config.json");
  CHECK(parse_model(import.model_file, "config.yaml").parameters() == 308'778'768'832);
  CHECK(has_line(import, "turned: 64"));
  CHECK(model_of_text(start + "}").parameters() == 308'778'768'832);
  CHECK(
      refusal_of(start + R"(, "moe_layer_freq": [0, 2]})").find("'moe_layer_freq' is not a list of 48 numbers, 0 or 1\n") !=
      std::string::npos);
  CHECK(refusal_of(start + R"(, "add_full_attention_sink_bias": true})").find("only layers with a window have") !=
        std::string::npos);
}

TEST_CASE("LFM2 has the published number of parameters, with and without experts") {
  // The released configurations; the numbers are those of tests/data/transformers_parameters.csv.
  const std::string small = R"({"model_type": "lfm2", "hidden_size": 2048, "block_ff_dim": 12288, "conv_L_cache": 3,
      "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 16, "vocab_size": 65536)";
  CHECK(model_of_text(small + R"(, "full_attn_idxs": [2, 5, 8, 10, 12, 14], "tie_embedding": true})").parameters() ==
        1'170'340'608);
  CHECK(model_of_text(small + R"(, "layer_types": ["conv", "conv", "full_attention", "conv", "conv", "full_attention",
      "conv", "conv", "full_attention", "conv", "full_attention", "conv", "full_attention", "conv", "full_attention",
      "conv"]})")
            .parameters() == 1'170'340'608);
  CHECK(model_of_text(R"({"model_type": "lfm2_moe", "hidden_size": 2048, "intermediate_size": 7168, "num_dense_layers": 2,
      "moe_intermediate_size": 1792, "num_experts": 32, "num_experts_per_tok": 4, "num_hidden_layers": 24,
      "full_attn_idxs": [2, 6, 10, 14, 18, 21]})")
            .parameters() == 8'339'929'856);
  CHECK(refusal_of(small + R"(, "full_attn_idxs": [16]})").find("there is no layer 16: the last one is 15\n") !=
        std::string::npos);
  CHECK(refusal_of(small + R"(, "layer_types": ["conv"]})").find("has 1 entries, but there are 16 layers\n") !=
        std::string::npos);
}

TEST_CASE("Gemma 4 is read with experts, and with layers that borrow keys and values") {
  // As the released configurations; the numbers are those that transformers builds (tests/data/transformers_parameters.csv).
  const std::string start = R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text",
      "rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25},
                          "sliding_attention": {"rope_type": "default"}}, "tie_word_embeddings": true, )";
  const auto parameters = [&](const std::string& keys) { return model_of_text(start + keys + "}}").parameters(); };
  const std::string mixture = R"("attention_k_eq_v": true, "enable_moe_block": true, "hidden_size": 2816,
      "hidden_size_per_layer_input": 0, "intermediate_size": 2112, "moe_intermediate_size": 704, "num_attention_heads": 16,
      "num_experts": 128, "num_global_key_value_heads": 2, "num_hidden_layers": 30, "num_key_value_heads": 8,
      "top_k_experts": 8)";
  CHECK(parameters(mixture) == 25'233'141'760);
  CHECK(parameters(R"("attention_k_eq_v": true, "hidden_size": 5376, "hidden_size_per_layer_input": 0, "num_experts": null,
      "intermediate_size": 21504, "num_attention_heads": 32, "num_global_key_value_heads": 4, "num_hidden_layers": 60,
      "num_key_value_heads": 16)") == 30'697'345'280);
  const std::string borrowing = R"("hidden_size": 2560, "hidden_size_per_layer_input": 256, "intermediate_size": 10240,
      "num_attention_heads": 8, "num_hidden_layers": 42, "num_key_value_heads": 2, "num_kv_shared_layers": 18)";
  CHECK(parameters(borrowing) == 7'463'013'376);
  const auto refusal = [&](const std::string& keys) { return refusal_of(start + keys + "}}"); };
  CHECK(refusal(borrowing + R"(, "use_double_wide_mlp": true)").find("no family has wider MLPs in the last layers") !=
        std::string::npos);
  CHECK(refusal(R"("num_hidden_layers": 12, "num_kv_shared_layers": 5)").find("do not end with a layer of each kind\n") !=
        std::string::npos);
  CHECK(refusal(R"("enable_moe_block": true)").find("has no 'num_experts', and the library has no default") !=
        std::string::npos);
  CHECK(refusal(R"("use_bidirectional_attention": "all")").find("no family of Gemma 4 attends to later tokens\n") !=
        std::string::npos);
}

TEST_CASE("Infinity and NaN of Python's JSON are accepted where they have no effect, and refused elsewhere") {
  const std::string start = R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*-", )";
  CHECK(model_of_text(start + R"("time_step_limit": [0.0, Infinity], "x": NaN, "y": -Infinity})").parameters() > 0);
  CHECK(refusal_of(start + R"("hidden_size": Infinity})")
            .starts_with("config.json:1:79: 'hidden_size' is too large: at most 2147483648\n"));
  CHECK(refusal_of(start + R"("hidden_size": NaN})").find("'hidden_size' is nan, not a whole number\n") !=
        std::string::npos);
  CHECK(refusal_of(start + R"("hidden_size": Infinite})").find("not valid JSON") != std::string::npos);
}

TEST_CASE("a size under a key of another type is refused, unless it equals the default") {
  CHECK(refusal_of("{\"model_type\": \"llama\",\n \"num_layers\": 80}") ==
        "config.json:2:16: models of this type have no key 'num_layers': the library reads 'num_hidden_layers', which is "
        "missing, and would use its default 32\n"
        "   \"num_layers\": 80}\n"
        "                 ^\n"
        "hint: rename the key to 'num_hidden_layers', if both mean the same size");
  for (const std::string key : {"n_head", "hidden_dim", "ffn_embed_dim", "max_seq_len", "n_kv_heads", "padded_vocab_size"}) {
    INFO(key);
    CHECK(refusal_of(R"({"model_type": "llama", ")" + key + R"(": 64})").find("have no key '" + key) != std::string::npos);
  }
  CHECK(model_of_text(R"({"model_type": "llama", "num_layers": 32})").parameters() == 6'738'415'616);
  CHECK(layer_of(model_of_text(R"({"model_type": "llama", "num_layers": 80, "num_hidden_layers": 1})"), "layer0.qkv")
            .output_shape.channels == 3 * 4096);
  const Import allowed =
      import_hugging_face(R"({"model_type": "llama", "num_layers": 80})", "c.json", {.allow_unknown = true});
  CHECK(std::find(allowed.warnings.begin(), allowed.warnings.end(), "not read: 'num_layers'; 'num_hidden_layers' is 32") !=
        allowed.warnings.end());
}

TEST_CASE("of a multimodal model only the language model is read, with a warning") {
  const std::string text =
      R"("text_config": {"model_type": "llama", "num_hidden_layers": 1, "max_position_embeddings": 64})";
  const Import import =
      import_hugging_face(R"({"model_type": "llava", "vision_config": {"hidden_size": 3}, )" + text + "}", "c.json");
  CHECK(import.warnings.front() == "only the language model ('text_config', of the type llama) of a 'llava' was read");
  CHECK(has_line(import, "layers: 1"));
  CHECK(has_line(import, "tied: no"));
  // Before version 5, the language model says whether its head shares the embedding. If it does
  // not, the whole model says so.
  const auto tied = [&text](const std::string& keys) {
    return has_line(import_hugging_face(R"({"model_type": "llava", )" + keys + text + "}", "c.json"), "tied: yes");
  };
  CHECK(tied(R"("tie_word_embeddings": true, )"));
  const std::string said = R"({"model_type": "llama", "tie_word_embeddings": false})";
  const auto disputed = [&said](const std::string& version) {
    return has_line(import_hugging_face(R"({"model_type": "llava", "tie_word_embeddings": true, "transformers_version": ")" +
                                            version + R"(", "text_config": )" + said + "}",
                                        "c.json"),
                    "tied: yes");
  };
  CHECK(disputed("5.24.0"));
  CHECK_FALSE(disputed("4.57.6"));
  CHECK(refusal_of(R"({"model_type": "llava", "text_config": {"model_type": "llama", "hidden_size": 0}})")
            .starts_with("config.json:1:79: 'hidden_size' is too small: at least 1\n"));
  CHECK(refusal_of(R"({"model_type": "odd_vl", "text_config": {"model_type": "odd"}})").find("unknown model_type 'odd'") !=
        std::string::npos);
  // Older files have the sizes of the language model outside of any object.
  const Import flat = import_hugging_face(
      R"({"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"], "vision_config": {"depth": 32}})",
      "c.json");
  CHECK(flat.warnings.front() == "only the language model (of the type qwen2_vl_text) of a 'qwen2_vl' was read");
  CHECK(has_line(flat, "qkv_bias: yes"));
  // The type of the language model may only be part of the name of the whole model's type.
  CHECK(has_line(import_hugging_face(R"({"model_type": "qwen3_vl", "text_config": {"num_hidden_layers": 2}})", "c.json"),
                 "query_key_norm: yes"));
}

TEST_CASE("keys that only repeat properties of the type are accepted") {
  const auto warnings = [](const std::string& keys) {
    return import_hugging_face(
               R"({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeModel"], "max_position_embeddings": 8, )" + keys +
                   "}",
               "c.json")
        .warnings.size();
  };
  CHECK(warnings(R"("use_qk_norm": true)") == 1);  // sizes that the file leaves out
  CHECK(warnings(R"("num_local_experts": 128)") == 1);
  CHECK(warnings(R"("qk_norm": true, "qk_layernorm": true)") == 1);
  // A single expert is an MLP. A list of equal numbers for all layers is read as this number.
  CHECK(model_of_text(R"({"model_type": "llama", "num_experts": 1})").parameters() == 6'738'415'616);
  CHECK(model_of_text(R"({"model_type": "llama", "num_key_value_heads": [32, 32]})").parameters() == 6'738'415'616);
  CHECK(refusal_of(R"({"model_type": "llama", "num_key_value_heads": [32, 8]})")
            .find("'num_key_value_heads' is a list, not a whole number") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "llama", "num_experts": 2})").find("'num_experts' changes") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "llama", "use_qk_norm": true})").find("'use_qk_norm' changes") != std::string::npos);
}

TEST_CASE("published models have the number of parameters that the library builds, in each form of a file") {
  // Each line is a configuration as transformers writes it, and the number of parameters of its model on the device `meta`,
  // with shared parameters counted once. The configuration contains the differences from the defaults in version 5.24,
  // unless `form` states otherwise. The sizes are those of the pages at huggingface.co, or the defaults in that version.
  const std::string text = read_file(std::string(DATA_FOLDER) + "hugging_face/published.jsonl");
  const std::string key = R"("config": )";
  std::size_t models = 0;
  for (std::size_t at = 0; at < text.size(); ++models) {
    const std::size_t end = text.find('\n', at);
    const std::size_t config = text.find(key, at);
    const auto line = nlohmann::ordered_json::parse(text.substr(at, config - at) + R"("form_of": 0})");
    INFO(line.at("model").get<std::string>() << ' ' << line.value("form", ""));
    const std::size_t start = config + key.size();
    const Import import = import_hugging_face(text.substr(start, end - 1 - start), "config.json");
    at = end + 1;
    CHECK(parse_model(import.model_file, "config.yaml").parameters() == line.at("parameters").get<std::int64_t>());
    for (const std::string& warning : import.warnings) {
      INFO(warning);
      CHECK((!warning.starts_with("not read: ") || warning.find("further tokens") != std::string::npos));
    }
  }
  CHECK(models > 60);
}

TEST_CASE("layers of a decoder have the kinds that the file lists") {
  const auto pattern = [](const std::string& keys) {
    const std::string file = import_hugging_face("{" + keys + "}", "c.json").model_file;
    const std::size_t start = file.find("pattern: ");
    return start == std::string::npos ? "" : file.substr(start + 9, file.find('\n', start) - start - 9);
  };
  CHECK(pattern(R"("model_type": "smollm3", "num_hidden_layers": 9)") == "\"(FFFN)2F\"");
  CHECK(pattern(R"("model_type": "smollm3", "num_hidden_layers": 3, "no_rope_layers": [0, 1, 1])") == "\"NFF\"");
  CHECK(pattern(R"("model_type": "smollm3", "no_rope_layer_interval": 100)") == "");
  CHECK(pattern(R"("model_type": "cohere2", "num_hidden_layers": 8)") == "\"(WWWN)2\"");
  // The period starts after the dense layers, which have their own.
  const std::string cohere = R"("model_type": "cohere2_moe", "prefix_dense_intermediate_size": 512, "num_hidden_layers": )";
  CHECK(pattern(cohere + "8") == "\"(wwwn)2\"");
  CHECK(pattern(cohere + R"(4, "first_k_dense_replace": 1)") == "\"Nwww\"");
  CHECK(pattern(cohere + R"(6, "first_k_dense_replace": 2, "prefix_dense_sliding_window_pattern": 2)") == "\"WNwwwn\"");
  CHECK(refusal_of("{" + cohere + R"(4, "num_experts": 0})").find("layers of this type have experts") != std::string::npos);
  CHECK(pattern(R"("model_type": "exaone4", "num_hidden_layers": 9, "sliding_window_pattern": "LLG")") == "\"(WWN)3\"");
  CHECK(pattern(R"("model_type": "exaone4", "num_hidden_layers": 6, "sliding_window": null)") == "\"(F)6\"");
  CHECK(pattern(R"("model_type": "qwen3_next", "num_hidden_layers": 8)") == "\"(lllf)2\"");
  CHECK(pattern(R"("model_type": "olmo3", "num_hidden_layers": 8)") == "\"(WWWF)2\"");
  CHECK(
      pattern(R"("model_type": "olmo3", "num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"])") ==
      "\"FW\"");
  CHECK(pattern(R"("model_type": "llama4_text", "num_hidden_layers": 8, "interleave_moe_layer_step": 2)") == "\"(WwWn)2\"");
  CHECK(pattern(R"("model_type": "glm4_moe", "head_dim": 128)") == "\"F(f)45\"");
  CHECK(pattern(R"("model_type": "qwen3_moe", "num_hidden_layers": 6, "decoder_sparse_step": 2, "mlp_only_layers": [1])") ==
        "\"FFFfFf\"");
  CHECK(pattern(R"("model_type": "ernie4_5_moe", "num_hidden_layers": 4, "moe_layer_end_index": 2)") == "\"FffF\"");
  CHECK(pattern(R"("model_type": "bamba", "num_hidden_layers": 4, "attn_layer_indices": [2])") == "\"MMFM\"");
  CHECK(refusal_of(R"({"model_type": "olmo3", "layer_types": ["full_attention"]})")
            .starts_with("config.json:1:40: 'layer_types' has 1 entries, but there are 32 layers\n"));
  CHECK(refusal_of(R"({"model_type": "smollm3", "no_rope_layers": [0]})")
            .starts_with("config.json:1:45: 'no_rope_layers' has 1 entries, but there are 36 layers\n"));
  CHECK(refusal_of(R"({"model_type": "mixtral", "num_local_experts": 1})")
            .starts_with("config.json:1:48: one expert is not supported: use at least 2, or 0 for an MLP\n"));
  CHECK(refusal_of(R"({"model_type": "bamba", "mamba_d_head": 7})")
            .starts_with("config.json:1:41: 128 heads of 7 are not the 8192 channels of Mamba-2\n"));
}

TEST_CASE("Trinity and nanochat have the number of parameters that transformers builds") {
  // transformers 5.24, default configurations, without the numbers that correct Trinity's routers.
  const Model trinity = model_of_text(R"({"model_type": "afmoe"})");
  CHECK(trinity.parameters() == 19'232'598'016);
  CHECK(trinity.parameters() + trinity.buffers() == 19'232'600'000);
  CHECK(model_of_text(R"({"model_type": "afmoe", "layer_types": ["sliding_attention"], "num_hidden_layers": 1})")
            .parameters() < trinity.parameters());
  const auto nanochat = [](const std::string& more) { return model_of_text(R"({"model_type": "nanochat")" + more + "}"); };
  CHECK(nanochat("").parameters() == 256'573'440);
  // The first layer reads a norm of the embedding, and the logits have a soft cap of 15.
  CHECK(nanochat("").layers[1].operation->type() == "norm");
  const auto is_capped = [&](const std::string& more) {
    return nanochat(more).layers.back().operation->attribute_values().flag("soft_cap", false);
  };
  CHECK(is_capped(""));
  CHECK_FALSE(is_capped(R"(, "final_logit_softcapping": null)"));
}

TEST_CASE("encoders of speech and GPT-Neo have the number of parameters that transformers builds") {
  // transformers 5.24, without the vector of masked positions and the norms of the positional convolution's weights; of the
  // conformer without its unused positional convolution (tests/data/media_model_parameters.csv).
  const std::string large = R"(, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
      "intermediate_size": 4096, "feat_extract_norm": "layer", "conv_bias": true)";
  CHECK(model_of_text(R"({"model_type": "wav2vec2"})").parameters() == 94'396'320 - 896);
  CHECK(model_of_text(R"({"model_type": "hubert"})").parameters() == 94'396'320 - 896);
  CHECK(model_of_text(R"({"model_type": "wav2vec2", "do_stable_layer_norm": true)" + large + "}").parameters() ==
        315'471'520 - 1152);
  CHECK(model_of_text(R"({"model_type": "wav2vec2-conformer", "position_embeddings_type": "rotary")" + large + "}")
            .parameters() == load_model("wav2vec2-conformer-large").parameters());
  CHECK(refusal_of(R"({"model_type": "wav2vec2-conformer"})").find("only rotary positions are read") != std::string::npos);
  for (const std::string_view key : {"feat_proj_layer_norm\": false", "conv_pos_batch_norm\": true", "conv_bias\": true"}) {
    CHECK(refusal_of(fmt::format(R"({{"model_type": "hubert", "{}}})", key)).find(key.substr(0, key.find('"'))) !=
          std::string::npos);
  }
  const auto neo = [](const std::string& more) {
    return import_hugging_face(R"({"model_type": "gpt_neo", "num_layers": 4)" + more + "}", "config.json").model_file;
  };
  CHECK(neo(R"(, "attention_types": [[["global"], 1], [["local"], 3]])") ==
        neo(R"(, "attention_layers": ["global", "local", "local", "local"])"));
  CHECK(neo(R"(, "attention_types": [[["global", "local"], 2]])") == neo(""));
  const auto refused = [](const std::string& more) {
    return refusal_of(R"({"model_type": "gpt_neo", "num_layers": 2, "attention_types": )" + more + "}");
  };
  CHECK(refused(R"([[["global"], 2]], "attention_layers": ["global", "local"])").find("contradicts") != std::string::npos);
  CHECK(refused(R"([[["global"], 1]])").find("has 1 entries, but there are 2 layers") != std::string::npos);
  CHECK(refused(R"([[["global", "local"], 18446744073709551615]])").find("more entries") != std::string::npos);
  CHECK(refused(R"([["global", 2]])").find("not a list of names") != std::string::npos);
  CHECK(refusal_of(R"({"model_type": "hubert", "conv_kernel": [10, 3, 3, 3, 3, 2]})").find("have other sizes") !=
        std::string::npos);
  CHECK(model_of_text(R"({"model_type": "gpt_neo"})").parameters() == load_model("gpt-neo-1.3b").parameters());
  CHECK(refusal_of(R"({"model_type": "gpt_neo", "num_layers": 2, "attention_layers": ["global"]})")
            .find("'attention_layers' has 1 entries, but there are 2 layers") != std::string::npos);
}

}  // namespace hugging_face_types_tests
