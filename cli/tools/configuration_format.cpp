#include "cli/tools/configuration_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/find.hpp"

namespace ddl {
namespace {

/// Defaults that most tools share. A format may override them.
constexpr std::array usual_values{
    UsualValue{ConfigField::tensor, "1"},
    UsualValue{ConfigField::pipeline, "1"},
    UsualValue{ConfigField::context, "1"},
    UsualValue{ConfigField::expert, "1"},
    UsualValue{ConfigField::data_replicate, "1"},
    UsualValue{ConfigField::accumulation, "1"},
    UsualValue{ConfigField::micro_batches, "1"},
    UsualValue{ConfigField::reshards, "yes"},
    UsualValue{ConfigField::shards_nodes, "no"},
    UsualValue{ConfigField::offload_weights, "no"},
    UsualValue{ConfigField::interleaved, "no"},
    UsualValue{ConfigField::attention, "fused"},
    UsualValue{ConfigField::activation, "gelu"},
    UsualValue{ConfigField::gated, "no"},
    UsualValue{ConfigField::qkv_bias, "no"},
    UsualValue{ConfigField::query_key_norm, "no"},
    UsualValue{ConfigField::grouped_queries, "no"},
    UsualValue{ConfigField::fp8, "no"},
    UsualValue{ConfigField::fp4, "no"},
    UsualValue{ConfigField::momentum, "0.9"},
};

constexpr std::array all_stand_ins{
    StandIn{PlanChoice::zero, ConfigField::data_shard},
    StandIn{PlanChoice::zero, ConfigField::reshards},
    StandIn{PlanChoice::shard_group, ConfigField::data_replicate},
    StandIn{PlanChoice::shard_group, ConfigField::data_shard},
    StandIn{PlanChoice::shard_group, ConfigField::shards_nodes},
    StandIn{PlanChoice::recompute_blocks, ConfigField::recompute_method},
    StandIn{PlanChoice::recompute_blocks, ConfigField::recompute_layers},
    StandIn{PlanChoice::offload, ConfigField::offload_weights, true},
    StandIn{PlanChoice::experts, ConfigField::expert_tensor},
    StandIn{PlanChoice::virtual_stages, ConfigField::layers_per_virtual_stage},
    StandIn{PlanChoice::virtual_stages, ConfigField::interleaved, true},
    StandIn{ConfigField::kv_heads, ConfigField::grouped_queries, true},
    StandIn{ConfigField::activation, ConfigField::gated, true},
};

const UsualValue* usual_in(std::span<const UsualValue> all, RunField field) {
  return find_where(all, [&](const UsualValue& each) { return each.field == field; });
}

/// Returns whether `word` also gives the right values to the other fields that the argument sets. Fields are ignored if
/// their rows have no word for their values.
bool fits_others(const ConfigurationFormat& format, const ArgumentRow& row, std::string_view word, const RunValues& values) {
  return std::ranges::all_of(format.rows, [&](const ArgumentRow& other) {
    if (other.key != row.key || other.field == row.field || !values[other.field]) return true;
    bool has_word = false, fits = false;
    for (const ArgumentWord& each : other.words) {
      const bool says_it = each.meaning == *values[other.field] && !each.is_only_read;
      has_word = has_word || says_it;
      fits = fits || (says_it && each.word == word);
    }
    return fits || !has_word;
  });
}

}  // namespace

bool runs_megatron_core(const ConfigurationFormat& format) {
  const auto all = {&megatron_arguments, &nemo_yaml, &swift_megatron_arguments, &slime_arguments};
  return contains(all, &format);
}

bool starts_ray(const ConfigurationFormat* format) {
  const auto all = {&verl_overrides, &slime_arguments, &nemo_rl_yaml, &easy_r1_yaml, &skyrl_overrides, &openrlhf_arguments};
  return contains(all, format);
}

std::span<const ConfigurationFormat* const> configuration_formats() {
  static const auto formats = std::to_array<const ConfigurationFormat*>({&megatron_arguments,
                                                                         &verl_overrides,
                                                                         &verl_sft_overrides,
                                                                         &easy_r1_yaml,
                                                                         &skyrl_overrides,
                                                                         &skyrl_sft_overrides,
                                                                         &openrlhf_arguments,
                                                                         &openrlhf_sft_arguments,
                                                                         &llm_recipes_arguments,
                                                                         &arctic_training_yaml,
                                                                         &maxtext_overrides,
                                                                         &slime_arguments,
                                                                         &nemo_rl_yaml,
                                                                         &litgpt_yaml,
                                                                         &nemo_yaml,
                                                                         &torchtitan_toml,
                                                                         &prime_rl_toml,
                                                                         &torchtune_yaml,
                                                                         &automodel_yaml,
                                                                         &nanotron_yaml,
                                                                         &olmo_yaml,
                                                                         &llm_foundry_yaml,
                                                                         &gpt_neox_yaml,
                                                                         &levanter_yaml,
                                                                         &picotron_json,
                                                                         &oumi_yaml,
                                                                         &peft_json,
                                                                         &deepspeed_json,
                                                                         &accelerate_yaml,
                                                                         &axolotl_yaml,
                                                                         &llama_factory_v1_yaml,
                                                                         &llama_factory_arguments,
                                                                         &swift_megatron_arguments,
                                                                         &swift_arguments,
                                                                         &trl_arguments,
                                                                         &transformers_arguments});
  return formats;
}

std::string usual_value(const ConfigurationFormat& format, RunField field, const RunValues& values) {
  if (const UsualValue* own = usual_in(format.usual, field)) return std::string(own->value);
  if (const std::optional<PlanChoice> choice = field.choice()) return std::string(row_of(*choice).name(0));
  if (field == ConfigField::expert_tensor) return values[ConfigField::tensor].value_or("1");
  const UsualValue* common = usual_in(usual_values, field);
  return common == nullptr ? std::string() : std::string(common->value);
}

std::optional<std::string> said_by(const ConfigurationFormat& format, const ArgumentRow& row, const RunValues& values) {
  const std::optional<std::string>& value = values[row.field];
  if (!value) return std::nullopt;
  if (!row.alone.empty() && row.words.empty()) return row.alone == *value ? std::optional<std::string>("") : std::nullopt;
  if (row.words.empty()) {
    std::string text = *value;
    // A choice that is a set of names is written as a list of these names.
    if (row.field.choice() && !row_of(*row.field.choice()).parts.empty()) std::ranges::replace(text, '+', ' ');
    return text;
  }
  for (const ArgumentWord& word : row.words) {
    if (word.meaning == *value && !word.is_only_read && fits_others(format, row, word.word, values))
      return std::string(word.word);
  }
  return std::nullopt;
}

std::span<const StandIn> stand_ins() { return all_stand_ins; }

bool is_stand_in(RunField field) {
  return std::ranges::any_of(all_stand_ins, [&](const StandIn& each) { return each.by == field; });
}

std::string name_of(RunField field) {
  if (const std::optional<PlanChoice> choice = field.choice()) return std::string(row_of(*choice).option);
  constexpr std::array names{
      std::pair{ConfigField::tensor, "tensor"},
      std::pair{ConfigField::pipeline, "pipeline"},
      std::pair{ConfigField::context, "context"},
      std::pair{ConfigField::expert, "expert"},
      std::pair{ConfigField::precision, "precision"},
      std::pair{ConfigField::optimizer, "optimizer"},
      std::pair{ConfigField::fp8, "fp8"},
      std::pair{ConfigField::fp4, "fp4"},
      std::pair{ConfigField::momentum, "momentum"},
      std::pair{ConfigField::accumulation, "micro-batches"},
  };
  const auto found = std::ranges::find_if(names, [&](const auto& each) { return each.first == field; });
  return found == names.end() ? std::string() : std::string(found->second);
}

}  // namespace ddl
