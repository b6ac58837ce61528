#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// By which way an exchange leaves the device.
enum class Route { direct, host };

/// How the software that trains runs a plan: facts of an implementation, not of the machine.
struct Software {
  std::string name;  ///< empty: nothing is known, the best is assumed
  Route gradient_route = Route::direct;
  Route layer_route = Route::direct;
  Route halo_route = Route::direct;
  /// Whether gradients are exchanged while backward runs; nothing: where that is the shorter way.
  std::optional<bool> overlaps_gradients;
  /// Whether weights that ZeRO-1 and -2 gather after the update arrive while the next forward runs, as with Megatron-LM's
  /// `--overlap-param-gather`; nothing: they do not.
  std::optional<bool> overlaps_weight_gathers;
  /// The Allgathers and Reduce-scatters of a tensor split with sequence parallelism run in chunks, one for each rank,
  /// overlapped with pieces of the matrix products that they belong to, as with Megatron-LM's `--tp-comm-overlap`: one piece
  /// runs alone. Nothing: they do not.
  std::optional<bool> overlaps_tensor_exchanges;
  /// The all-to-alls of experts are overlapped with the compute of another micro-batch, as with Megatron-LM's
  /// `--overlap-moe-expert-parallel-comm` (hides_expert_exchanges). Nothing: they do not.
  std::optional<bool> overlaps_expert_exchanges;
  /// A token is sent once to each node, and once to each rank of a node, where several of its experts are, as DeepEP sends
  /// it. Nothing: a copy for each expert.
  std::optional<bool> routes_tokens_once;
  /// Stages of a pipeline have equal numbers of the model's blocks if possible, as Megatron-LM distributes them;
  /// else they are cut where an iteration is shortest. Nothing: they are cut so everywhere.
  std::optional<bool> equal_stages;
  /// Fixed Allreduce algorithm of the gradient exchange, and in plans with a filter, channel or spatial degree; nothing:
  /// the cheapest.
  std::optional<AllreduceAlgorithm> gradient_algorithm;
  std::optional<AllreduceAlgorithm> hybrid_gradient_algorithm;
  /// Layer-wise collectives run as flat rings over the rails of the outermost level they cross.
  std::optional<AllreduceAlgorithm> layer_algorithm;
  /// Share of the gradients that the software sends, the largest ones: a sparse Allreduce may then be the cheapest.
  std::optional<double> gradient_density;
  /// Ranks that hold a slice of the filters still exchange gradients of the whole layer.
  bool whole_gradients_in_hybrids = false;
  /// Gradients in hybrids are exchanged layer by layer, one message each, and not fused.
  bool layered_gradients_in_hybrids = false;
  /// What the host takes to start one kernel, with what the framework does for it. It runs ahead of the device: the kernels
  /// and exchanges of a phase take no less together than it takes to start the kernels. Nothing: as the machine's sheet
  /// says, where kernels are priced by the sheet.
  std::optional<Seconds> launch_overhead;
  /// What the start of a kernel of backward takes of one of forward: an engine replays backward, where a program says each
  /// operation of forward. Nothing: as long.
  std::optional<double> backward_starts;
  /// What the start of one expert's product takes of the start of a kernel, where the host starts the products of forward
  /// one by one, behind a wait for the device that says how many tokens each expert has. Nothing: they are one start, and
  /// the host runs ahead of them.
  std::optional<double> expert_starts;
  /// One process starts the kernels of all devices of data parallelism, forward one device after the other, as with
  /// torch.nn.DataParallel. Nothing: each device has a process.
  std::optional<bool> one_process;
  /// Share of the starts of forward that one thread of such a process does at a time. Nothing: all.
  std::optional<double> serial_forward;
  /// How many times as long the starts of backward take where one process has a thread for each device.
  std::optional<double> backward_threads;
  /// With spatial splits tensors lie in memory that the driver moves between device and host (cudaMallocManaged): ranks that
  /// need more than the device has pass all of it through their link to the host. Nothing: they end there.
  std::optional<bool> managed_memory;
  /// Copies of the gradient of a tile that backward makes to join it with its halos.
  std::optional<double> tile_copies;
  /// θ: ranks that wait for each other take θ·ln n longer over kernels, layer-wise exchanges and halos, where n ranks run
  /// and no factor is fitted to measured runs (Coefficient::straggler_factor).
  std::optional<double> rank_waiting;
  /// Slowdown of kernels that are overlapped with communication, if it is not measured on the machine
  /// (OverlapSlowdown).
  std::optional<double> overlap_slowdown;
  /// Spatial splits stop after this many weighted layers (model name → layer count); others go as far as they can.
  std::vector<std::pair<std::string, int>> spatial_layers;
};

}  // namespace ddl
