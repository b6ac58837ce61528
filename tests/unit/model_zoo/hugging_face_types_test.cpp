#include <algorithm>
#include <string>

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
  CHECK(refusal_of(R"({"model_type": "jamba"})")
            .starts_with(
                "config.json:1:16: models of the type 'jamba' are not read: layers with the recurrence of Mamba-1 are "
                "not among the operations of model files\n"));
  CHECK(refusal_of(R"({"model_type": "some_vl", "text_config": {"model_type": "gemma4_text"}})")
            .find("models of the type 'gemma4_text' are not read") != std::string::npos);
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

}  // namespace hugging_face_types_tests
