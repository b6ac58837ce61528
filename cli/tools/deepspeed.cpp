#include <array>
#include <string>

#include <fmt/format.h>

#include "cli/tools/config_text.hpp"
#include "cli/tools/run_values.hpp"

namespace ddl {
namespace deepspeed_tables {

// Sources of names and defaults: DeepSpeed, docs/_pages/config-json.md, deepspeed/runtime/config.py
// and runtime/zero/config.py.
constexpr auto recomputed = argument_words("true>full", "false=");
constexpr auto devices = argument_words("cpu=optimizer", "cpu=weights", "none=none");
constexpr auto optimizers = argument_words("Adam=adam", "AdamW=adamw", "FusedAdam=adam", "Lamb=lamb", "SGD=momentum",
                                           "OneBitAdam=adam", "ZeroOneAdam=adam", "OneBitLamb=lamb");

constexpr auto rows = std::to_array<ArgumentRow>({
    {"train_batch_size", ConfigField::global_batch},
    {"train_micro_batch_size_per_gpu", ConfigField::micro_batch},
    {"gradient_accumulation_steps", ConfigField::accumulation},
    {"optimizer.type", ConfigField::optimizer, "", optimizers},
    {"optimizer.params.momentum", ConfigField::momentum},
    {"zero_optimization.stage", PlanChoice::zero},
    {"zero_optimization.overlap_comm", ConfigField::overlap, "", common::flags},
    only_read({"zero_optimization.mics_shard_size", PlanChoice::shard_group}),
    {"zero_optimization.zero_hpz_partition_size", PlanChoice::secondary_shards},
    {"zero_optimization.offload_optimizer.device", PlanChoice::offload, "", devices},
    only_read({"zero_optimization.cpu_offload", PlanChoice::offload, "", common::state_offloads}),
    {"zero_optimization.offload_param.device", ConfigField::offload_weights, "", common::on_host},
    // This key moves the kept inputs of recomputed layers to the host
    // [deepspeed/runtime/activation_checkpointing/checkpointing.py].
    only_read({"activation_checkpointing.cpu_checkpointing", PlanChoice::offload_activations, "", common::flags}),
    only_read(weak({"activation_checkpointing.cpu_checkpointing", PlanChoice::recompute, "", recomputed})),
    {"fp16.enabled", ConfigField::precision, "", common::halves},
    {"bf16.enabled", ConfigField::precision, "", common::brains},
    only_read({"bfloat16.enabled", ConfigField::precision, "", common::brains}),
    only_read({"tensor_parallel.autotp_size", ConfigField::tensor}),
    only_read({"sequence_parallel_size", ConfigField::context}),
});

constexpr auto usual = std::to_array<UsualValue>({{PlanChoice::zero, "0"},
                                                  {PlanChoice::context_exchange, "ulysses"},
                                                  {ConfigField::precision, "fp32"},
                                                  {ConfigField::momentum, "0"}});

constexpr auto not_modeled =
    argument_names("zero_optimization.zero_quantized_weights", "zero_optimization.zero_quantized_gradients",
                   "activation_checkpointing.partition_activations", "communication_data_type", "compression_training",
                   "sparse_attention.mode", "amp.enabled", "data_types.grad_accum_dtype", "moe.enabled");

constexpr auto missing = std::to_array<MissingValue>({
    {PlanChoice::reshard, "ZeRO-3 always reshards weights after forward"},
    // DeepSpeed removed MiCS, which sharded in groups [DeepSpeed 0.19, deepspeed/runtime/config.py].
    {PlanChoice::shard_group, "ZeRO shards among all ranks, not in groups"},
    {PlanChoice::recompute, "activation checkpointing is set in the model's code, not in the configuration"},
});

// Other programs, such as verl, also have the key `train_batch_size`, and Colossal-AI's benchmarks have `fp16.enabled`. So
// these keys are marks only as a pair. Such pairs count in addition to the other marks.
constexpr auto marks = argument_names(
    "zero_optimization*", "train_micro_batch_size_per_gpu", "steps_per_print", "wall_clock_breakdown",
    "train_batch_size+fp16.enabled", "train_batch_size+bf16.enabled", "gradient_accumulation_steps+fp16.enabled",
    "gradient_accumulation_steps+bf16.enabled", "optimizer.type+fp16.enabled", "optimizer.type+bf16.enabled",
    "zero_optimization*+fp16.enabled", "zero_optimization*+bf16.enabled", "train_micro_batch_size_per_gpu+fp16.enabled",
    "train_micro_batch_size_per_gpu+bf16.enabled", "zero_allow_untested_optimizer");

constexpr auto harmless = argument_names(
    "steps_per_print", "wall_clock_breakdown", "gradient_clipping", "prescale_gradients", "optimizer.*", "scheduler.*",
    "zero_optimization.*", "fp16.*", "bf16.*", "bfloat16.*", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer",
    "flops_profiler*", "tensorboard*", "wandb*", "comms_logger*", "csv_monitor*", "monitor_config*", "aio*", "checkpoint*",
    "dump_state", "elasticity*", "activation_checkpointing.*", "memory_breakdown", "autotuning*", "compile.*", "timers*",
    "gradient_predivide_factor", "data_efficiency*", "curriculum_learning*", "seq_parallel_communication_data_type", "amp.*",
    "disable_allgather", "load_universal_checkpoint", "zero_*", "torch_autocast*", "_*");

constexpr auto refused = std::to_array<RefusedArgument>({
    {"pipeline.stages", "a pipeline of DeepSpeed is made in the model's code", "set the plan by options: --degrees"},
    {"zero_optimization.stage", "the stage of ZeRO is not known", "use a number, or set its variable with --set NAME=VALUE",
     false, "auto"},
    {"zero_optimization.offload_optimizer.device", "the time of offloading to NVMe is not predicted",
     "use cpu instead: GPU memory is the same, and NVMe is slower", false, "nvme"},
    {"zero_optimization.offload_param.device", "the time of offloading to NVMe is not predicted",
     "use cpu instead: GPU memory is the same, and NVMe is slower", false, "nvme"},
    {"hybrid_engine.enabled", "samples are generated in addition to training",
     "predict the training step without generation"},
});

}  // namespace deepspeed_tables

const ConfigurationFormat deepspeed_json{"DeepSpeed",
                                         "deepspeed",
                                         ConfigurationLanguage::json,
                                         deepspeed_tables::rows,
                                         deepspeed_tables::usual,
                                         deepspeed_tables::not_modeled,
                                         deepspeed_tables::missing,
                                         deepspeed_tables::marks,
                                         {},
                                         deepspeed_tables::harmless,
                                         deepspeed_tables::refused,
                                         ConfigurationLanguage::yaml};

LaunchOutcome launch_deepspeed(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  if (const std::string axes = axes_other_than(plan, family_bit(Axis::data)); !axes.empty())
    return CannotLaunch{
        fmt::format("the configuration has data parallelism only; {} parallelism is in the model's code", axes)};
  RunValues values = values_of(plan, deepspeed_json, 0);
  Launch launch;
  // Adds notes on what the user's training script has to do.
  if (plan.recompute == Recompute::full) {
    launch.notes.push_back(
        plan.recompute_blocks == 0
            ? "call deepspeed.checkpointing.checkpoint for each layer in your script: the plan recomputes them"
            : fmt::format("call deepspeed.checkpointing.checkpoint for the first {} layers of a stage in your script: the "
                          "plan recomputes these",
                          plan.recompute_blocks));
    values.clear(PlanChoice::recompute);
    values.clear(PlanChoice::recompute_blocks);
  }
  if (plan.precision == Precision::tf32) {
    launch.notes.emplace_back("set torch.backends.cuda.matmul.allow_tf32 in your script: the plan multiplies in tf32");
    values.set(ConfigField::precision, "fp32");
  }
  if (plan.offload == Offload::none) values.clear(PlanChoice::offload);
  if (plan.offload != Offload::weights) values.clear(ConfigField::offload_weights);
  // On one GPU ZeRO shards nothing, but only its stages 1 to 3 offload.
  const bool is_alone = plan.mesh.devices() == 1 && plan.offload != Offload::none;
  const int stage = !is_alone ? plan.zero_stage : plan.offload == Offload::weights ? 3 : 2;
  if (is_alone) values.set(PlanChoice::zero, std::to_string(stage));
  if (stage > 0) values.set(ConfigField::overlap, request.study.assumptions().overlap ? "yes" : "no");
  if (std::optional<CannotLaunch> lacks = refused(request, deepspeed_json, values)) return *lacks;
  if (plan.offload != Offload::none && stage == 0)
    return CannotLaunch{"only tensors that ZeRO shards are offloaded: --zero 1"};
  if (plan.offload == Offload::weights && stage != 3)
    return CannotLaunch{"weights are offloaded only with ZeRO-3: --zero 3"};

  ConfigText text(deepspeed_json, values);
  const bool is_sgd = values[ConfigField::momentum].has_value();
  text.set("optimizer.params.lr", is_sgd ? 1e-3 : 1e-4);
  if (plan.optimizer == Optimizer::adam) text.set("optimizer.params.adam_w_mode", false);
  if (plan.optimizer == Optimizer::adamw) text.set("optimizer.params.weight_decay", 0.1);
  const bool is_adam = plan.optimizer == Optimizer::adam || plan.optimizer == Optimizer::adamw;
  // ZeRO stops at the start with other optimizers, unless the file allows them [DeepSpeed, deepspeed/runtime/engine.py,
  // _do_optimizer_sanity_check; deepspeed/runtime/zero/utils.py, ZERO_SUPPORTED_OPTIMIZERS].
  if (stage > 0 && !is_adam) text.set("zero_allow_untested_optimizer", true);
  if (plan.offload != Offload::none && !is_adam) text.set("zero_force_ds_cpu_optimizer", false);
  if (stage > 0) text.set("zero_optimization.contiguous_gradients", true);
  if (plan.offload != Offload::none) text.set("zero_optimization.offload_optimizer.pin_memory", true);
  if (plan.offload == Offload::weights) text.set("zero_optimization.offload_param.pin_memory", true);
  if (plan.recompute == Recompute::full) text.set("activation_checkpointing.partition_activations", false);
  text.set("wall_clock_breakdown", false);
  text.set("steps_per_print", 10);
  launch.files = {{"launch/deepspeed.json", text.json()}};
  const LaunchNodes nodes = launch_nodes(request);
  launch.start = fmt::format("deepspeed {}--num_gpus {} YOUR_SCRIPT.py --deepspeed --deepspeed_config launch/deepspeed.json",
                             nodes.nodes == 1 ? "" : fmt::format("--hostfile HOSTFILE --num_nodes {} ", nodes.nodes),
                             nodes.devices_per_node);
  // The loss is in the user's script.
  launch.carried = {"mixed_precision=half accumulated", "gradient_sums=half", "cross_entropy"};
  launch.job = {.program = "YOUR_SCRIPT.py",
                .command = torchrun_command(nodes) +
                           " \\\n  \"$@\" --deepspeed --deepspeed_config \"$SLURM_SUBMIT_DIR/launch/deepspeed.json\"",
                .arguments = "YOUR_SCRIPT.py"};
  return launch;
}

}  // namespace ddl
