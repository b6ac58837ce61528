#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"
#include "estimator/inputs/image_loader.hpp"

namespace ddl {

/// The path of an exchange: directly between devices and network, or through the host.
enum class Route { direct, host };

/// How the training software runs a plan: properties of an implementation, not of the machine.
struct Software {
  std::string name;  ///< name of the software; empty: unknown, and the fastest behavior is assumed
  Route gradient_route = Route::direct;
  Route layer_route = Route::direct;
  Route halo_route = Route::direct;
  /// Whether gradients are exchanged while backward runs. Unset: the faster of exchanging during backward and after
  /// backward.
  std::optional<bool> overlaps_gradients;
  /// Whether the gather of weights after the update of ZeRO-1 and -2 overlaps with the next
  /// forward, as with Megatron-LM's `--overlap-param-gather`; unset: no.
  std::optional<bool> overlaps_weight_gathers;
  /// Whether the Allgathers and Reduce-scatters of a tensor split with sequence parallelism run in
  /// chunks, one per rank, overlapped with chunks of their matrix products, as with Megatron-LM's
  /// `--tp-comm-overlap`. One chunk is not overlapped. Unset: no.
  std::optional<bool> overlaps_tensor_exchanges;
  /// Whether the all-to-alls of experts are overlapped with the compute of another micro-batch, as with Megatron-LM's
  /// `--overlap-moe-expert-parallel-comm` (hides_expert_exchanges). Unset: no.
  std::optional<bool> overlaps_expert_exchanges;
  /// Whether a token is sent only once to a node, and only once to a rank, even if several of the token's experts are on
  /// that node or rank, as in DeepEP. Unset: one copy of the token is sent for each expert.
  std::optional<bool> routes_tokens_once;
  /// Whether stages of a pipeline have equal numbers of the model's blocks if possible, as in
  /// Megatron-LM. If false or unset, stages are cut so that a step is as short as possible.
  std::optional<bool> equal_stages;
  /// Whether Ulysses repeats heads of keys and values if there are fewer heads than ranks. Unset: yes.
  std::optional<bool> repeats_keys;
  /// The Allreduce algorithm of the gradient exchange in plans without a filter, channel or spatial
  /// degree, and in hybrids, which have such a degree. Unset: the fastest algorithm.
  std::optional<AllreduceAlgorithm> gradient_algorithm;
  std::optional<AllreduceAlgorithm> hybrid_gradient_algorithm;
  /// The algorithm of layer-wise collectives. If set, Allgathers and Reduce-scatters are flat rings
  /// over the rails of the outermost level that they cross. Unset: the fastest algorithm.
  std::optional<AllreduceAlgorithm> layer_algorithm;
  /// The share of the gradients that the software sends, largest gradients first. A sparse
  /// Allreduce may then be the fastest algorithm.
  std::optional<double> gradient_density;
  /// Whether ranks exchange the gradients of the whole layer, although each rank holds only a slice of the filters.
  bool whole_gradients_in_hybrids = false;
  /// Whether gradients in hybrids are exchanged layer by layer, with one message for each layer, instead of in fused
  /// messages.
  bool layered_gradients_in_hybrids = false;
  /// Bytes of one message of gradients that every rank sums (DistributedDataParallel's `bucket_cap_mb`, Horovod's fusion
  /// buffer). Unset: one message for all gradients.
  std::optional<double> gradient_bucket;
  /// Parameters of one message, for gradients and for the weights that ZeRO-1 and -2 gather, if gradients are exchanged
  /// during backward. A message has at least `bucket_parameters_per_rank` parameters for each rank. Unset: see
  /// `gradient_bucket`; ZeRO-2 then sends one message for each block.
  std::optional<double> bucket_parameters;
  std::optional<double> bucket_parameters_per_rank;
  /// The host's time to launch one kernel, including the framework's work. The host runs ahead of
  /// the device, so the kernels and exchanges of a phase take at least the sum of their launch
  /// times. Unset: the datasheet's launch overhead, if kernels are predicted from the datasheet.
  std::optional<Seconds> launch_overhead;
  /// Time per step in which the device waits for the framework, in addition to launches: fetching the loss, callbacks, and
  /// the start of the next step. Unset: 0.
  std::optional<Seconds> step_overhead;
  /// Interval at which a rank checks for gradients that can be exchanged (Horovod's `HOROVOD_CYCLE_TIME`). Unset: exchanges
  /// start immediately.
  std::optional<Seconds> exchange_cycle;
  /// The launch time of a backward kernel, divided by the launch time of a forward kernel. The two times differ because the
  /// framework's engine replays backward, whereas the program issues each operation of forward. Unset: 1.
  std::optional<double> backward_launches;
  /// If the host launches the products of experts one by one in forward: the launch time of one product, divided by the
  /// launch time of a kernel. Before it launches the products, the host waits for the device, which determines the number of
  /// tokens of each expert. Unset: one launch covers all products, and the host runs ahead of them.
  std::optional<double> expert_launches;
  /// Whether one process launches the kernels of all data-parallel devices, in forward one device
  /// after the other, as torch.nn.DataParallel does. Unset: each device has its own process.
  std::optional<bool> one_process;
  /// With one process for all devices, the share of the launches of forward that threads cannot run in parallel. Unset: all.
  std::optional<double> serial_forward;
  /// With one process that has a thread for each device, the factor by which the launches of backward take longer.
  std::optional<double> backward_threads;
  /// Whether tensors of spatial splits lie in memory that the driver moves between device and host
  /// (cudaMallocManaged). A rank that needs more memory than the device has then transfers all of
  /// this memory over its link to the host. Unset: such a rank runs out of memory.
  std::optional<bool> managed_memory;
  /// Number of copies of a tile's gradient that backward makes to join the gradient with its halos.
  std::optional<double> tile_copies;
  /// The coefficient θ of waiting. If n ranks wait for each other, kernels, layer-wise exchanges and halos take θ·ln n
  /// longer. Used if no factor is fitted to measured runs (Coefficient::straggler_factor).
  std::optional<double> rank_waiting;
  /// The slowdown of kernels that overlap with communication, used if the slowdown is not measured
  /// on the machine (OverlapSlowdown).
  std::optional<double> overlap_slowdown;
  /// What decodes images; unset: decoding takes no time.
  std::optional<ImageLoader> image_loader;
  /// Processes or threads of each rank that decode images. Unset: each rank has its share of the node's cores.
  std::optional<double> loader_workers;
  /// The policy that changes each decoded image.
  Augmentation augmentation = Augmentation::none;
  /// Spatial splits stop after this many weighted layers (model name → layer count). In other models, spatial splits
  /// continue as far as possible.
  std::vector<std::pair<std::string, int>> spatial_layers;
};

}  // namespace ddl
