#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/tools/config_text.hpp"
#include "cli/tools/network_of.hpp"
#include "cli/tools/run_values.hpp"
#include "core/lower_case.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace torchtitan_tables {

// Sources of names and defaults: pytorch/torchtitan, torchtitan/config/job_config.py, and
// config_manager.py of older versions.
constexpr auto checkpoints = argument_words("none=none", "selective=selective", "full=full");
constexpr auto shares = argument_words("op=", "1=1", "2=0.5", "3=0.3333", "4=0.25", "5=0.2", "6=0.1667", "8=0.125");
constexpr auto precisions = argument_words("bfloat16=bf16", "float32=fp32");
constexpr auto optimizers = argument_words("AdamW=adamw", "Adam=adam");
constexpr auto reshards = argument_words("default=default", "always=yes", "never=no");
constexpr auto rotations = argument_words("allgather=ring", "alltoall=ring");
constexpr auto schedules = argument_words("1F1B=1f1b", "GPipe=gpipe", "Interleaved1F1B=1f1b", "InterleavedZeroBubble>zb-h1",
                                          "ZBVZeroBubble=zb-v", "DualPipeV>dualpipe");
constexpr auto interleaving = argument_words("1F1B=no", "GPipe=no", "Interleaved1F1B=yes", "InterleavedZeroBubble=no",
                                             "ZBVZeroBubble=no", "DualPipeV=no");

// The option of conversion has another name in newer versions.
constexpr auto converters = argument_words("quantize.linear.float8=yes", "float8>yes");

constexpr auto arguments = std::to_array<ArgumentRow>({
    {"model.name", ConfigField::model},
    {"model.flavor", ConfigField::flavor},
    {"optimizer.name", ConfigField::optimizer, "", optimizers},
    only_read({"optimizer.early_step_in_backward", ConfigField::updates_in_backward, "", common::flags}),
    {"training.local_batch_size", ConfigField::micro_batch},
    {"training.global_batch_size", ConfigField::global_batch},
    {"training.seq_len", ConfigField::sequence},
    {"training.mixed_precision_param", ConfigField::precision, "", precisions},
    {"training.enable_cpu_offload", PlanChoice::offload, "weights", common::offloads},
    {"parallelism.data_parallel_replicate_degree|training.data_parallel_replicate_degree", ConfigField::data_replicate},
    {"parallelism.data_parallel_shard_degree|training.data_parallel_shard_degree", ConfigField::data_shard},
    {"parallelism.fsdp_reshard_after_forward", ConfigField::reshards, "", reshards},
    {"parallelism.tensor_parallel_degree|training.tensor_parallel_degree", ConfigField::tensor},
    {"parallelism.context_parallel_degree|experimental.context_parallel_degree", ConfigField::context},
    {"parallelism.context_parallel_rotate_method", PlanChoice::context_exchange, "", rotations},
    {"parallelism.pipeline_parallel_degree|experimental.pipeline_parallel_degree", ConfigField::pipeline},
    {"parallelism.pipeline_parallel_schedule|experimental.pipeline_parallel_schedule", PlanChoice::schedule, "", schedules},
    {"parallelism.pipeline_parallel_schedule|experimental.pipeline_parallel_schedule", ConfigField::interleaved, "",
     interleaving},
    {"parallelism.pipeline_parallel_layers_per_stage", ConfigField::layers_per_virtual_stage},
    {"parallelism.pipeline_parallel_microbatch_size", ConfigField::pipeline_batch},
    {"activation_checkpoint.mode", PlanChoice::recompute, "", checkpoints},
    {"compile.enable|training.compile", ConfigField::compiled, "yes", common::flags},
    ArgumentRow{.key = "model.converters", .field = ConfigField::fp8, .words = converters, .is_list = true},
    // Arguments of other versions of torchtitan, and arguments that need libraries other than torchtitan.
    only_read({"training.batch_size", ConfigField::micro_batch}),
    only_read({"training.gradient_accumulation_steps", ConfigField::accumulation}),  // YerevaNN/YNNtitan
    only_read({"parallelism.expert_tensor_parallel_degree", ConfigField::expert_tensor}),
    only_read({"parallelism.expert_parallel_degree", ConfigField::expert}),
    only_read({"training.debug_moe_force_load_balance|debug.moe_force_load_balance", ConfigField::routing_forced, "yes",
               common::flags}),
    // Selective checkpointing recomputes every n-th block as a whole.
    only_read({"activation_checkpoint.selective_ac_option", ConfigField::recompute_share, "", shares}),
    only_read({"float8.enable_float8_linear", ConfigField::fp8, "yes", common::flags}),
});
constexpr auto rows = one_name_each<arguments>();

// In torchtitan, tensor parallelism includes sequence parallelism, and FSDP is ZeRO-3.
constexpr auto usual = std::to_array<UsualValue>({{ConfigField::precision, "bf16"},
                                                  {PlanChoice::zero, "3"},
                                                  {PlanChoice::sequence_parallel, "yes"},
                                                  {ConfigField::data_shard, "-1"},
                                                  {ConfigField::pipeline_batch, "1"},
                                                  {ConfigField::compiled, "no"},
                                                  {PlanChoice::recompute, "selective"},
                                                  {ConfigField::micro_batch, "8"},
                                                  {ConfigField::sequence, "2048"},
                                                  {ConfigField::optimizer, "adamw"}});

constexpr auto not_modeled =
    argument_names("parallelism.enable_async_tensor_parallel", "parallelism.enable_compiled_autograd",
                   "parallelism.disable_loss_parallel", "parallelism.pipeline_parallel_schedule_csv",
                   "parallelism.pipeline_parallel_split_points", "parallelism.module_fqns_per_model_part",
                   "float8.enable_fsdp_float8_all_gather", "quantize.linear.float8.enable_fsdp_float8_all_gather");

constexpr auto missing = std::to_array<MissingValue>({
    {ConfigField::optimizer, "only Adam and AdamW are available: --optimizer adamw"},
    {PlanChoice::zero, "sharding is by FSDP2, which is ZeRO-2 or ZeRO-3: --zero 3"},
    {PlanChoice::reshard, "with weights kept after forward, FSDP is ZeRO-2: --zero 2"},
    {PlanChoice::recompute_modules,
     "every second matmul is recomputed, and modules cannot be selected: --recompute-modules core_attn"},
    {PlanChoice::recompute_blocks, "all blocks, or every n-th, are recomputed: --recompute-blocks 0"},
    {PlanChoice::secondary_shards, "secondary shards are not available: --secondary-shards 0"},
    {PlanChoice::sequence_parallel, "tensor parallelism needs sequence parallelism: --sequence-parallel yes"},
    {PlanChoice::context_exchange,
     "context parallelism passes keys and values around a ring, and does not exchange heads (Ulysses)"},
});

constexpr auto marks =
    argument_names("model.flavor", "training.local_batch_size", "training.data_parallel_shard_degree",
                   "training.tensor_parallel_degree", "parallelism.data_parallel_*", "parallelism.tensor_parallel_degree",
                   "parallelism.pipeline_parallel_degree", "parallelism.context_parallel_degree",
                   "activation_checkpoint.mode", "job.dump_folder", "experimental.context_parallel_degree");

constexpr auto harmless = argument_names(
    "job.*", "profiling.*", "metrics.*", "comm.*", "checkpoint.*", "validation.*", "lr_scheduler.*", "model.hf_assets_path",
    "model.tokenizer_path", "model.norm_type", "model.print_after_conversion", "optimizer.*", "training.steps",
    "training.max_norm", "training.dataset*", "training.deterministic", "training.seed", "training.warmup_steps",
    "training.gc_*", "training.mixed_precision_reduce", "compile.components", "activation_checkpoint.*", "fault_tolerance.*",
    "experimental.*", "memory_estimation.*", "float8.*", "quantize.linear.float8.*", "debug.*");

// In newer versions, a function in Python sets the values [torchtitan/config/manager.py].
constexpr auto programs = argument_names("torchtitan.train", "*torchtitan/train.py");

constexpr std::string_view in_python = "torchtitan's values are in a configuration in Python, which is not read";
constexpr std::string_view write_values =
    "name the trained model with --model, and give batch and length in the script, by --training.local_batch_size 1 "
    "--training.seq_len 8192, or as options: --batch-per-gpu 1 --micro-batches 1 --seq 8192";
constexpr std::string_view batches = "--training.local_batch_size --training.batch_size";

constexpr auto refused = std::to_array<RefusedArgument>({
    {"--module", in_python, write_values, true},
    {"--module", in_python, write_values, false, "", "", "", "--training.seq_len", "--seq"},
    {"--module", in_python, write_values, false, "", "", "", batches, "--batch-per-gpu --global-batch"},
    {"--module", in_python, write_values, false, "", "", "", batches, "--micro-batches"},
    {"model.converters", "the format of matrix products depends on this key, which is not read", "use --precision fp8",
     false, "mx"},
    // Primus's files have a section of adapters for each of its frameworks.
    {"lora.rank", "adapters are not read", "name the model with its adapters: --model NAME@lora=16", true, "", "0"},
    {"flux.*", "a vision model is trained", "name the trained model with --model", true},
    {"encoder.*", "a vision model is trained", "name the trained model with --model", true},
});

/// A bundled model, and the name and size ("flavor") of the model in torchtitan.
struct Flavor {
  std::string_view model, name, flavor;
};
/// torchtitan's models that have the sizes of a bundled model [torchtitan 0.2.2, torchtitan/models, llama3 and qwen3].
constexpr std::array<Flavor, 9> flavors{{{"llama3-8b", "llama3", "8B"},
                                         {"llama3-70b", "llama3", "70B"},
                                         {"llama3-405b", "llama3", "405B"},
                                         {"qwen3-0.6b", "qwen3", "0.6B"},
                                         {"qwen3-1.7b", "qwen3", "1.7B"},
                                         {"qwen3-4b", "qwen3", "4B"},
                                         {"qwen3-8b", "qwen3", "8B"},
                                         {"qwen3-14b", "qwen3", "14B"},
                                         {"qwen3-32b", "qwen3", "32B"}}};

/// Bundled models that have other names than torchtitan's sizes. torchtitan lists Llama 3.2 as sizes of Llama 3, and
/// DeepSeek-V2 as sizes of DeepSeek-V3.
constexpr std::array<Flavor, 5> other_names{{{"llama3.2-1b", "llama3", "1B"},
                                             {"llama3.2-3b", "llama3", "3B"},
                                             {"deepseek-v2-lite", "deepseek_v3", "16B"},
                                             {"deepseek-v2", "deepseek_v3", "236B"},
                                             {"deepseek-v3", "deepseek_v3", "671B"}}};

const Flavor* flavor_of(const Model& model) {
  // `@tokens=…` only changes the sequence length, so the flavor stays the same.
  const std::string base = model.name.substr(0, model.name.find('@'));
  const bool same_size = model.name == base || model.name.substr(base.size()).rfind("@tokens=") == 0;
  const auto found = std::ranges::find_if(flavors, [&](const Flavor& each) { return each.model == base; });
  return same_size && found != flavors.end() ? &*found : nullptr;
}

/// Returns the bundled model for a model's name and flavor in torchtitan, if torchtitan calls the model differently; else
/// empty.
std::string torchtitan_model(std::string_view name, std::string_view flavor) {
  for (const Flavor& each : other_names) {
    if (each.name == name && lower_case(each.flavor) == lower_case(flavor)) return std::string(each.model);
  }
  return {};
}

/// Returns why torchtitan stops at the start of the plan; empty if it does not.
/// Sources: torchtitan 0.2.2, torchtitan/models/llama3/infra/parallelize.py (heads, offload);
/// distributed/pipeline_parallel.py, generate_llm_fqn_per_model_part (stages); distributed/parallel_dims.py, seq_len_divisor
/// (sequences).
std::optional<CannotLaunch> refused_at_start(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  const Model& model = request.study.model();
  const std::int64_t parts = plan.mesh[Axis::tensor], contexts = plan.mesh[Axis::context];
  const std::int64_t stages = std::int64_t{plan.mesh[Axis::pipeline]} * plan.virtual_stages;
  for (const char* heads : {"heads", "kv_heads"}) {
    if (family_number(model, heads) % parts != 0)
      return CannotLaunch{fmt::format("{} {} do not divide into {} parts", family_number(model, heads),
                                      std::string_view(heads) == "heads" ? "attention heads" : "key-value heads", parts)};
  }
  const std::int64_t divisor = parts * (contexts > 1 ? 2 * contexts : 1);
  if (model.sequence_length % divisor != 0)
    return CannotLaunch{fmt::format("{} tokens do not divide into {} parts", model.sequence_length, divisor)};
  const std::int64_t layers = family_number(model, "layers") + 2;  // with the embedding and the head
  if (stages > layers)
    return CannotLaunch{
        fmt::format("the model has {} layers with the embedding and the head, fewer than {} stages", layers, stages)};
  if (plan.offload != Offload::none && plan.zero_stage == 0)
    return CannotLaunch{"only weights that FSDP shards are offloaded: --zero 3"};
  return std::nullopt;
}

}  // namespace torchtitan_tables

const ConfigurationFormat torchtitan_toml{.name = "torchtitan",
                                          .software = "torchtitan",
                                          .language = ConfigurationLanguage::toml,
                                          .rows = torchtitan_tables::rows,
                                          .usual = torchtitan_tables::usual,
                                          .not_modeled = torchtitan_tables::not_modeled,
                                          .missing = torchtitan_tables::missing,
                                          .marks = torchtitan_tables::marks,
                                          .programs = torchtitan_tables::programs,
                                          .harmless = torchtitan_tables::harmless,
                                          .refused = torchtitan_tables::refused,
                                          .also = ConfigurationLanguage::yaml,
                                          .model_named = torchtitan_tables::torchtitan_model};

LaunchOutcome launch_torchtitan(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  if (std::optional<CannotLaunch> lacks = missing_axes(torchtitan_toml, plan)) return *lacks;
  const Model& model = request.study.model();
  const torchtitan_tables::Flavor* const flavor = torchtitan_tables::flavor_of(model);
  if (flavor == nullptr)
    return CannotLaunch{fmt::format("torchtitan has only the models Llama 3 and Qwen3, not {}", model.name)};
  const std::int64_t layers = family_number(model, "layers");
  RunValues values = values_of(plan, torchtitan_toml, layers);
  values.set(ConfigField::model, flavor->name);
  values.set(ConfigField::flavor, flavor->flavor);
  values.set(ConfigField::sequence, model.sequence_length);
  // Zero-bubble schedules run the two passes of backward separately, which compiled blocks do not support
  // [pytorch/pytorch, issue 161904].
  const bool is_compiled = plan.mesh[Axis::pipeline] == 1 || !order_of(plan.schedule).fills_bubbles;
  values.flag(ConfigField::compiled, is_compiled);
  // torchtitan itself distributes the layers of unequal stages, and counts the embedding and the head as a layer each.
  values.clear(ConfigField::embedding_slot);
  values.clear(ConfigField::loss_slot);
  if (plan.offload == Offload::none) values.clear(PlanChoice::offload);
  if (std::optional<CannotLaunch> lacks = refused(request, torchtitan_toml, values)) return *lacks;
  if (std::optional<CannotLaunch> lacks = torchtitan_tables::refused_at_start(request)) return *lacks;
  const bool has_contexts = plan.mesh[Axis::context] > 1;
  if (plan.zero_stage == 0 && has_contexts) return CannotLaunch{"FSDP shards among context ranks, too: --zero 3"};
  if (plan.zero_stage > 0 && plan.shard_group == 1 && !has_contexts)
    return CannotLaunch{"a group of one rank has no shards: --zero 0"};
  const bool is_predicted_compiled = request.study.software().name == torchtitan_toml.software;
  if (!is_compiled && is_predicted_compiled)
    return CannotLaunch{"compiled blocks do not run in zero-bubble schedules: --schedule 1f1b, or --software fsdp"};
  if (layers % (std::int64_t{plan.mesh[Axis::pipeline]} * plan.virtual_stages) != 0 && plan.virtual_stages > 1)
    return CannotLaunch{fmt::format("{} layers do not divide into {} equal virtual stages", layers,
                                    plan.mesh[Axis::pipeline] * plan.virtual_stages)};

  ConfigText text(torchtitan_toml, values);
  text.note("model", "# REAL DATA: the folder with the model's tokenizer, and training.dataset below.");
  text.set("model.hf_assets_path", "./assets/hf");
  text.set("optimizer.lr", 3e-4);
  text.set("training.dataset", "c4");
  text.set("training.steps", 100);
  text.set("training.mixed_precision_reduce", "float32");
  if (plan.virtual_stages > 1) {
    // By default, torchtitan counts the embedding and the head as one layer each, so the counts are set to 0.
    text.set("parallelism.pipeline_parallel_first_stage_less_layers", 0);
    text.set("parallelism.pipeline_parallel_last_stage_less_layers", 0);
  }
  if (plan.recompute == Recompute::selective) text.set("activation_checkpoint.selective_ac_option", "op");
  if (is_compiled) text.set("compile.components", ConfigText::Json{"model", "loss"});
  // The head keeps its precision, as in the prediction. float8 needs torchao [torchtitan, docs/float8.md].
  if (values.is(ConfigField::fp8, "yes")) text.set("quantize.linear.float8.filter_fqns", ConfigText::Json{"output"});
  const std::string program = fmt::format(
      "#!/bin/bash\n# Launches an installed torchtitan 0.2 on this node.\nset -eu\n"
      "exec {} \\\n  -m torchtitan.train --job.config_file \"$(dirname \"$0\")/torchtitan.toml\" \"$@\"\n",
      torchrun_command(launch_nodes(request)));
  Launch launch;
  launch.files = {
      {"launch/torchtitan.toml",
       "# For torchtitan 0.2; later versions are configured in Python and take the same values.\n" + text.toml()},
      {"launch/torchtitan.sh", program, true}};
  launch.start = told_first_node(launch_nodes(request), "launch/torchtitan.sh");
  launch.job = job_script("launch/torchtitan.sh");
  launch.carried = {"mixed_precision=half full", "gradient_sums=full"};
  launch.carried.emplace_back(is_compiled ? "cross_entropy=fused" : "cross_entropy=operators");
  if (values.is(ConfigField::fp8, "yes")) launch.notes.emplace_back("fp8 needs an installed torchao on each node");
  if (is_compiled && !is_predicted_compiled)
    launch.notes.emplace_back(
        "the plan was predicted for another software: use --software torchtitan for its compiled layers");
  return launch;
}

}  // namespace ddl
