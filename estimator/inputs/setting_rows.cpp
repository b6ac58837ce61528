#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "core/statistics.hpp"
#include "estimator/inputs/settings.hpp"
#include "estimator/inputs/training_rows.hpp"

namespace ddl {
namespace {

using Value = SettingValue;
using Effects = SettingEffects;

constexpr std::array<std::string_view, 3> input_names{"every-rank", "leader", "none"};
constexpr EnumNames<Route> route_names{"direct", "host"};

/// Returns whether the value was set for this training, and is not only the framework's default.
bool is_asked_for(const Settings& settings, std::string_view key) {
  const Value* const found = settings.find(key);
  return found != nullptr && found->origin > SettingOrigin::coefficients;
}

// The following functions each apply the value of a row by setting one member.

template <auto member>
void set_assumption(const Value& setting, Effects& effects) {
  auto& target = effects.assumptions.*member;
  target = static_cast<std::remove_reference_t<decltype(target)>>(setting.value);
}
template <auto member, class T>
void set_optional_assumption(const Value& setting, Effects& effects) {
  effects.assumptions.*member = static_cast<T>(setting.value);
}
template <auto member, class T>
void set_fact(const Value& setting, Effects& effects) {
  effects.software.*member = static_cast<T>(setting.value);
}

void set_memory_format_of_fp32(const Value& setting, Effects& effects) {
  if (is_mixed(effects.precision) || is_asked_for(effects.settings, "memory_format")) return;
  effects.assumptions.memory_format = static_cast<MemoryFormat>(setting.value);
}

void set_copies_volumes(const Value& setting, Effects& effects) {
  // 3D tensors are not copied if the user sets channels-first.
  const bool is_first = effects.settings.choice<MemoryFormat>("memory_format") == MemoryFormat::channels_first;
  if (is_asked_for(effects.settings, "memory_format") && is_first) return;
  effects.assumptions.copies_volumes = setting.value != 0;
}

void set_mixed_precision(const Value& setting, Effects& effects) {
  effects.assumptions = with_mixed_precision(effects.assumptions, static_cast<MixedPrecision>(setting.value));
}

void set_launch_overhead(const Value& setting, Effects& effects) {
  // A framework's launch overhead refers to a host of speed 1. The study later divides the overhead
  // by the speed of the host.
  if (setting.origin == SettingOrigin::software || setting.origin == SettingOrigin::run) return;
  effects.software.launch_overhead = Seconds(setting.value);
}

void set_input(const Value& setting, Effects& effects) {
  const auto mode = static_cast<std::size_t>(setting.value);
  effects.assumptions.include_input = mode != input_none;
  if (mode != input_none) effects.assumptions.input_mode = mode == input_leader ? InputMode::leader : InputMode::every_rank;
}

void set_input_exposed(const Value& setting, Effects& effects) { effects.assumptions.input_overlapped = setting.value == 0; }

void set_congestion(const Value& setting, Effects& effects) {
  effects.assumptions.congestion_quantile = std::max(0.0, normal_quantile(setting.value / 100));
}

void read_elsewhere(const Value& /*setting*/, Effects& /*effects*/) {}

}  // namespace

std::span<const SettingRow> setting_rows() {
  using A = Assumptions;
  using S = Software;
  using Kind = SettingKind;
  static const std::vector<SettingRow> rows{
      // The following settings describe kernels and precisions of the framework.
      {.key = "launch_overhead",
       .help = "host time for one kernel launch, on a host of speed 1",
       .kind = Kind::duration,
       .most = 1,
       .by_software = true,
       .by_coefficients = true,
       .former = "kernel_start",
       .apply = set_launch_overhead},
      {.key = "memory_format",
       .help = "order of images in memory: nchw or nhwc (channels last); default: the software's",
       .kind = Kind::name,
       .names = memory_format_names,
       .by_software = true,
       .has_option = true,
       .has_column = true,
       .apply = set_assumption<&A::memory_format>},
      {.key = "memory_format_of_fp32",
       .help = "order of images in memory in fp32 and tf32, if different",
       .kind = Kind::name,
       .names = memory_format_names,
       .by_software = true,
       .apply = set_memory_format_of_fp32},
      {.key = "copies_volumes",
       .help = "3-D convolutions in fp32 and tf32 transpose channels-last tensors",
       .by_software = true,
       .apply = set_copies_volumes},
      {.key = "mixed_precision",
       .help =
           "memory layout of fp16 and bf16: half (weights and gradients, plus an fp32 master copy), full (gradients in "
           "fp32 and in-place cross entropy, as in Megatron-LM), autocast (as in PyTorch) or accumulated (half, plus an "
           "fp32 gradient sum on each rank, as in DeepSpeed with bf16) or pure (weights, gradients and optimizer state in "
           "half precision); default: the software's, else half",
       .kind = Kind::name,
       .names = mixed_precision_names,
       .by_software = true,
       .has_option = true,
       .has_column = true,
       .apply = set_mixed_precision},
      {.key = "gradient_sums",
       .help = "precision of gradient reduction in mixed precision",
       .kind = Kind::name,
       .names = gradient_sums_names,
       .by_software = true,
       .apply = set_optional_assumption<&A::gradient_sums, GradientSums>},
      {.key = "narrow_weights",
       .help = "weights of fp8 training: primary in fp8, or copies in fp8 of weights in half precision",
       .kind = Kind::name,
       .names = narrow_weights_names,
       .by_software = true,
       .apply = set_assumption<&A::narrow_weights>},
      {.key = "base",
       .help = "format of frozen weights, such as those of a model with LoRA adapters: half, nf4, nf4-double (double "
               "quantization), int8, fp8 or mxfp4; default: that of trained weights",
       .kind = Kind::name,
       .names = base_weights_names,
       .has_option = true,
       .with_ideal = false,
       .apply = set_optional_assumption<&A::base, BaseWeights>},
      {.key = "master_weights",
       .help = "precision of the master copy of the weights in mixed precision: fp32, half, fp8 or none; default: that of "
               "the mixed precision",
       .kind = Kind::name,
       .names = state_precision_names,
       .by_software = true,
       .has_option = true,
       .with_ideal = false,
       .apply = set_optional_assumption<&A::master_weights, StatePrecision>},
      {.key = "moments",
       .help = "precision of the optimizer's moments in mixed precision: fp32, half or fp8; default: that of the mixed "
               "precision",
       .kind = Kind::name,
       .names = std::span(state_precision_names).first(3),
       .by_software = true,
       .has_option = true,
       .with_ideal = false,
       .apply = set_optional_assumption<&A::moments, StatePrecision>},
      {.key = "fp8_activation_inputs",
       .help = "gated activation functions keep their inputs in fp8 for backward",
       .by_software = true,
       .apply = set_assumption<&A::fp8_activation_inputs>},
      {.key = "recomputes_elementwise",
       .help = "backward recomputes elementwise operations and norms from kept tensors, as compiled code does",
       .by_software = true,
       .apply = set_assumption<&A::recomputes_elementwise>},
      {.key = "keeps_gathered",
       .help = "tensor-parallel ranks keep gathered inputs of matrix products for backward",
       .by_software = true,
       .apply = set_assumption<&A::keeps_gathered>},
      {.key = "cross_entropy",
       .help = "implementation of cross entropy in mixed precision",
       .kind = Kind::name,
       .names = cross_entropy_names,
       .by_software = true,
       .apply = set_assumption<&A::cross_entropy>},
      {.key = "attention",
       .help = "kernels of fused attention",
       .kind = Kind::name,
       .names = attention_kernel_names,
       .by_software = true,
       .apply = set_optional_assumption<&A::attention, AttentionKernels>},
      {.key = "fusing",
       .help = "precisions in which elementwise kernels are fused",
       .kind = Kind::name,
       .names = fusing_names,
       .by_software = true,
       .apply = set_assumption<&A::fusing>},
      {.key = "composites",
       .help = "whether chains of elementwise operators are fused into one kernel",
       .kind = Kind::name,
       .names = composite_names,
       .by_software = true,
       .apply = set_assumption<&A::composites>},
      {.key = "attention_sinks",
       .help = "kernels of fused attention with trained sinks",
       .kind = Kind::name,
       .names = composite_names,
       .by_software = true,
       .apply = set_assumption<&A::sinks>},
      {.key = "own_half_norms",
       .help = "batch norms with half-precision weights use the framework's native kernels",
       .by_software = true,
       .apply = set_assumption<&A::own_half_norms>},
      {.key = "convolution_biases",
       .help = "separate kernels for the biases of convolutions",
       .kind = Kind::name,
       .names = bias_kernel_names,
       .by_software = true,
       .apply = set_assumption<&A::convolution_biases>},
      {.key = "linear_biases",
       .help = "separate kernels for the biases of linear layers and depthwise convolutions",
       .kind = Kind::name,
       .names = bias_kernel_names,
       .by_software = true,
       .apply = set_assumption<&A::linear_biases>},
      {.key = "expert_biases",
       .help = "kernels that add the biases of the last expert layer",
       .kind = Kind::name,
       .names = expert_bias_names,
       .by_software = true,
       .apply = set_assumption<&A::expert_biases>},
      {.key = "selective_recompute",
       .help = "modules that selective recomputation recomputes",
       .kind = Kind::name,
       .names = selective_recompute_names,
       .by_software = true,
       .apply = set_assumption<&A::selective>},
      {.key = "optimizer_implementation",
       .help = "optimizer implementation of the framework: foreach or fused over all tensors, or single (per tensor); "
               "default: one fused pass over each layer's parameters",
       .kind = Kind::name,
       .names = enum_names<UpdateImplementation>,
       .by_software = true,
       .has_option = true,
       .apply = set_assumption<&A::update>},
      {.key = "extra_update_bytes",
       .help = "bytes per parameter that a mixed-precision update moves in addition to the optimizer kernel",
       .kind = Kind::bytes,
       .by_software = true,
       .former = "beside_update",
       .apply = set_assumption<&A::extra_update_bytes>},
      {.key = "older_framework",
       .help = "memory behavior of PyTorch before 2.0 with CUDA before 11.7: gradients stay after the update, and all "
               "kernels are loaded eagerly",
       .by_software = true,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::older_framework>},
      {.key = "engine_groups",
       .help = "the framework has communicators in addition to those of the parallel axes",
       .by_software = true,
       .apply = set_assumption<&A::engine_groups>},
      {.key = "keeps_sent",
       .help = "a pipeline stage keeps its output until its backward",
       .by_software = true,
       .apply = set_assumption<&A::keeps_sent>},
      {.key = "flat_gradients",
       .help = "the gradients of a ZeRO-1 or ZeRO-2 shard are concatenated into one tensor before the update",
       .by_software = true,
       .apply = set_assumption<&A::flat_gradients>},
      {.key = "images_only",
       .help = "this software is never the default for sequence models",
       .by_software = true,
       .apply = read_elsewhere},
      {.key = "idle_communicators",
       .help = "additional communicators of the framework, for groups that are unused or have one rank: each takes 544 MiB; "
               "default: 0",
       .kind = Kind::whole_number,
       .most = 1000,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::idle_communicators>},
      // The following settings describe overlap and communication.
      {.key = "overlaps_gradients",
       .help = "gradient communication is overlapped with backward",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_gradients, bool>},
      {.key = "overlaps_weight_gathers",
       .help = "the allgather of weights of ZeRO-1 and ZeRO-2 is overlapped with the next forward",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_weight_gathers, bool>},
      {.key = "overlaps_tensor_exchanges",
       .help = "collectives of tensor parallelism are chunked and overlapped with matrix products",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_tensor_exchanges, bool>},
      {.key = "overlaps_expert_exchanges",
       .help = "all-to-alls of experts are overlapped with another micro-batch",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_expert_exchanges, bool>},
      {.key = "routes_tokens_once",
       .help = "a token is sent to a node only once, even if several of its experts are there",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::routes_tokens_once, bool>},
      {.key = "equal_stages",
       .help = "pipeline stages have equal numbers of blocks if possible",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::equal_stages, bool>},
      {.key = "gradient_route",
       .help = "how gradients are sent: directly, or through the host",
       .kind = Kind::name,
       .names = route_names,
       .by_coefficients = true,
       .apply = set_fact<&S::gradient_route, Route>},
      {.key = "layer_route",
       .help = "how layer-wise collectives are sent: directly, or through the host",
       .kind = Kind::name,
       .names = route_names,
       .by_coefficients = true,
       .apply = set_fact<&S::layer_route, Route>},
      {.key = "halo_route",
       .help = "how halos are sent: directly, or through the host",
       .kind = Kind::name,
       .names = route_names,
       .by_coefficients = true,
       .apply = set_fact<&S::halo_route, Route>},
      {.key = "gradient_algorithm",
       .help = "allreduce algorithm of gradients",
       .kind = Kind::name,
       .names = enum_names<AllreduceAlgorithm>,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::gradient_algorithm, AllreduceAlgorithm>},
      {.key = "hybrid_gradient_algorithm",
       .help = "allreduce algorithm of gradients in plans with a filter, channel or spatial degree",
       .kind = Kind::name,
       .names = enum_names<AllreduceAlgorithm>,
       .by_coefficients = true,
       .apply = set_fact<&S::hybrid_gradient_algorithm, AllreduceAlgorithm>},
      {.key = "layer_algorithm",
       .help = "algorithm of layer-wise collectives",
       .kind = Kind::name,
       .names = enum_names<AllreduceAlgorithm>,
       .by_coefficients = true,
       .apply = set_fact<&S::layer_algorithm, AllreduceAlgorithm>},
      {.key = "gradient_bucket",
       .help = "bytes of gradients that are reduced as one message",
       .kind = Kind::bytes,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::gradient_bucket, double>},
      {.key = "bucket_parameters",
       .help = "parameters of one message of gradients or weights, if gradients are exchanged during backward",
       .kind = Kind::number,
       .least = 1,
       .most = 1e12,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::bucket_parameters, double>},
      {.key = "bucket_parameters_per_rank",
       .help = "least number of parameters of one message, divided by the number of ranks",
       .kind = Kind::number,
       .most = 1e12,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::bucket_parameters_per_rank, double>},
      {.key = "gradient_density",
       .help = "share of the gradients that is sent",
       .kind = Kind::number,
       .least = 1e-9,
       .most = 1,
       .by_coefficients = true,
       .apply = set_fact<&S::gradient_density, double>},
      {.key = "whole_gradients_in_hybrids",
       .help = "ranks with a slice of the filters reduce the gradients of the whole layer",
       .by_coefficients = true,
       .apply = set_fact<&S::whole_gradients_in_hybrids, bool>},
      {.key = "layered_gradients_in_hybrids",
       .help = "gradients of hybrids are reduced layer by layer",
       .by_coefficients = true,
       .apply = set_fact<&S::layered_gradients_in_hybrids, bool>},
      {.key = "step_overhead",
       .help = "time per step in which the device waits for the framework between steps",
       .kind = Kind::duration,
       .most = 1,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::step_overhead, Seconds>},
      {.key = "exchange_cycle",
       .help = "time between two checks of a rank for gradients that can be exchanged",
       .kind = Kind::duration,
       .most = 1,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::exchange_cycle, Seconds>},
      {.key = "backward_launches",
       .help = "launch overhead in backward relative to forward",
       .kind = Kind::number,
       .most = 10,
       .by_software = true,
       .by_coefficients = true,
       .former = "backward_starts",
       .apply = set_fact<&S::backward_launches, double>},
      {.key = "expert_launches",
       .help = "launch overhead of one expert's matrix product relative to that of a kernel",
       .kind = Kind::number,
       .most = 10,
       .by_software = true,
       .by_coefficients = true,
       .former = "expert_starts",
       .apply = set_fact<&S::expert_launches, double>},
      {.key = "one_process",
       .help = "one process launches the kernels of all devices",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::one_process, bool>},
      {.key = "serial_forward",
       .help = "share of the forward launches that a single process for all devices serializes",
       .kind = Kind::number,
       .most = 1,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::serial_forward, double>},
      {.key = "backward_threads",
       .help = "slowdown of backward launches if one process has a thread per device",
       .kind = Kind::number,
       .least = 1,
       .most = 10,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::backward_threads, double>},
      {.key = "managed_memory",
       .help = "spatial splits keep tensors in managed memory",
       .by_coefficients = true,
       .apply = set_fact<&S::managed_memory, bool>},
      {.key = "tile_copies",
       .help = "number of copies that backward makes of a tile's gradient",
       .kind = Kind::number,
       .most = 100,
       .by_coefficients = true,
       .apply = set_fact<&S::tile_copies, double>},
      // A θ above 1 is probably a typing error, because a thousand ranks would then take eight times as long.
      {.key = "rank_waiting",
       .help = "waiting time of n synchronized ranks, divided by ln n",
       .kind = Kind::number,
       .most = 1,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::rank_waiting, double>},
      {.key = "overlap_slowdown",
       .help = "slowdown of kernels that are overlapped with communication",
       .kind = Kind::number,
       .least = 1,
       .most = 10,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlap_slowdown, double>},
      // The following settings describe a single training.
      {.key = "allreduce",
       .help = "fix the gradient allreduce: linear, tree, butterfly, ring, rabenseifner, shifted-halving-doubling, "
               "hierarchical, multi-leader, leader, parameter-server, reduce-broadcast, sparse or double-tree; default: as "
               "measured, else the fastest",
       .kind = Kind::name,
       .names = enum_names<AllreduceAlgorithm>,
       .has_option = true,
       .apply = set_optional_assumption<&A::allreduce, AllreduceAlgorithm>},
      {.key = "parameter_servers",
       .help = "number of servers for --allreduce parameter-server",
       .kind = Kind::number,
       .least = 1,
       .most = 1'000'000'000,
       .has_option = true,
       .usual = "1",
       .only_with = "parameter-server",
       .apply = set_assumption<&A::parameter_servers>},
      {.key = "sparse_density",
       .help = "share of the gradients that --allreduce sparse sends",
       .kind = Kind::number,
       .least = 1e-9,
       .most = 1,
       .has_option = true,
       .usual = "0.01",
       .only_with = "sparse",
       .apply = set_assumption<&A::sparse_density>},
      {.key = "expert_imbalance",
       .help = "load imbalance of experts: maximum over mean tokens per rank; default: 1, balanced",
       .kind = Kind::number,
       .least = 1,
       .most = 1000,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::expert_imbalance>},
      {.key = "straggler",
       .help = "slowdown of the slowest device, for which the others wait, such as 1.1; default: 1",
       .kind = Kind::number,
       .least = 1,
       .most = 1000,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::straggler>},
      {.key = "congestion",
       .help = "predict this percentile of the communication time, such as p95, from the spread of measurements and from "
               "congestion coefficients; default: the median without other jobs",
       .kind = Kind::percentile,
       .least = 50,
       .most = 99.9,
       .has_option = true,
       .with_ideal = false,
       .apply = set_congestion},
      {.key = "overlap",
       .help = "do not overlap gradient communication with backward",
       .has_option = true,
       .apply = set_assumption<&A::overlap>},
      {.key = "input",
       .help = "who reads samples: each rank its own (every-rank), or one rank of each split group, which sends samples "
               "to the other ranks (leader)",
       .kind = Kind::name,
       .names = input_names,
       .has_option = true,
       .with_ideal = false,
       .usual = "every-rank",
       .apply = set_input},
      {.key = "input_exposed",
       .help = "samples are not prefetched while the devices compute",
       .has_option = true,
       .with_ideal = false,
       .apply = set_input_exposed},
  };
  static const std::vector<SettingRow> all = with_training_rows(rows);
  return all;
}

}  // namespace ddl
