#include "estimator/inputs/training_rows.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include "estimator/plan/plan.hpp"

namespace ddl {
namespace {

/// Sets a member of Recovery.
template <auto member, class T>
void set_recovery(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.recovery.*member = T(setting.value);
}
template <auto member, class T>
void set_failures(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.recovery.failures.*member = T(setting.value);
}

void set_failing_unit(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.recovery.failures.of = static_cast<FailingUnit>(setting.value);
}
void set_writing(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.recovery.writing = static_cast<CheckpointWriting>(setting.value);
}
void set_synchronization(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.synchronization = static_cast<Synchronization>(setting.value);
}
template <auto member>
void set_number(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.*member = setting.value;
}

bool has_stages(const ModelFacts& /*facts*/, const Plan& plan) { return plan.mesh[Axis::pipeline] > 1; }

template <auto member>
void set_flag(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.*member = setting.value != 0;
}

/// Images are decoded only if the user sets a decoder, not because a software could decode them.
void set_image_loader(const SettingValue& setting, SettingEffects& effects) {
  effects.software.image_loader = static_cast<ImageLoader>(setting.value);
  if (setting.origin > SettingOrigin::coefficients) effects.assumptions.decodes_images = true;
}
void set_loader_workers(const SettingValue& setting, SettingEffects& effects) {
  effects.software.loader_workers = setting.value;
  effects.assumptions.decodes_images = true;
}

void set_tiles(const SettingValue& setting, SettingEffects& effects) { effects.assumptions.mlp_tiles = setting.value; }

void set_augmentation(const SettingValue& setting, SettingEffects& effects) {
  effects.software.augmentation = static_cast<Augmentation>(setting.value);
}

void set_staging(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.staging = static_cast<Staging>(setting.value);
}

void set_overhead_power(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.overhead_power = setting.value;
}
void set_power_limit(const SettingValue& setting, SettingEffects& effects) {
  effects.assumptions.power_limit = setting.value;
}
void set_carbon(const SettingValue& setting, SettingEffects& effects) { effects.assumptions.carbon = setting.value; }

/// Longer times are probably typing errors.
constexpr double longest_time = 1e12, year = 365.25 * 86400;

}  // namespace

bool exchanges_gradients(const ModelFacts& /*facts*/, const Plan& plan) {
  return plan.mesh.devices() > std::int64_t{plan.mesh[Axis::tensor]} * plan.mesh[Axis::pipeline];
}

std::vector<SettingRow> with_training_rows(std::vector<SettingRow> rows) {
  using Kind = SettingKind;
  std::vector<SettingRow> training{
      {.key = "synchronization",
       .help = "for whom a data-parallel worker waits: all workers (sync), workers that are more than --staleness steps "
               "behind (stale), none (async, as in Downpour and Hogwild!), its neighbors (gossip) or none of them "
               "(async-gossip); convergence is not predicted",
       .kind = Kind::name,
       .names = synchronization_names,
       .has_option = true,
       .with_ideal = false,
       .usual = "sync",
       .launched_by_default = "sync",
       .apply = set_synchronization,
       .counts = exchanges_gradients},
      {.key = "staleness",
       .help = "steps that a worker may be ahead of the slowest one, with --synchronization stale",
       .kind = Kind::whole_number,
       .least = 1,
       .most = 1'000'000,
       .has_option = true,
       .with_ideal = false,
       .usual = "1",
       .only_with = "stale",
       .only_with_key = "synchronization",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_number<&Assumptions::staleness>},
      {.key = "neighbors",
       .help = "with --synchronization gossip: number of workers with which each worker averages its weights in a step",
       .kind = Kind::whole_number,
       .least = 1,
       .most = 1'000'000,
       .has_option = true,
       .with_ideal = false,
       .usual = "2, a ring",
       .only_with = "gossip",
       .only_with_key = "synchronization",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_number<&Assumptions::neighbors>},
      {.key = "weight_versions",
       .help = "stages of a pipeline do not wait for each other at the end of a step, and keep older versions of their "
               "weights, as in PipeDream; convergence is not predicted",
       .with_ideal = false,
       .usual = "no",
       .apply = set_flag<&Assumptions::weight_versions>},
      {.key = "token_pieces",
       .help =
           "number of pieces in which the stages of a pipeline pass on the tokens of a sample: the wavefront of LSTMs over "
           "time steps, and TeraPipe for causal attention",
       .kind = Kind::whole_number,
       .least = 1,
       .most = 1'000'000,
       .with_ideal = false,
       .usual = "1",
       .launched_by_default = "1",
       .apply = set_number<&Assumptions::token_pieces>,
       .counts = has_stages},
      {.key = "frequent_lookups",
       .help = "share of lookups that read the most frequent 1 % of a table's rows; the rows are as frequent as a Zipf "
               "distribution says; default: all rows are equally frequent",
       .kind = Kind::number,
       .least = 0.01,
       .most = 0.999,
       .with_ideal = false,
       .usual = "",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_number<&Assumptions::frequent_lookups>},
      {.key = "other_models",
       .help = "memory of other models on each device, such as frozen text encoders, a reference model or a reward model; "
               "default: 0 B",
       .kind = Kind::bytes,
       .has_option = true,
       .with_ideal = false,
       .usual = "0 B",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_number<&Assumptions::other_models>},
      {.key = "saves_whole",
       .help = "each rank of FSDP gathers all weights on its device to save them, as a full state dict without "
               "offload_to_cpu does",
       .by_software = true,
       .with_ideal = false,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_flag<&Assumptions::saves_whole>},
      {.key = "graph_update",
       .help = "the optimizer consists of operators of a graph, whose products of weights and moments with constants run at "
               "the start of a step, as Python's optimizers do in TensorFlow 1",
       .by_software = true,
       .with_ideal = false,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_flag<&Assumptions::graph_update>},
      {.key = "takes_device",
       .help = "the allocator takes the memory of the device at the start, except 5 % for libraries, as in TensorFlow 1",
       .by_software = true,
       .with_ideal = false,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_flag<&Assumptions::takes_device>},
      {.key = "updates_in_backward",
       .help =
           "backward updates each weight as soon as its gradient exists, and frees the gradient, as layer-wise optimizers "
           "and LOMO do",
       .by_software = true,
       .has_option = true,
       .with_ideal = false,
       .apply = set_flag<&Assumptions::updates_in_backward>},
      {.key = "projection_rank",
       .help = "rank of the projected gradients of galore, galore8bit and apollo",
       .kind = Kind::whole_number,
       .least = 1,
       .most = 65'536,
       .has_option = true,
       .with_ideal = false,
       .usual = "128",
       .apply = set_number<&Assumptions::projection_rank>},
      {.key = "mlp_tiles",
       .help =
           "tiles of tokens in which forward computes an MLP, and backward recomputes it (TiledMLP of DeepSpeed's ALST); 0: "
           "tiles as long as the hidden size; default: no tiles",
       .kind = Kind::whole_number,
       .most = 1'000'000,
       .has_option = true,
       .with_ideal = false,
       .apply = set_tiles},
      {.key = "mtbf",
       .help = "mean time between failures of one GPU, node or job: a whole training then includes lost steps, restarts and "
               "checkpoints; default: the machine's, else no failures",
       .kind = Kind::time,
       .least = 1,
       .most = longest_time,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_failures<&Failures::interval, Seconds>},
      {.key = "mtbf_of",
       .help = "what mtbf refers to; default: gpu",
       .kind = Kind::name,
       .names = failing_unit_names,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_failing_unit},
      {.key = "restart",
       .help = "time from a failure to the first new step; default: the machine's, else 10 min",
       .kind = Kind::time,
       .most = year,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_failures<&Failures::restart, Seconds>},
      {.key = "checkpoint_every",
       .help = "training time between two checkpoints, such as 30min; default: the best one",
       .kind = Kind::time,
       .least = 1e-3,
       .most = longest_time,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_recovery<&Recovery::checkpoint_every, Seconds>},
      {.key = "checkpoint_time",
       .help = "time for which the training waits for a checkpoint; default: its bytes divided by --checkpoint-bandwidth",
       .kind = Kind::time,
       .most = year,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_recovery<&Recovery::checkpoint_time, Seconds>},
      {.key = "checkpoint_bandwidth",
       .help = "bandwidth of all nodes together to the storage of checkpoints; default: that of the machine's storage",
       .kind = Kind::bandwidth,
       .least = 1,
       .most = 1e18,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_recovery<&Recovery::checkpoint_bandwidth, Bandwidth>},
      {.key = "checkpoint_writing",
       .help = "whether the training waits until a checkpoint is stored (blocking), or only for a copy in the host's "
               "memory (async)",
       .kind = Kind::name,
       .names = checkpoint_writing_names,
       .has_option = true,
       .usual = "blocking",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_writing},
      {.key = "spare_nodes",
       .help = "nodes that are paid for and replace failed nodes at once; with --repair, the job waits if all are used",
       .kind = Kind::whole_number,
       .most = 1'000'000,
       .has_option = true,
       .usual = "0",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_recovery<&Recovery::spare_nodes, double>},
      {.key = "repair",
       .help = "time to repair or replace a failed node, such as 1d; default: a failed node is always replaced at once",
       .kind = Kind::time,
       .least = 1,
       .most = 100 * year,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_recovery<&Recovery::repair, Seconds>},
      {.key = "staging",
       .help = "copy samples from the shared file system to the disks of the nodes before the training: none, whole (all "
               "samples to each node) or shards (those of its ranks); a whole training includes the copy",
       .kind = Kind::name,
       .names = staging_names,
       .has_option = true,
       .with_ideal = false,
       .usual = "none",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_staging},
      {.key = "exchanged_samples",
       .help = "share of its samples that a rank exchanges in each epoch, with --staging shards: 0 shuffles the samples of "
               "each rank, 1 shuffles all samples",
       .kind = Kind::number,
       .most = 1,
       .has_option = true,
       .with_ideal = false,
       .usual = "0",
       .only_with = "shards",
       .only_with_key = "staging",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_number<&Assumptions::exchanged_samples>},
      {.key = "image_loader",
       .help = "what decodes and transforms images while the devices compute: pillow (in processes of PyTorch), opencv or "
               "tensorflow (in threads), or device (as DALI can); default: images were decoded before the training",
       .kind = Kind::name,
       .names = image_loader_names,
       .by_software = true,
       .has_option = true,
       .with_ideal = false,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_image_loader},
      {.key = "loader_workers",
       .help = "processes of each rank that decode images, as num_workers of PyTorch's DataLoader; default with "
               "--image-loader: the rank's share of the node's cores",
       .kind = Kind::whole_number,
       .least = 1,
       .most = 4096,
       .has_option = true,
       .with_ideal = false,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_loader_workers},
      {.key = "augmentation",
       .help = "policy of random operations that change each image that image_loader decodes: none, autoaugment or "
               "randaugment",
       .kind = Kind::name,
       .names = augmentation_names,
       .with_ideal = false,
       .usual = "none",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_augmentation},
      {.key = "precondition_every",
       .help = "steps between two decompositions of the matrices of kfac, shampoo, soap or galore; default: 100 (kfac, "
               "shampoo), 10 (soap), 200 (galore)",
       .kind = Kind::whole_number,
       .least = 1,
       .most = 1'000'000,
       .has_option = true,
       .with_ideal = false,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_number<&Assumptions::precondition_every>},
      {.key = "power_limit",
       .help =
           "reduced power limit of each device in watts, as nvidia-smi --power-limit sets it: kernels take longer, and the "
           "training may need less energy; default: the datasheet's",
       .kind = Kind::number,
       .least = 1,
       .most = 1e5,
       .has_option = true,
       .with_ideal = false,
       .unit = "W",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_power_limit},
      {.key = "pue",
       .help = "power usage effectiveness: energy of the data center, divided by the energy of its nodes",
       .kind = Kind::number,
       .least = 1,
       .most = 10,
       .has_option = true,
       .usual = "1",
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_overhead_power},
      {.key = "carbon",
       .help = "carbon intensity of the electricity, in grams of CO2 per kWh",
       .kind = Kind::number,
       .most = 10'000,
       .has_option = true,
       .in_launch_files = InLaunchFiles::irrelevant,
       .apply = set_carbon},
  };
  rows.insert(rows.end(), training.begin(), training.end());
  return rows;
}

}  // namespace ddl
