#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/launch/launcher.hpp"
#include "cli/launch/network_of.hpp"

namespace ddl {
namespace {

/// A model of torchtitan: its name and its size there.
struct Flavor {
  std::string_view model, name, flavor;
};
/// torchtitan 0.2.2, torchtitan/models: llama3 and qwen3, whose sizes are those of the bundled models.
constexpr std::array<Flavor, 9> flavors{{{"llama3-8b", "llama3", "8B"},
                                         {"llama3-70b", "llama3", "70B"},
                                         {"llama3-405b", "llama3", "405B"},
                                         {"qwen3-0.6b", "qwen3", "0.6B"},
                                         {"qwen3-1.7b", "qwen3", "1.7B"},
                                         {"qwen3-4b", "qwen3", "4B"},
                                         {"qwen3-8b", "qwen3", "8B"},
                                         {"qwen3-14b", "qwen3", "14B"},
                                         {"qwen3-32b", "qwen3", "32B"}}};

const Flavor* flavor_of(const Model& model) {
  // The sample length is not part of the model's size there.
  const std::string base = model.name.substr(0, model.name.find('@'));
  const bool same_size = model.name == base || model.name.substr(base.size()).rfind("@tokens=") == 0;
  const auto found = std::find_if(flavors.begin(), flavors.end(), [&](const Flavor& each) { return each.model == base; });
  return same_size && found != flavors.end() ? &*found : nullptr;
}

std::optional<std::string_view> schedule_name(const Plan& plan) {
  switch (plan.schedule) {
    case Schedule::one_forward_one_backward:
      return plan.virtual_stages > 1 ? "Interleaved1F1B" : "1F1B";
    case Schedule::gpipe:
      return "GPipe";
    case Schedule::zero_bubble_v:
      return "ZBVZeroBubble";
    default:
      return std::nullopt;
  }
}

}  // namespace

LaunchOutcome launch_torchtitan(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  constexpr Family run =
      family_bit(Axis::data) | family_bit(Axis::tensor) | family_bit(Axis::pipeline) | family_bit(Axis::context);
  if (std::optional<CannotLaunch> lacks = lacks_axes(plan, run)) return *lacks;
  const Model& model = request.study.model();
  const Flavor* const flavor = flavor_of(model);
  if (flavor == nullptr) return CannotLaunch{fmt::format("it has no model {}: it has Llama 3 and Qwen3", model.name)};
  if (plan.recompute_modules != Plan().recompute_modules)
    return CannotLaunch{"it recomputes every second matmul, and cannot select modules: --recompute-modules core_attn"};
  if (plan.recompute_blocks > 0) return CannotLaunch{"it recomputes all blocks, or every n-th: --recompute-blocks 0"};
  if (plan.secondary_shards > 1) return CannotLaunch{"it has no secondary shards: --secondary-shards 0"};
  if (std::optional<CannotLaunch> lacks = lacks_frozen_parts(request)) return *lacks;
  if (std::optional<CannotLaunch> lacks = lacks_offload(plan, {Offload::weights})) return *lacks;
  if (plan.optimizer != Optimizer::adam && plan.optimizer != Optimizer::adamw)
    return CannotLaunch{fmt::format("it has Adam and AdamW, not {}", to_string(plan.optimizer))};
  if (plan.precision == Precision::fp16) return CannotLaunch{"it has bf16, but not fp16"};
  if (is_narrow(plan.precision)) return CannotLaunch{"fp8 needs torchao, which this file does not set up"};
  if (plan.zero_stage == 1) return CannotLaunch{"it has FSDP2, which is ZeRO-2 or ZeRO-3: --zero 3"};
  if (plan.mesh[Axis::tensor] > 1 && !plan.sequence_parallel)
    return CannotLaunch{"its tensor parallelism needs sequence parallelism: --sequence-parallel yes"};
  if (plan.context_exchange != ContextExchange::ring && plan.mesh[Axis::context] > 1)
    return CannotLaunch{
        "its context parallelism passes keys and values around a ring, and does not exchange heads (Ulysses)"};
  const std::optional<std::string_view> schedule = schedule_name(plan);
  const int stages = plan.mesh[Axis::pipeline];
  if (stages > 1 && !schedule) return CannotLaunch{fmt::format("it has no schedule {}", to_string(plan.schedule))};
  const std::int64_t data = plan.mesh[Axis::data];
  if (plan.global_batch % (data * plan.micro_batches) != 0)
    return CannotLaunch{"the global batch does not divide into equal micro-batches"};

  // With a pipeline the micro-batches are its own; without one they are gradient accumulation steps.
  const std::int64_t share = plan.global_batch / data, size = share / plan.micro_batches;
  const bool is_sharded = plan.zero_stage >= 2;
  const std::int64_t shards = !is_sharded ? 1 : plan.shard_group == 0 ? data : plan.shard_group;
  const bool is_half = plan.precision == Precision::bf16;
  std::string text = "# For torchtitan 0.2; later versions are configured in Python and take the same values.\n";
  const auto section = [&](std::string_view name) { text += fmt::format("\n[{}]\n", name); };
  section("model");
  text += fmt::format("name = \"{}\"\nflavor = \"{}\"\n", flavor->name, flavor->flavor);
  text +=
      "# REAL DATA: the folder with the model's tokenizer, and training.dataset below.\nhf_assets_path = \"./assets/hf\"\n";
  section("optimizer");
  text += fmt::format("name = \"{}\"\nlr = 3e-4\n", plan.optimizer == Optimizer::adam ? "Adam" : "AdamW");
  section("training");
  text += fmt::format(
      "dataset = \"c4\"\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\nsteps = 100\n"
      "mixed_precision_param = \"{}\"\nmixed_precision_reduce = \"float32\"\n",
      stages > 1 ? share : size, plan.global_batch, model.sequence_length, is_half ? "bfloat16" : "float32");
  if (plan.offload == Offload::weights) text += "enable_cpu_offload = true\n";
  section("parallelism");
  text += fmt::format("data_parallel_replicate_degree = {}\ndata_parallel_shard_degree = {}\n", data / shards, shards);
  text += fmt::format("fsdp_reshard_after_forward = \"{}\"\n", plan.zero_stage == 3 && plan.reshard ? "always" : "never");
  text += fmt::format("tensor_parallel_degree = {}\ncontext_parallel_degree = {}\npipeline_parallel_degree = {}\n",
                      plan.mesh[Axis::tensor], plan.mesh[Axis::context], stages);
  if (stages > 1) {
    text += fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n", *schedule, size);
  }
  section("activation_checkpoint");
  text += fmt::format("mode = \"{}\"\n", to_string(plan.recompute));
  if (plan.recompute == Recompute::selective) text += "selective_ac_option = \"op\"\n";
  section("compile");
  text += "enable = true\ncomponents = [\"model\", \"loss\"]\n";
  const std::string program = fmt::format(
      "#!/bin/bash\n# Launches an installed torchtitan 0.2 on this node.\nset -eu\n"
      "exec {} \\\n  -m torchtitan.train --job.config_file \"$(dirname \"$0\")/torchtitan.toml\" \"$@\"\n",
      torchrun_command(launch_nodes(request)));
  Launch launch;
  launch.files = {{"launch/torchtitan.toml", text}, {"launch/torchtitan.sh", program, true}};
  launch.start = told_first_node(launch_nodes(request), "launch/torchtitan.sh");
  if (request.study.software().name != "torchtitan")
    launch.notes.push_back("the plan was predicted for another software: use --software torchtitan for its compiled layers");
  return launch;
}

}  // namespace ddl
