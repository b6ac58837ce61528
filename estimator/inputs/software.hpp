#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// The path of an exchange: directly between devices and network, or through the host.
enum class Route { direct, host };

/// How the training software runs a plan: properties of an implementation, not of the machine.
struct Software {
  std::string name;  ///< empty: the software is unknown, and the fastest behaviour is assumed
  Route gradient_route = Route::direct;
  Route layer_route = Route::direct;
  Route halo_route = Route::direct;
  /// Whether gradients are exchanged while backward runs. Unset: they are if that is faster.
  std::optional<bool> overlaps_gradients;
  /// Whether weights that ZeRO-1 and -2 gather after the update are gathered during the next forward, as with Megatron-LM's
  /// `--overlap-param-gather`; unset: no.
  std::optional<bool> overlaps_weight_gathers;
  /// Whether the Allgathers and Reduce-scatters of a tensor split with sequence parallelism run in chunks, one per rank,
  /// overlapped with chunks of their matrix products, as with Megatron-LM's `--tp-comm-overlap`. One of the chunks remains
  /// exposed. Unset: no.
  std::optional<bool> overlaps_tensor_exchanges;
  /// Whether the all-to-alls of experts are overlapped with the compute of another micro-batch, as with Megatron-LM's
  /// `--overlap-moe-expert-parallel-comm` (hides_expert_exchanges). Unset: no.
  std::optional<bool> overlaps_expert_exchanges;
  /// Whether a token is sent only once to a node, and only once to a rank of the node, even if several of the token's
  /// experts are there, as in DeepEP. Unset: one copy is sent for each expert.
  std::optional<bool> routes_tokens_once;
  /// Whether stages of a pipeline have equal numbers of the model's blocks if possible, as Megatron-LM distributes them. If
  /// false or unset, stages are cut such that a step is shortest.
  std::optional<bool> equal_stages;
  /// The Allreduce algorithms of the gradient exchange: the first one for plans without a filter, channel or spatial degree,
  /// the second one for plans with such a degree. Unset: the fastest one.
  std::optional<AllreduceAlgorithm> gradient_algorithm;
  std::optional<AllreduceAlgorithm> hybrid_gradient_algorithm;
  /// The algorithm of layer-wise collectives. If it is set, Allgathers and Reduce-scatters are flat rings over the rails of
  /// the outermost level that they cross. Unset: the fastest one.
  std::optional<AllreduceAlgorithm> layer_algorithm;
  /// Share of the gradients that the software sends: the largest ones. A sparse Allreduce may then be the fastest.
  std::optional<double> gradient_density;
  /// Ranks exchange the gradients of the whole layer, although each rank holds only a slice of the filters.
  bool whole_gradients_in_hybrids = false;
  /// Gradients in hybrids are exchanged layer by layer, one message each, and not fused.
  bool layered_gradients_in_hybrids = false;
  /// Bytes of one message of gradients that every rank sums (DistributedDataParallel's `bucket_cap_mb`, Horovod's fusion
  /// buffer). Unset: one message for all gradients.
  std::optional<double> gradient_bucket;
  /// Parameters of one message, for gradients and for the weights that ZeRO-1 and -2 gather, if gradients are exchanged
  /// during backward. A message has at least `bucket_parameters_per_rank` parameters for each rank. Unset: see
  /// `gradient_bucket`; ZeRO-2 then sends one message for each block.
  std::optional<double> bucket_parameters;
  std::optional<double> bucket_parameters_per_rank;
  /// The host's time to launch one kernel, including the framework's work. The host runs ahead of the device, so the kernels
  /// and exchanges of a phase take at least the sum of their launches. Unset: as in the machine's datasheet, if kernels are
  /// predicted from the datasheet.
  std::optional<Seconds> launch_overhead;
  /// Time per step in which the device waits for the framework, in addition to launches: fetching the loss, callbacks, and
  /// the start of the next step. Unset: 0.
  std::optional<Seconds> step_overhead;
  /// Time between two looks of a rank for gradients that can be exchanged (Horovod's `HOROVOD_CYCLE_TIME`). Unset: exchanges
  /// start at once.
  std::optional<Seconds> exchange_cycle;
  /// The launch time of a backward kernel, divided by the launch time of a forward kernel. The two times differ because the
  /// framework's engine replays backward, whereas the program issues each operation of forward. Unset: 1.
  std::optional<double> backward_launches;
  /// The launch time of one expert's product, divided by the launch time of a kernel, if the host launches the products of
  /// forward one by one. Before it launches the products, the host waits for the device, which determines the number of
  /// tokens of each expert. Unset: one launch covers all products, and the host runs ahead of them.
  std::optional<double> expert_launches;
  /// One process launches the kernels of all data-parallel devices, in forward one device after the other, as
  /// torch.nn.DataParallel does. Unset: each device has a process.
  std::optional<bool> one_process;
  /// Share of the launches of forward that the threads of this process cannot run in parallel. Unset: all.
  std::optional<double> serial_forward;
  /// How many times as long the launches of backward take if one process has a thread for each device.
  std::optional<double> backward_threads;
  /// With spatial splits, tensors lie in memory that the driver moves between device and host (cudaMallocManaged). Ranks
  /// that need more memory than the device has transfer all of this memory over their link to the host. Unset: they run out
  /// of memory.
  std::optional<bool> managed_memory;
  /// Number of copies of a tile's gradient that backward makes to join the gradient with its halos.
  std::optional<double> tile_copies;
  /// θ: ranks that wait for each other take θ·ln n longer for kernels, layer-wise exchanges and halos if n ranks run. Used
  /// if no factor is fitted to measured runs (Coefficient::straggler_factor).
  std::optional<double> rank_waiting;
  /// Slowdown of kernels that are overlapped with communication, if the slowdown is not measured on the machine
  /// (OverlapSlowdown).
  std::optional<double> overlap_slowdown;
  /// Spatial splits stop after this many weighted layers (model name → layer count). In other models, spatial splits
  /// continue as far as possible.
  std::vector<std::pair<std::string, int>> spatial_layers;
};

}  // namespace ddl
