#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/launch/launcher.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

/// The optimizer's name in DeepSpeed; null if it does not support it.
Json deepspeed_optimizer(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adam:
      return {{"type", "Adam"}, {"params", {{"lr", 1e-4}, {"adam_w_mode", false}}}};
    case Optimizer::adamw:
      return {{"type", "AdamW"}, {"params", {{"lr", 1e-4}, {"weight_decay", 0.1}}}};
    case Optimizer::lamb:
      return {{"type", "Lamb"}, {"params", {{"lr", 1e-4}}}};
    case Optimizer::sgd:
      return {{"type", "SGD"}, {"params", {{"lr", 1e-3}}}};
    case Optimizer::momentum:
      return {{"type", "SGD"}, {"params", {{"lr", 1e-3}, {"momentum", 0.9}}}};
    default:
      return nullptr;
  }
}

}  // namespace

LaunchOutcome launch_deepspeed(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  if (const std::string axes = axes_besides(plan, family_bit(Axis::data)); !axes.empty())
    return CannotLaunch{
        fmt::format("its configuration has data parallelism only; {} parallelism is in the model's code", axes)};
  if (is_narrow(plan.precision)) return CannotLaunch{fmt::format("its configuration has no {}", to_string(plan.precision))};
  if (std::optional<CannotLaunch> lacks = lacks_frozen_parts(request)) return *lacks;
  if (std::optional<CannotLaunch> lacks = lacks_offload(plan, {Offload::optimizer, Offload::weights})) return *lacks;
  if (plan.offload != Offload::none && plan.zero_stage == 0)
    return CannotLaunch{"it only offloads tensors that ZeRO shards: --zero 1"};
  if (plan.offload == Offload::weights && plan.zero_stage != 3)
    return CannotLaunch{"it only offloads weights with ZeRO-3: --zero 3"};
  if (plan.recompute_modules != Plan().recompute_modules)
    return CannotLaunch{"activation checkpointing is set in the model's code, not in the configuration"};
  if (plan.zero_stage == 3 && !plan.reshard) return CannotLaunch{"its ZeRO-3 always reshards weights after forward"};
  const Json optimizer = deepspeed_optimizer(plan.optimizer);
  if (optimizer.is_null()) return CannotLaunch{fmt::format("it has no optimizer {}", to_string(plan.optimizer))};
  const std::int64_t parts = plan.mesh.batch_parts() * plan.micro_batches;
  if (plan.global_batch % parts != 0) return CannotLaunch{"the global batch does not divide into equal micro-batches"};
  // MiCS, which supported this, was removed [DeepSpeed 0.19, deepspeed/runtime/config.py].
  if (plan.shard_group != 0) return CannotLaunch{"it shards among all ranks, not in groups"};

  Json config{{"train_batch_size", plan.global_batch},
              {"train_micro_batch_size_per_gpu", micro_batch_size(plan)},
              {"gradient_accumulation_steps", plan.micro_batches},
              {"optimizer", optimizer},
              {"zero_optimization", {{"stage", plan.zero_stage}}}};
  if (plan.zero_stage > 0) {
    const bool overlaps = request.study.assumptions().overlap;
    config["zero_optimization"]["overlap_comm"] = overlaps;
    config["zero_optimization"]["contiguous_gradients"] = true;
  }
  if (plan.secondary_shards > 1) config["zero_optimization"]["zero_hpz_partition_size"] = plan.secondary_shards;
  if (plan.offload != Offload::none)
    config["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  if (plan.offload == Offload::weights)
    config["zero_optimization"]["offload_param"] = {{"device", "cpu"}, {"pin_memory", true}};
  config["bf16"] = {{"enabled", plan.precision == Precision::bf16}};
  config["fp16"] = {{"enabled", plan.precision == Precision::fp16}};
  if (plan.recompute == Recompute::full) config["activation_checkpointing"] = {{"partition_activations", false}};
  config["wall_clock_breakdown"] = false;
  config["steps_per_print"] = 10;
  Launch launch;
  launch.files = {{"launch/deepspeed.json", config.dump(2) + "\n"}};
  launch.start = "deepspeed YOUR_SCRIPT.py --deepspeed --deepspeed_config launch/deepspeed.json";
  if (plan.recompute == Recompute::full)
    launch.notes.push_back(
        plan.recompute_blocks == 0
            ? "call deepspeed.checkpointing.checkpoint for each layer in your script: the plan recomputes them"
            : fmt::format("call deepspeed.checkpointing.checkpoint for the first {} layers of a stage in your script: the "
                          "plan recomputes these",
                          plan.recompute_blocks));
  return launch;
}

}  // namespace ddl
