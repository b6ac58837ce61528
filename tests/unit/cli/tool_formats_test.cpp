// Tests of the tables of tools: which tool a file is for, and what all tools with a feature have to read.

#include <algorithm>
#include <string>
#include <vector>

#include "cli/options/configurations/named_files.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/tools/configuration_format.hpp"
#include "tests/catch.hpp"

namespace tool_formats_tests {

using namespace ddl;

namespace {

/// A file in JSON with these keys.
struct Keys {
  ConfigEntries entries{};
  std::vector<std::string> names{};
  explicit Keys(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      entries.push_back({.key = key, .value = "true"});
      names.push_back(argument_key(key));
    }
  }
  [[nodiscard]] ConfiguredText text(ConfigurationLanguage language) const {
    return {.language = language, .keys = names, .settings = entries};
  }
};

bool has_row(const ConfigurationFormat& format, ConfigField field) {
  return std::any_of(format.rows.begin(), format.rows.end(),
                     [&](const ArgumentRow& row) { return row.field == RunField(field); });
}

}  // namespace

TEST_CASE("the name of a file ends before the words behind it, and may contain spaces") {
  CHECK(first_file_in("a.yaml DTYPE float16") == "a.yaml");
  CHECK(first_file_in("my configs/a.yaml DTYPE float16") == "my configs/a.yaml");
  CHECK(first_file_in("v1.0 x/d.json") == "v1.0 x/d.json");
  CHECK(first_file_in("zero3") == "zero3");
}

TEST_CASE("every tool with adapters reads their dropout") {
  // These two have no argument for it.
  const std::vector<const ConfigurationFormat*> without{&easy_r1_yaml, &verl_sft_overrides};
  for (const ConfigurationFormat* format : configuration_formats()) {
    if (!has_row(*format, ConfigField::adapter_rank)) continue;
    if (std::find(without.begin(), without.end(), format) != without.end()) continue;
    INFO(format->name);
    CHECK(has_row(*format, ConfigField::adapter_dropout));
  }
}

TEST_CASE("words for FlashAttention of a version mean the kernels of this version") {
  int checked = 0;
  for (const ConfigurationFormat* format : configuration_formats()) {
    for (const ArgumentRow& row : format->rows) {
      if (row.field != RunField(ConfigField::attention)) continue;
      for (const ArgumentWord& word : row.words) {
        if (!word.word.starts_with("fa") && !word.word.starts_with("flash_attention_")) continue;
        INFO(format->name << ": " << word.word);
        if (word.word.ends_with('2')) CHECK(word.meaning == "flash2");
        if (word.word.ends_with('3')) CHECK(word.meaning == "flash3");
        checked += word.word.ends_with('2') || word.word.ends_with('3') ? 1 : 0;
      }
    }
  }
  CHECK(checked >= 16);  // at least eight tools have words for both versions
}

TEST_CASE("switches of the package flash-attn mean FlashAttention-2") {
  const auto meaning_of = [](const ConfigurationFormat& format, std::string_view key) -> std::string_view {
    for (const ArgumentRow& row : format.rows)
      if (row.key == key) return row.words.empty() ? row.alone : row.words.front().meaning;
    return "";
  };
  CHECK(meaning_of(axolotl_yaml, "flash_attention") == "flash2");
  CHECK(meaning_of(axolotl_yaml, "sdp_attention") == "fused");
  CHECK(meaning_of(olmo_yaml, "model.flash_attention") == "flash2");
  CHECK(meaning_of(picotron_json, "model.use_flash_attention") == "flash2");
}

TEST_CASE("accumulation and a precision are a file of DeepSpeed, and keys that tools share are no file of a tool") {
  const Keys deepspeed({"gradient_accumulation_steps", "fp16.enabled", "gradient_clipping"});
  CHECK(format_of(deepspeed.text(ConfigurationLanguage::json)) == &deepspeed_json);
  const Keys loss({"loss.beta", "lr"}), loader({"DATA_LOADER.NUM_WORKERS", "NUM_GPUS"});
  CHECK(foreign_tool_of(loss.text(ConfigurationLanguage::yaml)) == nullptr);
  CHECK(foreign_tool_of(loader.text(ConfigurationLanguage::yaml)) == nullptr);
}

}  // namespace tool_formats_tests
