#include "cli/tools/run_values.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/tools/network_of.hpp"

namespace ddl {
namespace {

/// For each choice that has an effect on the plan, sets the field to the name of the chosen value.
void add_used_choices(RunValues& values, const Plan& plan) {
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = row.get(plan);
    const bool counts = row.counts == nullptr || row.counts(plan);
    if (counts && (value > 0 || row.matters(plan.mesh))) values.set(row.choice, row.name(value));
  }
}

/// Sets further fields for tools that express a plan's choices as numbers of shards, numbers of layers, or methods.
void add_stand_ins(RunValues& values, const Plan& plan, std::int64_t layers) {
  const Mesh& mesh = plan.mesh;
  const int data = mesh[Axis::data], stages = mesh[Axis::pipeline];
  const bool is_sharded = plan.zero_stage > 0;
  const int copies = is_sharded && plan.shard_group > 0 ? std::max(data / plan.shard_group, 1) : is_sharded ? 1 : data;
  // Tools that count shards cannot express ZeRO-1.
  if (plan.zero_stage != 1) {
    values.set(ConfigField::data_replicate, copies);
    values.set(ConfigField::data_shard, is_sharded ? std::int64_t{data} * mesh[Axis::expert] / copies : 1);
  }
  if (is_sharded) values.flag(ConfigField::shards_nodes, plan.shard_group > 0);
  if (plan.zero_stage >= 2) values.flag(ConfigField::reshards, plan.zero_stage == 3);
  if (plan.recompute == Recompute::full) {
    values.set(ConfigField::recompute_method, plan.recompute_blocks > 0 ? "block" : "uniform");
    values.set(ConfigField::recompute_layers, std::max(plan.recompute_blocks, 1));
  }
  values.flag(ConfigField::offload_weights, plan.offload == Offload::weights);
  if (mesh[Axis::tensor] > 1) values.set(ConfigField::expert_tensor, plan.whole_experts ? 1 : mesh[Axis::tensor]);
  if (stages == 1) return;
  values.flag(ConfigField::interleaved, plan.virtual_stages > 1);
  // If the first or the last stage has another number of blocks, Megatron-LM accepts only the number of virtual stages.
  if (plan.first_stage_blocks > 0 || plan.last_stage_blocks > 0) return;
  const int slots = outer_slots(plan, layers);
  if (slots > 0) values.flag(ConfigField::embedding_slot, true);
  if (slots > 1) values.flag(ConfigField::loss_slot, true);
  if (plan.virtual_stages > 1)
    values.set(ConfigField::layers_per_virtual_stage, (layers + slots) / (std::int64_t{stages} * plan.virtual_stages));
}

}  // namespace

int outer_slots(const Plan& plan, std::int64_t layers) {
  const std::int64_t chunks = std::int64_t{plan.mesh[Axis::pipeline]} * plan.virtual_stages;
  constexpr int most = 2;
  for (int slots = 0; slots <= most; ++slots) {
    if ((layers + slots) % chunks == 0) return slots;
  }
  return 0;
}

RunValues values_of(const Plan& plan, const ConfigurationFormat& format, std::int64_t layers) {
  RunValues values;
  const Mesh& mesh = plan.mesh;
  values.set(ConfigField::tensor, mesh[Axis::tensor]);
  values.set(ConfigField::pipeline, mesh[Axis::pipeline]);
  values.set(ConfigField::context, mesh[Axis::context]);
  // If tensor parallelism leaves experts whole, tools count the tensor ranks as part of the expert degree.
  values.set(ConfigField::expert, std::int64_t{mesh[Axis::expert]} * (plan.whole_experts ? mesh[Axis::tensor] : 1));
  const std::int64_t share = std::max<std::int64_t>(plan.global_batch / mesh.batch_parts(), 1);
  const std::int64_t samples = std::max<std::int64_t>(share / plan.micro_batches, 1);
  const bool cuts_share = mesh[Axis::pipeline] > 1 && std::ranges::any_of(format.rows, [](const auto& row) {
                            return row.field == ConfigField::pipeline_batch;
                          });
  values.set(ConfigField::global_batch, plan.global_batch);
  values.set(ConfigField::micro_batch, cuts_share ? share : samples);
  if (cuts_share) values.set(ConfigField::pipeline_batch, samples);
  values.set(ConfigField::accumulation, plan.micro_batches);
  values.set(ConfigField::micro_batches, plan.micro_batches);
  // In a step in bf16, formats narrower than bf16 apply only to matrix products, so the precision of the step is bf16.
  // A narrower format without a flag remains the precision. Only tools with a word for this format can write it.
  const bool has_flag = plan.precision == Precision::fp8 || plan.precision == Precision::nvfp4;
  values.set(ConfigField::precision, to_string(has_flag ? Precision::bf16 : plan.precision));
  values.flag(ConfigField::fp8, plan.precision == Precision::fp8);
  values.flag(ConfigField::fp4, plan.precision == Precision::nvfp4);
  const bool is_sgd = plan.optimizer == Optimizer::sgd || plan.optimizer == Optimizer::momentum;
  values.set(ConfigField::optimizer, to_string(is_sgd ? Optimizer::momentum : plan.optimizer));
  if (is_sgd) values.set(ConfigField::momentum, plan.optimizer == Optimizer::sgd ? "0" : "0.9");
  add_used_choices(values, plan);
  add_stand_ins(values, plan, layers);
  // Choices without effect are left out, because each tool spells `none` differently.
  if (plan.virtual_stages == 1) values.clear(PlanChoice::virtual_stages);
  if (plan.first_stage_blocks == 0) values.clear(PlanChoice::first_stage_blocks);
  if (plan.last_stage_blocks == 0) values.clear(PlanChoice::last_stage_blocks);
  if (plan.shard_group == 0) values.clear(PlanChoice::shard_group);
  if (plan.secondary_shards <= 1) values.clear(PlanChoice::secondary_shards);
  return values;
}

void add_model(RunValues& values, const Transformer& model) {
  values.set(ConfigField::layers, model.layers);
  values.set(ConfigField::hidden, model.hidden);
  values.set(ConfigField::feed_forward, model.feed_forward);
  values.set(ConfigField::heads, model.heads);
  if (model.kv_heads != model.heads) {
    values.flag(ConfigField::grouped_queries, true);
    values.set(ConfigField::kv_heads, model.kv_heads);
  }
  if (model.head_size * model.heads != model.hidden) values.set(ConfigField::head_size, model.head_size);
  values.set(ConfigField::sequence, model.tokens);
  values.set(ConfigField::positions, model.positions);
  values.set(ConfigField::vocabulary, model.vocabulary);
  values.set(ConfigField::vocabulary_multiple, 1);
  values.set(ConfigField::hidden_dropout, model.dropout);
  values.set(ConfigField::attention_dropout, model.attention_dropout);
  values.set(ConfigField::position, model.is_llama ? "rope" : "learned");
  if (model.turned != model.head_size) {
    values.set(ConfigField::rotary_percent,
               fmt::format("{}", static_cast<double>(model.turned) / static_cast<double>(model.head_size)));
  }
  values.set(ConfigField::norm, model.is_llama ? "rms" : "layer");
  values.flag(ConfigField::gated, model.is_llama);
  values.set(ConfigField::activation, model.is_llama ? "swiglu" : "gelu");
  values.flag(ConfigField::bias, model.has_bias);
  values.flag(ConfigField::qkv_bias, model.has_qkv_bias && !model.has_bias);
  values.flag(ConfigField::query_key_norm, model.has_query_key_norm);
  values.flag(ConfigField::tied, model.is_tied);
  values.set(ConfigField::attention, model.is_fused ? "fused" : "unfused");
  if (model.experts > 1) {
    values.set(ConfigField::experts, model.experts);
    values.set(ConfigField::active_experts, model.active);
  }
}

std::optional<Transformer> transformer_of(const Model& model) {
  const bool is_gpt = model.family == "gpt", is_llama = model.family == "llama";
  if (!is_gpt && !is_llama) return std::nullopt;
  if (model.family_parameter("head") != "language_model") return std::nullopt;
  if (model.family_parameter("activation") != (is_gpt ? "gelu" : "silu")) return std::nullopt;
  if (is_gpt && model.family_parameter("embedding_dropout") != model.family_parameter("dropout")) return std::nullopt;
  // Megatron-LM has a single argument for the biases of all matrices, so attention and MLPs must agree.
  if (is_llama && family_flag(model, "attention_bias") != family_flag(model, "feed_forward_bias")) return std::nullopt;
  const auto number = [&](std::string_view name) { return family_number(model, name); };
  Transformer all;
  all.is_llama = is_llama;
  all.layers = number("layers");
  all.hidden = number("hidden");
  all.feed_forward = number("feed_forward");
  all.heads = number("heads");
  all.vocabulary = number("vocabulary");
  all.tokens = number("tokens");
  all.positions = is_gpt ? number("positions") : all.tokens;
  all.kv_heads = is_gpt ? all.heads : number("kv_heads");
  all.head_size = is_gpt ? all.hidden / all.heads : number("head_size");
  all.experts = is_gpt ? 1 : number("experts");
  all.active = is_gpt ? 1 : number("active");
  all.window = is_gpt ? 0 : number("window");
  all.is_tied = family_flag(model, "tied");
  all.has_query_key_norm = family_flag(model, "query_key_norm");
  all.has_qkv_bias = family_flag(model, "qkv_bias");
  all.turned = is_gpt ? all.head_size : number("turned");
  all.has_bias = is_gpt || family_flag(model, "attention_bias");
  all.is_fused = family_flag(model, "fused");
  all.dropout = is_gpt ? model.family_parameter("dropout") : "0";
  all.attention_dropout = model.family_parameter(is_gpt ? "attention_dropout" : "dropout");
  return all;
}

}  // namespace ddl
