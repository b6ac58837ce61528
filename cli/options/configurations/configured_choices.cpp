#include "cli/options/configurations/configured_choices.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/plan_degrees.hpp"
#include "cli/options/configurations/stage_layout.hpp"
#include "core/find.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

/// Choices that depend on several fields of a configuration.
constexpr std::array of_several_fields{PlanChoice::zero,
                                       PlanChoice::shard_group,
                                       PlanChoice::secondary_shards,
                                       PlanChoice::recompute,
                                       PlanChoice::recompute_blocks,
                                       PlanChoice::recompute_modules,
                                       PlanChoice::offload,
                                       PlanChoice::experts,
                                       PlanChoice::virtual_stages,
                                       PlanChoice::first_stage_blocks,
                                       PlanChoice::last_stage_blocks};

bool deals_experts(const Configuration& read) {
  const std::int64_t tensor = configured_degree(read, ConfigField::tensor);
  const auto own = read.number(ConfigField::expert_tensor, 1, most_configured_gpus);
  if (!own || tensor == 1 || *own == tensor) return false;
  if (*own > 1) {
    read.fail({ConfigField::expert_tensor},
              fmt::format("an expert-tensor-parallel size of {} does not match a tensor degree of {}", *own, tensor),
              "the expert-tensor-parallel size must be 1 or the tensor degree");
  }
  return configured_degree(read, ConfigField::expert) > 1;
}

class ChoiceReader {
 public:
  ChoiceReader(ConfiguredOptions& options, const Configuration& configuration, const ConfiguredDevices& devices)
      : all_(options), read_(configuration), devices_(devices) {}

  void make() {
    refuse_precision_of_no_machine();
    choose_zero();
    choose_recompute();
    choose_offload();
    if (deals_experts(read_)) choose(PlanChoice::experts, "whole");
    if (configured_degree(read_, ConfigField::pipeline) > 1) {
      choose_virtual_stages();
      choose_stage_blocks();
    }
    if (runs_megatron_core(*read_.format)) refuse_as_megatron();
    for (const PlanChoiceRow& row : plan_choices()) {
      if (!contains(of_several_fields, row.choice)) choose_as_said(row);
    }
  }

 private:
  [[nodiscard]] bool matters(const PlanChoiceRow& row) const {
    Plan plan;
    parse_degrees(all_.own.degrees.empty() ? "data=1" : all_.own.degrees, plan);
    return row.matters(plan.mesh);
  }

  /// Throws Error if the configuration gives a precision that the default machine lacks.
  void refuse_precision_of_no_machine() const {
    const bool is_from_file = contains(all_.said, "--precision");
    const std::optional<Precision> precision = parse_enum<Precision>(all_.study.precision);
    if (!is_from_file || !precision || all_.study.machine != StudyOptions{}.machine) return;
    if (load_machine(all_.study.machine).device.peak_at(*precision)) return;
    read_.fail({ConfigField::fp4, ConfigField::fp8, ConfigField::precision},
               fmt::format("{}, the default machine, does not compute in {}", all_.study.machine, to_string(*precision)),
               fmt::format("name the machine of this training, for example --machine {}",
                           *precision == Precision::nvfp4 ? "dgx-b200" : "dgx-h100"));
  }

  /// Sets a choice of the configuration's plan, unless an option on the command line gives the
  /// choice. `value`: empty if the configuration does not give the choice.
  void choose(PlanChoice choice, const std::string& value) {
    const auto at = static_cast<std::size_t>(choice);
    const PlanChoiceRow& row = row_of(choice);
    if (value.empty() || all_.own.numbers[at] || !all_.own.names[at].empty() || !matters(row)) return;
    if (row.first_number) {
      all_.own.numbers[at] = std::stoll(value);
    } else {
      all_.own.names[at] = value;
    }
  }
  void choose(PlanChoice choice, std::int64_t value) { choose(choice, fmt::format("{}", value)); }

  /// Sets a choice that depends on a single field of the configuration.
  void choose_as_said(const PlanChoiceRow& row) {
    if (!matters(row)) return;
    if (!row.first_number) return choose(row.choice, read_.word(row.choice));
    if (const auto value = read_.number(row.choice, *row.first_number, *row.first_number + row.last))
      choose(row.choice, *value);
  }

  [[nodiscard]] std::int64_t layers() const {
    if (const auto said = read_.number(ConfigField::layers, 1, most_configured)) return *said;
    return load_model(all_.study.model, all_.study.sequence).blocks;
  }

  /// Whether a share of the blocks is recomputed: with selective recomputation, or if one argument gives both.
  [[nodiscard]] bool takes_share(const std::string& recompute) const {
    const Fact *kind = read_.find(PlanChoice::recompute), *share = read_.find(ConfigField::recompute_share);
    const bool is_one =
        kind != nullptr && kind->from && share != nullptr && share->from && kind->from->key == share->from->key;
    return recompute == "selective" || (is_one && recompute != "none");
  }

  /// Sets the choices of recomputation. Groups of several blocks (`uniform`) are modeled as groups of one block.
  void choose_recompute() {
    std::string recompute = read_.word(PlanChoice::recompute);
    const std::string share = read_.word(ConfigField::recompute_share);
    if (!share.empty() && takes_share(recompute) && configured_degree(read_, ConfigField::pipeline) == 1) {
      recompute = "full";
      const auto some = static_cast<std::int64_t>(std::lround(std::stod(share) * static_cast<double>(layers())));
      if (some < layers()) choose(PlanChoice::recompute_blocks, std::clamp<std::int64_t>(some, 1, most_recompute_blocks));
    }
    choose(PlanChoice::recompute_modules, recompute == "selective" ? modules() : "");
    const auto blocks = read_.number(ConfigField::recompute_layers, 0, most_configured);
    const bool is_of_blocks = recompute == "full" && blocks && read_.word(ConfigField::recompute_method) == "block";
    if (is_of_blocks && *blocks > 0)
      choose(PlanChoice::recompute_blocks, std::min<std::int64_t>(*blocks, most_recompute_blocks));
    choose(PlanChoice::recompute, is_of_blocks && *blocks == 0 ? "none" : recompute);
  }

  /// Returns the recomputed modules. An empty list in the configuration means that no module is recomputed.
  [[nodiscard]] std::string modules() const {
    std::string modules = read_.word(PlanChoice::recompute_modules);
    std::ranges::replace(modules, ' ', '+');
    if (!modules.empty() && !parse_recompute_modules(modules)) {
      read_.fail({PlanChoice::recompute_modules},
                 fmt::format("{} contains a module that cannot be recomputed", quote(modules)),
                 fmt::format("known: {}", fmt::join(recompute_module_names, ", ")));
    }
    return modules;
  }

  /// Sets what is offloaded. DeepSpeed offloads weights only with ZeRO-3 [docs/_pages/config-json.md, `offload_param`].
  void choose_offload() {
    const bool asks = read_.word(ConfigField::offload_weights) == "yes";
    const bool offloads = asks && (!read_.says(PlanChoice::zero) || read_.word(PlanChoice::zero) == "3");
    if (asks && !offloads) {
      const Fact& fact = *read_.find(ConfigField::offload_weights);
      all_.warnings.push_back(fmt::format("{}: weights are offloaded only with ZeRO-3, so they stay on the GPU",
                                          fact.from ? line_text(fact.from->place()) : read_.file));
    }
    choose(PlanChoice::offload, offloads ? "weights" : read_.word(PlanChoice::offload));
  }

  void choose_virtual_stages() {
    const std::int64_t pipeline = configured_degree(read_, ConfigField::pipeline);
    auto virtual_stages = read_.number(PlanChoice::virtual_stages, 1, most_virtual_stages);
    const auto each = read_.number(ConfigField::layers_per_virtual_stage, 1, most_configured);
    if (each && pipeline > 1) {
      // The layers before and after the blocks may count as a block each (--account-for-embedding-in-pipeline-split).
      constexpr int outer_slots = 2;
      std::int64_t all = layers();
      for (int slots = 1; slots <= outer_slots && all % (pipeline * *each) != 0; ++slots) all = layers() + slots;
      if (all % (pipeline * *each) != 0) all = layers();
      if (all % pipeline != 0 || (all / pipeline) % *each != 0) {
        read_.fail(
            {ConfigField::layers_per_virtual_stage},
            fmt::format("{} layers on {} stages do not divide into virtual stages of {} layers", all, pipeline, *each),
            "the layers per stage must be a multiple of the layers per virtual stage");
      }
      virtual_stages = all / pipeline / *each;
      if (*virtual_stages > most_virtual_stages) {
        read_.fail({ConfigField::layers_per_virtual_stage},
                   fmt::format("{} virtual stages per stage exceed the maximum of {}", *virtual_stages, most_virtual_stages),
                   "use longer virtual stages");
      }
    }
    // torchtitan's default for interleaved schedules is two stages per rank
    // [distributed/pipeline_parallel.py, `stages_per_rank`].
    if (!virtual_stages && read_.word(ConfigField::interleaved) == "yes") virtual_stages = 2;
    if (virtual_stages) choose(PlanChoice::virtual_stages, *virtual_stages);
  }

  /// Sets the blocks of the first and last stage, from their numbers, from a layout of all virtual stages, or from layers
  /// that count as a block.
  void choose_stage_blocks() {
    const std::int64_t pipeline = configured_degree(read_, ConfigField::pipeline);
    if (read_.says(ConfigField::stage_layout)) return choose_layout(pipeline);
    auto first = read_.number(PlanChoice::first_stage_blocks, 0, most_stage_blocks);
    auto last = read_.number(PlanChoice::last_stage_blocks, 0, most_stage_blocks);
    const int before = read_.word(ConfigField::embedding_slot) == "yes" ? 1 : 0;
    const int behind = read_.word(ConfigField::loss_slot) == "yes" ? 1 : 0;
    if (before + behind > 0 && !first && !last) {
      const std::int64_t all = layers() + before + behind, slots = all / pipeline;
      if (all % pipeline != 0) {
        read_.fail({ConfigField::embedding_slot, ConfigField::loss_slot},
                   fmt::format("{} layers, including embedding or loss as layers, do not divide into {} equal stages", all,
                               pipeline),
                   "do not count embedding or loss as a layer, or set the layers of the first and last stage");
      }
      if (before > 0 && slots > 1) first = slots - before;
      if (behind > 0 && slots > 1) last = slots - behind;
    }
    if (first && *first > 0) choose(PlanChoice::first_stage_blocks, std::min<std::int64_t>(*first, most_stage_blocks));
    if (last && *last > 0) choose(PlanChoice::last_stage_blocks, std::min<std::int64_t>(*last, most_stage_blocks));
  }

  /// Throws Error for arguments that Megatron Core refuses [megatron/core/transformer/transformer_block.py,
  /// `get_num_layers_to_build`; moe/moe_layer.py, `MoELayer.forward`].
  void refuse_as_megatron() {
    // Megatron-DeepSpeed has no such limits: BLOOM has 70 layers on 12 stages [deepspeed/runtime/pipe/module.py].
    const Fact* const version = read_.find(ConfigField::implementation);
    if (version != nullptr && version->is_weak) return;
    const std::int64_t tensor = configured_degree(read_, ConfigField::tensor);
    const auto heads = read_.number(ConfigField::heads, 1, most_configured);
    if (heads && tensor > 1 && *heads % tensor != 0) {
      read_.fail({ConfigField::tensor},
                 fmt::format("{} attention heads do not divide into {} parts, as Megatron Core needs", *heads, tensor),
                 "choose a tensor degree that divides the heads");
    }
    const std::int64_t pipeline = configured_degree(read_, ConfigField::pipeline);
    const auto chosen_blocks = [&](PlanChoice choice) {
      return all_.own.numbers[static_cast<std::size_t>(choice)].value_or(0);
    };
    const std::int64_t first = chosen_blocks(PlanChoice::first_stage_blocks),
                       last = chosen_blocks(PlanChoice::last_stage_blocks),
                       others = pipeline - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    const bool has_slots = read_.word(ConfigField::embedding_slot) == "yes" || read_.word(ConfigField::loss_slot) == "yes";
    const bool is_laid_out = has_slots || read_.says(ConfigField::stage_layout);
    if (pipeline > 1 && others > 0 && !is_laid_out && (layers() - first - last) % others != 0) {
      read_.fail({ConfigField::pipeline},
                 fmt::format("{} layers do not divide into {} equal stages, as Megatron Core needs", layers() - first - last,
                             others),
                 "change the number of stages, or set the layers of the first and last stage");
    }
    const bool has_sequences_whole = read_.word(PlanChoice::sequence_parallel) != "yes";
    if (configured_degree(read_, ConfigField::expert) > 1 && configured_degree(read_, ConfigField::tensor) > 1 &&
        has_sequences_whole) {
      read_.fail({PlanChoice::sequence_parallel, ConfigField::tensor},
                 "experts with tensor parallelism need sequence parallelism in Megatron Core",
                 "add sequence parallelism (--sequence-parallel), or leave tensor parallelism out");
    }
  }

  /// Sets the virtual stages and the blocks of the first and last stage as in a layout of Megatron Core.
  void choose_layout(std::int64_t pipeline) {
    const std::vector<int> chunks = blocks_of_layout(read_.word(ConfigField::stage_layout));
    const auto count = static_cast<std::int64_t>(chunks.size());
    if (count % pipeline != 0) {
      read_.fail({ConfigField::stage_layout},
                 fmt::format("a layout of {} parts does not divide into {} stages", count, pipeline),
                 "use for example 'Et*3|(tt|)*29,m|L': | ends a virtual stage, t is a block");
    }
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(pipeline));
    for (std::size_t i = 0; i < chunks.size(); ++i) blocks[i % blocks.size()] += chunks[i];
    if (blocks.front() == 0 || blocks.back() == 0) {
      read_.fail({ConfigField::stage_layout}, "a stage without blocks is not modeled",
                 "place a block on the first stage and on the last stage");
    }
    if (count / pipeline > 1 && count / pipeline <= most_virtual_stages)
      choose(PlanChoice::virtual_stages, count / pipeline);
    choose(PlanChoice::first_stage_blocks, std::min<std::int64_t>(blocks.front(), most_stage_blocks));
    choose(PlanChoice::last_stage_blocks, std::min<std::int64_t>(blocks.back(), most_stage_blocks));
  }

  /// The replicas in a shard group of `ranks`; 0 is all. The tools with such groups count the ranks of all axes [verl,
  /// workers/engine/fsdp/utils.py; EasyR1, verl/workers/fsdp_workers.py; SkyRL, as verl; DeepSpeed, zero/mics_utils.py].
  [[nodiscard]] std::int64_t replicas_of_group(std::int64_t ranks, std::int64_t context) const {
    if (ranks <= 0 || ranks >= devices_.replicas * context) return 0;
    if (ranks % context != 0) {
      read_.fail({PlanChoice::shard_group},
                 fmt::format("a shard group of {} ranks is no multiple of the {} ranks that share a sequence, which is not "
                             "modeled",
                             ranks, context),
                 fmt::format("use a multiple of {}, or shard among all ranks", context));
    }
    return ranks / context;
  }

  void choose_zero() {
    std::string stage = read_.word(PlanChoice::zero);
    if (read_.word(ConfigField::fsdp) == "yes")
      stage = read_.says(ConfigField::sharding) ? read_.word(ConfigField::sharding) : "3";
    if (stage.empty() && read_.word(ConfigField::distributed_type) == "fsdp") stage = "3";
    if (stage.empty() && devices_.shards > 1) stage = "3";
    if (!stage.empty()) {
      const Fact* fact = read_.find(PlanChoice::zero);
      Configuration one = read_;
      one.set(PlanChoice::zero, {.value = stage, .from = fact != nullptr ? fact->from : std::nullopt});
      static_cast<void>(one.number(PlanChoice::zero, 0, 3));
    }
    // A plan that keeps weights gathered after forward is ZeRO-2. With a pipeline, torchtitan keeps
    // them gathered by default.
    const std::string reshards = read_.word(ConfigField::reshards);
    const bool keeps =
        reshards == "no" || ((reshards == "default" || reshards.empty()) && read_.format == &torchtitan_toml &&
                             configured_degree(read_, ConfigField::pipeline) > 1);
    if (stage == "3" && keeps) stage = "2";
    // Context-parallel ranks also hold shards. Sharding has an effect if shards × context is above 1.
    const std::int64_t context = configured_degree(read_, ConfigField::context);
    if (devices_.shards * context == 1 || devices_.replicas * context == 1) stage = "0";
    std::int64_t group = read_.number(PlanChoice::shard_group, -1, most_shard_group).value_or(0);
    if (group == 1 && !stage.empty()) stage = "0";  // each rank keeps its whole model
    choose(PlanChoice::zero, stage);
    if (context > 1 && stage != "0") group = replicas_of_group(group, context);
    if (devices_.shards > 0 && devices_.shards < devices_.replicas) group = devices_.shards;
    if (read_.word(ConfigField::shards_nodes) == "yes") {
      const auto nodes = read_.number(ConfigField::nodes, 1, most_configured_gpus);
      if (nodes && *nodes > 1 && devices_.gpus % *nodes == 0)
        group = std::max<std::int64_t>(devices_.gpus / *nodes / (devices_.gpus / devices_.replicas), 1);
    }
    const bool has_groups = group * context > 1 && group < devices_.replicas && group <= most_shard_group;
    if (has_groups && stage != "0") choose(PlanChoice::shard_group, group);
    // Secondary shards only have an effect with ZeRO-3.
    const auto second = read_.number(PlanChoice::secondary_shards, 1, most_shard_group);
    if (second && *second > 1 && stage == "3" && group <= 1) choose(PlanChoice::secondary_shards, *second);
  }

  ConfiguredOptions& all_;
  const Configuration& read_;
  ConfiguredDevices devices_;
};

}  // namespace

void choose_choices(ConfiguredOptions& options, const Configuration& configuration, const ConfiguredDevices& devices) {
  ChoiceReader(options, configuration, devices).make();
}

std::int64_t configured_degree(const Configuration& configuration, ConfigField axis) {
  // Some tools write 0 for a degree of 1, and -1 for axes that take the remaining devices.
  const bool may_take_rest =
      axis == ConfigField::data_replicate ||
      (configuration.format != nullptr && configuration.format->any_axis_takes_rest && configuration.word(axis) == "-1");
  return std::max<std::int64_t>(configuration.number(axis, may_take_rest ? -1 : 0, most_configured_gpus).value_or(1), 1);
}

void give_rest(Configuration& configuration, std::int64_t gpus) {
  if (configuration.format == nullptr || !configuration.format->any_axis_takes_rest) return;
  constexpr std::array<ConfigField, 4> axes{ConfigField::tensor, ConfigField::context, ConfigField::expert,
                                            ConfigField::pipeline};
  const auto takes = [&](ConfigField axis) { return configuration.word(axis) == "-1"; };
  const auto taker = std::ranges::find_if(axes, takes);
  if (taker == axes.end()) return;
  if (const auto second = std::find_if(taker + 1, axes.end(), takes); second != axes.end()) {
    configuration.fail({*second}, "only one axis can take all remaining devices", "set the degree of the other axes");
  }
  // By default, the shards take all remaining devices.
  const auto shards = configuration.number(ConfigField::data_shard, -1, most_configured_gpus);
  if (shards.value_or(-1) < 0) {
    configuration.fail({*taker}, "only one axis can take all remaining devices, and the shards take them",
                       "set the degree of the shards, for example ici_fsdp_parallelism: 1");
  }
  std::int64_t others = 1;
  const auto multiply = [&](std::int64_t degree) {
    others *= std::clamp<std::int64_t>(degree, 1, most_configured_gpus / others);
  };
  multiply(configured_degree(configuration, ConfigField::data_replicate));
  multiply(*shards);
  for (const ConfigField axis : axes) multiply(configured_degree(configuration, axis));
  if (gpus == 0) {
    configuration.fail({*taker}, "the degree that takes all remaining devices needs the number of devices",
                       "use for example --gpus 64");
  }
  if (gpus % others != 0) {
    configuration.fail({*taker}, fmt::format("the other degrees of the file, {}, do not divide {} devices", others, gpus),
                       "the number of devices must be a multiple of the product of the degrees; set it with --gpus");
  }
  configuration.set(*taker, {.value = fmt::format("{}", gpus / others), .from = configuration.find(*taker)->from});
}

std::int64_t expert_degree(const Configuration& read) {
  const std::int64_t expert = configured_degree(read, ConfigField::expert);
  if (!deals_experts(read)) return expert;
  const std::int64_t tensor = configured_degree(read, ConfigField::tensor);
  if (expert % tensor != 0) {
    read.fail({ConfigField::expert_tensor, ConfigField::expert},
              fmt::format("whole experts on {} ranks do not match a tensor degree of {}", expert, tensor),
              "the expert degree must be a multiple of the tensor degree, or experts must be sharded as well");
  }
  return expert / tensor;
}

}  // namespace ddl
