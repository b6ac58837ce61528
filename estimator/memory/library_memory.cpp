#include <cmath>
#include <vector>

#include "estimator/memory/memory.hpp"

// Memory that libraries allocate in addition to tensors: communicators, contexts, and the workspace of cuBLAS.
namespace ddl {
namespace {

constexpr double mib = 1024.0 * 1024.0;
/// The buffers of a communicator of two ranks, and of a communicator of more than two ranks.
constexpr Bytes of_two(544 * mib), of_more(688 * mib);

/// Returns what some drivers keep of a device in addition. Messages of PyTorch give a capacity of 39.59 or 39.39 GiB and of
/// 79.35 or 79.14 GiB for A100, and of 23.69 or 23.65 GiB for RTX 3090 [axolotl-ai-cloud/axolotl, issue 2531, and others].
Bytes kept_by_driver(const Device& device) {
  constexpr Bytes of_a100(205 * mib), of_others(50 * mib);
  constexpr double a100 = 8;
  return device.compute_capability && *device.compute_capability == a100 ? of_a100 : of_others;
}

/// Whether a device has the libraries of GPUs: NCCL, cuBLAS, and the driver's context.
bool has_libraries(const Device& device) { return !device.is_processor && !device.is_tpu; }

}  // namespace

EngineGroups engine_groups_of(const Job& job) {
  if (!job.assumptions.engine_groups) return EngineGroups::none;
  return job.facts.tied.empty() ? EngineGroups::untied : EngineGroups::tied;
}

std::vector<Communicator> communicators_of(const Plan& plan, const Device& device, EngineGroups engine) {
  std::vector<Communicator> communicators;
  if (!has_libraries(device)) return communicators;
  const auto add = [&](Axis axis, double ranks, Among among = Among::axis) {
    if (ranks > 1) communicators.push_back({axis, ranks, among, ranks == 2 ? of_two : of_more});
  };
  add(Axis::data, plan.shards());
  add(Axis::data, plan.shard_copies(), Among::copies_of_shards);
  if (plan.second_shards() < plan.shards()) add(Axis::data, plan.second_shards());
  if (plan.mesh[Axis::data] > 1) add(Axis::spatial, plan.mesh[Axis::spatial]);
  for (const Axis axis : {Axis::pipeline, Axis::expert, Axis::context, Axis::filter, Axis::channel, Axis::tensor})
    add(axis, plan.mesh[axis]);
  for (const Mesh& mesh : plan.segments.empty() ? std::vector<Mesh>() : meshes_of(plan)) {
    for (const Axis axis : {Axis::data, Axis::spatial, Axis::filter, Axis::channel, Axis::tensor}) {
      if (mesh[axis] != plan.mesh[axis]) add(axis, mesh[axis]);
    }
  }
  if (engine == EngineGroups::none) return communicators;
  const auto ranks = static_cast<double>(plan.mesh.devices());
  add(Axis::data, ranks, Among::all_ranks);
  add(Axis::data, ranks / plan.mesh[Axis::data], Among::replica);
  if (plan.mesh[Axis::pipeline] > 1) {
    add(Axis::pipeline, 2, Among::neighbours);
    if (engine == EngineGroups::tied) add(Axis::pipeline, 2, Among::end_stages);
  }
  return communicators;
}

Bytes idle_communicator_bytes(int idle, const Device& device) { return has_libraries(device) ? of_two * idle : Bytes{}; }

CommunicationBuffers communication_buffers(const Plan& plan, const Device& device, EngineGroups engine, int idle) {
  // The device memory was 1.6 GB with one communicator and 6 GB with three communicators [NVIDIA/nccl, issue 864].
  constexpr Bytes most_of_one(1.6e9), most_of_three(6e9);
  CommunicationBuffers buffers;
  double count = 0, more = 0;
  for (const Communicator& each : communicators_of(plan, device, engine)) {
    buffers.expected += each.bytes;
    const bool of_engine = each.among != Among::axis && each.among != Among::copies_of_shards;
    ++(of_engine ? more : count);
  }
  if (count > 0) buffers.most = most_of_one + (most_of_three - most_of_one) * ((count - 1) / 2.0);
  // An engine uses all of its communicators.
  buffers.most = max(buffers.most + most_of_one * more, buffers.expected);
  // Communicators that are never used have only initial buffers.
  const Bytes of_idle = idle_communicator_bytes(idle, device);
  buffers.expected += of_idle;
  buffers.most += of_idle * (of_more / of_two);
  return buffers;
}

ContextBytes context_bytes(const Device& device, bool all_kernels) {
  if (!has_libraries(device)) return {};
  // `most` was measured on a Titan V with PyTorch 1.3 [pytorch/pytorch, issue 28394].
  constexpr Bytes as_needed(500 * mib), most(1008 * mib);
  const Bytes whole = device.whole_context.value_or(most);
  if (all_kernels) return {whole, whole + kept_by_driver(device)};
  return {as_needed, most + kept_by_driver(device)};
}

ContextBytes context_bytes(const Device& device, const Assumptions& assumptions) {
  if (!assumptions.takes_device || !has_libraries(device)) return context_bytes(device, assumptions.older_framework);
  constexpr Bytes of_driver(300e6), least(300 * mib);
  constexpr double share = 0.05;
  const Bytes left = of_driver + max(least, (device.memory - of_driver) * share);
  return {left, left + kept_by_driver(device)};
}

LibraryWorkspace library_workspace(const Device& device) {
  if (!has_libraries(device)) return {};
  // A workspace for each handle: the thread that runs forward has one, and the thread of autograd that runs backward
  // another.
  constexpr Bytes small(2 * (2 * 4096 * 1024.0 + 8 * 16 * 1024.0)), large(2 * 32 * mib);
  if (!device.compute_capability) return {small, large};
  const double major = std::floor(*device.compute_capability);
  return major == 9 || major == 10 || major == 12 ? LibraryWorkspace{large, large} : LibraryWorkspace{small, small};
}

}  // namespace ddl
