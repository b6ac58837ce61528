#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "core/statistics.hpp"
#include "estimator/inputs/settings.hpp"

namespace ddl {
namespace {

using Value = SettingValue;
using Effects = SettingEffects;

constexpr std::array<std::string_view, 3> input_names{"every-rank", "leader", "none"};
constexpr EnumNames<Route> route_names{"direct", "host"};

template <class Enum>
constexpr std::span<const std::string_view> names_of(const EnumNames<Enum>& names) {
  return {names.data(), names.size()};
}

std::span<const std::string_view> algorithm_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const AllreduceAlgorithm algorithm : all_allreduce_algorithms) all.push_back(to_string(algorithm));
    return all;
  }();
  return names;
}

std::span<const std::string_view> implementation_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const UpdateImplementation implementation : all_update_implementations) all.push_back(to_string(implementation));
    return all;
  }();
  return names;
}

/// Whether the value is of the training that is asked for, and not of a framework in general.
bool is_asked_for(const Settings& settings, std::string_view key) {
  const Value* const found = settings.find(key);
  return found != nullptr && found->origin > SettingOrigin::coefficients;
}

// What a row does with its value: sets one member.

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
  // Volumes that are asked to lie in channels-first order are not copied.
  const bool is_first = effects.settings.choice<MemoryFormat>("memory_format") == MemoryFormat::channels_first;
  if (is_asked_for(effects.settings, "memory_format") && is_first) return;
  effects.assumptions.copies_volumes = setting.value != 0;
}

void set_mixed_precision(const Value& setting, Effects& effects) {
  effects.assumptions = with_mixed_precision(effects.assumptions, static_cast<MixedPrecision>(setting.value));
}

void set_launch_overhead(const Value& setting, Effects& effects) {
  // That of a framework is of a host of speed 1, which the study divides by the speed of the machine's.
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
      // What the framework runs.
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
       .names = names_of(memory_format_names),
       .by_software = true,
       .has_option = true,
       .has_column = true,
       .apply = set_assumption<&A::memory_format>},
      {.key = "memory_format_of_fp32",
       .help = "the same in fp32 and tf32, if it differs there",
       .kind = Kind::name,
       .names = names_of(memory_format_names),
       .by_software = true,
       .apply = set_memory_format_of_fp32},
      {.key = "copies_volumes",
       .help = "convolutions of volumes copy what lies in channels-last order, in fp32 and tf32",
       .by_software = true,
       .apply = set_copies_volumes},
      {.key = "mixed_precision",
       .help = "what fp16 and bf16 mean for memory: half (weights and gradients, beside a master), full (gradients in "
               "fp32 and cross entropy in place, as Megatron-LM does), autocast (PyTorch's) or accumulated (half, and a sum "
               "in fp32 on each rank, as DeepSpeed does with bf16); default: the software's, else half",
       .kind = Kind::name,
       .names = names_of(mixed_precision_names),
       .by_software = true,
       .has_option = true,
       .has_column = true,
       .apply = set_mixed_precision},
      {.key = "gradient_sums",
       .help = "precision in which ranks sum gradients of mixed precision",
       .kind = Kind::name,
       .names = names_of(gradient_sums_names),
       .by_software = true,
       .apply = set_optional_assumption<&A::gradient_sums, GradientSums>},
      {.key = "cross_entropy",
       .help = "how cross entropy is computed in mixed precision",
       .kind = Kind::name,
       .names = names_of(cross_entropy_names),
       .by_software = true,
       .apply = set_assumption<&A::cross_entropy>},
      {.key = "attention",
       .help = "which kernels run fused attention",
       .kind = Kind::name,
       .names = names_of(attention_kernel_names),
       .by_software = true,
       .apply = set_optional_assumption<&A::attention, AttentionKernels>},
      {.key = "fusing",
       .help = "in which precisions elementwise kernels are fused",
       .kind = Kind::name,
       .names = names_of(fusing_names),
       .by_software = true,
       .apply = set_assumption<&A::fusing>},
      {.key = "composites",
       .help = "whether formulas of several operators are one fused kernel",
       .kind = Kind::name,
       .names = names_of(composite_names),
       .by_software = true,
       .apply = set_assumption<&A::composites>},
      {.key = "attention_sinks",
       .help = "the same of fused attention with trained sinks",
       .kind = Kind::name,
       .names = names_of(composite_names),
       .by_software = true,
       .apply = set_assumption<&A::sinks>},
      {.key = "own_half_norms",
       .help = "batch norms with weights in half precision run in the framework's own kernels",
       .by_software = true,
       .apply = set_assumption<&A::own_half_norms>},
      {.key = "convolution_biases",
       .help = "which kernels of its own the bias of a convolution has",
       .kind = Kind::name,
       .names = names_of(bias_kernel_names),
       .by_software = true,
       .apply = set_assumption<&A::convolution_biases>},
      {.key = "linear_biases",
       .help = "the same of linear layers and depthwise convolutions",
       .kind = Kind::name,
       .names = names_of(bias_kernel_names),
       .by_software = true,
       .apply = set_assumption<&A::linear_biases>},
      {.key = "expert_biases",
       .help = "what adds the biases of the last layer of experts",
       .kind = Kind::name,
       .names = names_of(expert_bias_names),
       .by_software = true,
       .apply = set_assumption<&A::expert_biases>},
      {.key = "selective_recompute",
       .help = "what selective recomputation recomputes",
       .kind = Kind::name,
       .names = names_of(selective_recompute_names),
       .by_software = true,
       .apply = set_assumption<&A::selective>},
      {.key = "optimizer_implementation",
       .help = "how the framework runs it: foreach or fused over the list of all tensors, or single, tensor by tensor; "
               "default: one fused pass over each layer's parameters",
       .kind = Kind::name,
       .names = implementation_names(),
       .by_software = true,
       .has_option = true,
       .apply = set_assumption<&A::update>},
      {.key = "beside_update",
       .help = "bytes a parameter that a step of mixed precision moves in addition to the optimizer's kernel",
       .kind = Kind::bytes,
       .by_software = true,
       .apply = set_assumption<&A::beside_update>},
      {.key = "older_framework",
       .help = "memory as of PyTorch before 2.0 with CUDA before 11.7: gradients stay after the update, all kernels are "
               "loaded at once",
       .by_software = true,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::older_framework>},
      {.key = "engine_groups",
       .help = "the engine has communicators in addition to those of the axes",
       .by_software = true,
       .apply = set_assumption<&A::engine_groups>},
      {.key = "keeps_sent",
       .help = "a pipeline stage keeps what it has sent until its backward",
       .by_software = true,
       .apply = set_assumption<&A::keeps_sent>},
      {.key = "flat_gradients",
       .help = "the gradients of a ZeRO-1 or ZeRO-2 shard are joined in one tensor before the update",
       .by_software = true,
       .apply = set_assumption<&A::flat_gradients>},
      {.key = "images_only",
       .help = "never the default for models of sequences",
       .by_software = true,
       .apply = read_elsewhere},
      {.key = "idle_communicators",
       .help = "communicators that the framework makes beside those of the plan, of groups that are never used or have one "
               "rank: each takes 544 MiB; default: 0",
       .kind = Kind::whole_number,
       .most = 1000,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::idle_communicators>},
      // What overlaps, and how ranks communicate.
      {.key = "overlaps_gradients",
       .help = "gradients are exchanged during backward",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_gradients, bool>},
      {.key = "overlaps_weight_gathers",
       .help = "weights that ZeRO-1 and ZeRO-2 gather arrive during the next forward",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_weight_gathers, bool>},
      {.key = "overlaps_tensor_exchanges",
       .help = "collectives of tensor parallelism run in pieces, overlapped with matrix products",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_tensor_exchanges, bool>},
      {.key = "overlaps_expert_exchanges",
       .help = "All-to-alls of experts are overlapped with another micro-batch",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlaps_expert_exchanges, bool>},
      {.key = "routes_tokens_once",
       .help = "a token is sent once to each node that has some of its experts",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::routes_tokens_once, bool>},
      {.key = "equal_stages",
       .help = "pipeline stages have equal numbers of blocks where possible",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::equal_stages, bool>},
      {.key = "gradient_route",
       .help = "how gradients leave the device",
       .kind = Kind::name,
       .names = names_of(route_names),
       .by_coefficients = true,
       .apply = set_fact<&S::gradient_route, Route>},
      {.key = "layer_route",
       .help = "how tensors of layers leave the device",
       .kind = Kind::name,
       .names = names_of(route_names),
       .by_coefficients = true,
       .apply = set_fact<&S::layer_route, Route>},
      {.key = "halo_route",
       .help = "how halos leave the device",
       .kind = Kind::name,
       .names = names_of(route_names),
       .by_coefficients = true,
       .apply = set_fact<&S::halo_route, Route>},
      {.key = "gradient_algorithm",
       .help = "the Allreduce algorithm of gradients",
       .kind = Kind::name,
       .names = algorithm_names(),
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::gradient_algorithm, AllreduceAlgorithm>},
      {.key = "hybrid_gradient_algorithm",
       .help = "the same in plans with a filter, channel or spatial degree",
       .kind = Kind::name,
       .names = algorithm_names(),
       .by_coefficients = true,
       .apply = set_fact<&S::hybrid_gradient_algorithm, AllreduceAlgorithm>},
      {.key = "layer_algorithm",
       .help = "the algorithm of layer-wise collectives",
       .kind = Kind::name,
       .names = algorithm_names(),
       .by_coefficients = true,
       .apply = set_fact<&S::layer_algorithm, AllreduceAlgorithm>},
      {.key = "gradient_density",
       .help = "the share of the gradients that is sent",
       .kind = Kind::number,
       .least = 1e-9,
       .most = 1,
       .by_coefficients = true,
       .apply = set_fact<&S::gradient_density, double>},
      {.key = "whole_gradients_in_hybrids",
       .help = "ranks with a slice of the filters exchange gradients of the whole layer",
       .by_coefficients = true,
       .apply = set_fact<&S::whole_gradients_in_hybrids, bool>},
      {.key = "layered_gradients_in_hybrids",
       .help = "gradients of hybrids are exchanged layer by layer",
       .by_coefficients = true,
       .apply = set_fact<&S::layered_gradients_in_hybrids, bool>},
      {.key = "backward_starts",
       .help = "launch overhead in backward over that in forward",
       .kind = Kind::number,
       .most = 10,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::backward_starts, double>},
      {.key = "expert_starts",
       .help = "launch overhead of one expert's matrix product over that of a kernel",
       .kind = Kind::number,
       .most = 10,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::expert_starts, double>},
      {.key = "one_process",
       .help = "one process launches the kernels of all devices",
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::one_process, bool>},
      {.key = "serial_forward",
       .help = "share of the launches of forward that such a process does one device after the other",
       .kind = Kind::number,
       .most = 1,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::serial_forward, double>},
      {.key = "backward_threads",
       .help = "how many times as long launches of backward take with a thread for each device",
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
       .help = "copies of the gradient of a tile that backward makes",
       .kind = Kind::number,
       .most = 100,
       .by_coefficients = true,
       .apply = set_fact<&S::tile_copies, double>},
      // θ above 1 is a slip of the keyboard: a thousand ranks would take eight times as long.
      {.key = "rank_waiting",
       .help = "how much longer n ranks that wait for each other take, over ln n",
       .kind = Kind::number,
       .most = 1,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::rank_waiting, double>},
      {.key = "overlap_slowdown",
       .help = "how many times as long kernels take while overlapped with communication",
       .kind = Kind::number,
       .least = 1,
       .most = 10,
       .by_software = true,
       .by_coefficients = true,
       .apply = set_fact<&S::overlap_slowdown, double>},
      // What one training asks for.
      {.key = "allreduce",
       .help = "fix the gradient exchange: linear, tree, butterfly, ring, rabenseifner, shifted-halving-doubling, "
               "hierarchical, multi-leader, leader, parameter-server, reduce-broadcast, sparse or double-tree; default: as "
               "measured, else the cheapest",
       .kind = Kind::name,
       .names = algorithm_names(),
       .has_option = true,
       .apply = set_optional_assumption<&A::allreduce, AllreduceAlgorithm>},
      {.key = "parameter_servers",
       .help = "servers of --allreduce parameter-server",
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
       .help = "tokens of the busiest rank of an expert split over the mean; default: 1, as if all experts were equally "
               "popular",
       .kind = Kind::number,
       .least = 1,
       .most = 1000,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::expert_imbalance>},
      {.key = "straggler",
       .help = "time of the kernels of the slowest device over that of the others, which wait for it: 1.1; default: 1",
       .kind = Kind::number,
       .least = 1,
       .most = 1000,
       .has_option = true,
       .with_ideal = false,
       .apply = set_assumption<&A::straggler>},
      {.key = "congestion",
       .help =
           "price exchanges as slow as this share of repetitions are at most, such as p95, by the spread of measured ones "
           "and by the coefficients' congestion; default: the median of the job alone",
       .kind = Kind::percentile,
       .least = 50,
       .most = 99.9,
       .has_option = true,
       .with_ideal = false,
       .apply = set_congestion},
      {.key = "overlap",
       .help = "do not hide the gradient exchange behind backward",
       .has_option = true,
       .apply = set_assumption<&A::overlap>},
      {.key = "input",
       .help = "every-rank reads its own samples, or one leader of a split group sends them to the others",
       .kind = Kind::name,
       .names = input_names,
       .has_option = true,
       .with_ideal = false,
       .usual = "every-rank",
       .apply = set_input},
      {.key = "input_exposed",
       .help = "samples are not read ahead while the devices compute",
       .has_option = true,
       .with_ideal = false,
       .apply = set_input_exposed},
  };
  return rows;
}

}  // namespace ddl
