#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cli/launch/launcher.hpp"

namespace ddl {

std::span<const Launcher> launchers() {
  static constexpr std::array<Launcher, 6> all{{
      {"PyTorch", launch_torchrun},
      {"Megatron-LM", launch_megatron},
      {"torchtitan", launch_torchtitan},
      {"DeepSpeed", launch_deepspeed},
      {"NeMo", launch_nemo},
      {"Slurm", launch_slurm},
  }};
  return all;
}

LaunchNodes launch_nodes(const LaunchRequest& request) {
  const std::int64_t devices = request.plan().mesh.devices();
  std::int64_t on_node = std::min<std::int64_t>(devices, request.study.machine().devices_per_node());
  while (devices % on_node != 0) --on_node;
  return {devices / on_node, on_node};
}

std::string torchrun_command(const LaunchNodes& nodes) {
  if (nodes.nodes == 1) return fmt::format("torchrun --standalone --nproc-per-node={}", nodes.devices_per_node);
  return fmt::format(
      "torchrun --nnodes={} --nproc-per-node={} --rdzv-backend=c10d --rdzv-id=\"${{SLURM_JOB_ID:-1}}\" \\\n"
      "  --rdzv-endpoint=\"${{MASTER_ADDR:?name the first node}}:${{MASTER_PORT:-29500}}\"",
      nodes.nodes, nodes.devices_per_node);
}

std::string told_first_node(const LaunchNodes& nodes, std::string_view command) {
  return fmt::format("{}{}", nodes.nodes == 1 ? "" : "MASTER_ADDR=FIRST_NODE ", command);
}

std::string axes_besides(const Plan& plan, Family axes) {
  std::string names;
  for (const Axis axis : spoken_axes) {
    if (plan.mesh[axis] == 1 || (axes & family_bit(axis)) != 0) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " and ", to_string(axis));
  }
  return names;
}

std::optional<CannotLaunch> lacks_axes(const Plan& plan, Family axes) {
  const std::string names = axes_besides(plan, axes);
  if (names.empty()) return std::nullopt;
  return CannotLaunch{fmt::format("it has no {} parallelism", names)};
}

std::optional<CannotLaunch> lacks_frozen_parts(const LaunchRequest& request) {
  const Model& model = request.study.model();
  if (model.trained_parameters() == model.parameters()) return std::nullopt;
  return CannotLaunch{fmt::format("its files train all parameters, but only a part of {} is trained", model.name)};
}

std::optional<CannotLaunch> lacks_offload(const Plan& plan, std::initializer_list<Offload> offloads) {
  const bool is_known = std::find(offloads.begin(), offloads.end(), plan.offload) != offloads.end();
  if (plan.offload != Offload::none && !is_known)
    return CannotLaunch{fmt::format("its files do not offload the {}", to_string(plan.offload))};
  if (plan.offload_activations) return CannotLaunch{"its files do not offload activations"};
  return std::nullopt;
}

std::int64_t micro_batch_size(const Plan& plan) {
  return static_cast<std::int64_t>(std::ceil(samples_per_micro_batch(plan)));
}

}  // namespace ddl
