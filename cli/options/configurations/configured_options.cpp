#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/inputs/software_file.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/configurations/formats.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

constexpr std::int64_t most_adapter_rank = 65'536;
constexpr std::int64_t most_configured_gpus = std::int64_t{1} << 20U;

/// `a100:8` or `gpu:a100:8` or `8`.
struct GpusPerNode {
  std::string device;
  std::string count;
};
GpusPerNode gpus_per_node_in(std::string text) {
  if (text.starts_with("gpu:")) text.erase(0, 4);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {.device = "", .count = text};
  return {.device = text.substr(0, colon), .count = text.substr(colon + 1)};
}

class Options {
 public:
  Options(const Configuration& configuration, const StudyOptions& study, const PlanOptions& plan, const IsGiven& is_given)
      : read_(configuration), is_given_(is_given) {
    all_.study = study;
    all_.own = plan;
    all_.sought = plan;
  }

  ConfiguredOptions make() {
    choose_model();
    choose_software();
    choose_devices();
    choose_degrees();
    choose_batch();
    choose_rest();
    return std::move(all_);
  }

 private:
  void say(const char* option) { all_.said.emplace_back(option); }

  [[nodiscard]] std::int64_t degree(ConfigField field) const {
    return read_.number(field, 1, most_configured_gpus).value_or(1);
  }

  void choose_model() {
    if (!is_given_("--model")) {
      all_.study.model = model_of(read_);
      if (const auto rank = read_.number(ConfigField::adapter_rank, 1, most_adapter_rank))
        all_.study.model += fmt::format("@lora={}", *rank);
      say("--model");
    }
    if (!is_given_("--seq")) {
      const auto tokens = read_.number(ConfigField::sequence, 1, 100'000'000);
      const bool names_tokens = all_.study.model.find("@tokens=") != std::string::npos;
      if (tokens && !names_tokens) {
        // The model's own length is no change of it.
        if (!has_own_length(*tokens)) all_.study.sequence = tokens;
        say("--seq");
      }
    }
    if (!is_given_("--precision")) {
      std::string precision = read_.word(ConfigField::precision);
      if (read_.word(ConfigField::fp8) == "yes") precision = "fp8";
      if (read_.word(ConfigField::fp4) == "yes") precision = "nvfp4";
      if (precision.empty() && read_.format == &deepspeed_json) precision = "fp32";
      if (!precision.empty()) {
        all_.study.precision = precision;
        say("--precision");
      }
    }
    if (!is_given_("--optimizer") && read_.says(ConfigField::optimizer)) {
      all_.study.optimizer = read_.word(ConfigField::optimizer);
      say("--optimizer");
    }
  }

  [[nodiscard]] bool has_own_length(std::int64_t tokens) const {
    const std::size_t changes = all_.study.model.find('@');
    if (changes != std::string::npos && all_.study.model.find("@lora=") != changes) return false;
    return load_model(all_.study.model).sequence_length == tokens;
  }

  void choose_software() {
    if (is_given_("--software") || all_.study.ideal) return;
    std::string software(read_.format->software);
    const std::string kind = read_.word(ConfigField::distributed_type);
    if (kind == "deepspeed") software = "deepspeed";
    if (kind == "megatron") software = "megatron";
    if (kind == "ddp" || kind == "none") software = "pytorch";
    if (read_.format == &transformers_arguments && read_.says(ConfigField::zero)) software = "fsdp";
    if (software == "megatron" && read_.word(ConfigField::overlap) == "yes") software = "megatron-core";
    // What torchtitan does without compiling is FSDP alone.
    if (software == "torchtitan" && read_.word(ConfigField::compiled) != "yes") software = "fsdp";
    if (software == "pytorch" && read_.word(ConfigField::compiled) == "yes") software = "pytorch-compiled";
    if (software == "deepspeed" && read_.word(ConfigField::overlap) == "no")
      all_.study.settings.set("overlap", {0, SettingOrigin::job, {}});
    const bool is_autocast = (kind == "ddp" || read_.format == &transformers_arguments) && software.starts_with("pytorch");
    if (is_autocast && !is_given_("--mixed-precision") &&
        (all_.study.precision == "bf16" || all_.study.precision == "fp16")) {
      all_.study.settings.set("mixed_precision", {static_cast<double>(MixedPrecision::autocast), SettingOrigin::job, {}});
      say("--mixed-precision");
    }
    all_.study.software = software;
    say("--software");
  }

  void choose_devices() {
    const bool is_asked = all_.own.gpus.has_value();
    const auto nodes = is_asked ? std::nullopt : read_.number(ConfigField::nodes, 1, most_configured_gpus);
    std::optional<std::int64_t> each;
    if (const Fact* fact = read_.find(ConfigField::gpus_per_node)) {
      if (is_asked && fact->from && !fact->from->is_known) {
        gpus_ = *all_.own.gpus;
        return;
      }
      const GpusPerNode said = gpus_per_node_in(read_.word(ConfigField::gpus_per_node));
      Configuration one = read_;
      one.set(ConfigField::gpus_per_node, {.value = said.count, .from = fact->from});
      if (!is_asked) each = one.number(ConfigField::gpus_per_node, 1, most_configured_gpus);
      if (!said.device.empty() && !is_given_("--machine")) use_device(said.device);
    }
    if (all_.own.gpus) {
      gpus_ = *all_.own.gpus;
      return;
    }
    if (const auto all = read_.number(ConfigField::gpus, 1, most_configured_gpus)) {
      gpus_ = *all;
      if (nodes && each && read_.writes(ConfigField::nodes) && *nodes * *each != gpus_) {
        read_.fail({ConfigField::gpus}, fmt::format("{} GPUs contradict {} nodes of {}", gpus_, *nodes, *each),
                   "leave one of them out");
      }
    } else if (each) {
      gpus_ = nodes.value_or(1) * *each;
    } else if (nodes) {
      gpus_ = 0;
    }
    if (gpus_ > most_configured_gpus)
      read_.fail({ConfigField::nodes}, fmt::format("{} GPUs exceed the maximum of {}", gpus_, most_configured_gpus),
                 "use fewer");
    if (gpus_ > 0) say("--gpus");
  }

  void use_device(const std::string& device) {
    try {
      static_cast<void>(load_machine(device));
    } catch (const Error&) {
      return;  // a cluster's own word for its GPUs
    }
    all_.study.machine = device;
    say("--machine");
  }

  /// The GPUs, where degrees and batch say them.
  std::int64_t gpus_by_the_rest(std::int64_t of_a_model) {
    const auto shard = read_.number(ConfigField::data_shard, -1, most_configured_gpus);
    if (read_.writes(ConfigField::data_shard) && shard && *shard > 0)
      return of_a_model * *shard * degree(ConfigField::data_replicate);
    const auto global = read_.number(ConfigField::global_batch, -1, most_configured);
    const auto micro = read_.number(ConfigField::micro_batch, 1, most_configured);
    const auto steps = read_.number(ConfigField::accumulation, 1, most_configured);
    if (global && micro && steps && *global > 0 && read_.writes(ConfigField::micro_batch)) {
      if (*global % (*micro * *steps) != 0) {
        read_.fail({ConfigField::global_batch},
                   fmt::format("a batch of {} is not a multiple of {} samples times {} accumulation steps", *global, *micro,
                               *steps),
                   "the batch is samples per GPU × steps × GPUs");
      }
      return of_a_model * (*global / (*micro * *steps));
    }
    return 0;
  }

  void choose_degrees() {
    const std::int64_t tensor = degree(ConfigField::tensor), pipeline = degree(ConfigField::pipeline),
                       context = degree(ConfigField::context);
    std::int64_t of_a_model = 0;
    if (__builtin_mul_overflow(tensor * pipeline, context, &of_a_model) || of_a_model > most_configured_gpus) {
      read_.fail({ConfigField::tensor, ConfigField::pipeline, ConfigField::context},
                 fmt::format("tensor {} × pipeline {} × context {} exceed {} GPUs", tensor, pipeline, context,
                             most_configured_gpus),
                 "give smaller degrees");
    }
    if (gpus_ == 0) {
      gpus_ = gpus_by_the_rest(of_a_model);
      if (gpus_ > most_configured_gpus) gpus_ = 0;
      if (gpus_ > 0) say("--gpus");
    }
    if (gpus_ == 0) {
      throw Error(fmt::format("{} does not give the number of GPUs", quote(read_.file)), "write for example --gpus 64");
    }
    if (gpus_ % of_a_model != 0) {
      std::string said;
      int parts = 0;
      for (const auto& [name, value] : {std::pair{"tensor", tensor}, {"pipeline", pipeline}, {"context", context}}) {
        if (value > 1) ++parts;
        if (value > 1) said += fmt::format("{}{} {}", said.empty() ? "" : " × ", name, value);
      }
      read_.fail({ConfigField::tensor, ConfigField::pipeline, ConfigField::context},
                 fmt::format("{}{} does not divide {} GPUs", said, parts > 1 ? fmt::format(" = {}", of_a_model) : "", gpus_),
                 "the product of the degrees must divide the number of GPUs; set it with --gpus");
    }
    replicas_ = gpus_ / of_a_model;
    check_shards();
    const std::int64_t expert = expert_degree(tensor);
    if (replicas_ % expert != 0) {
      read_.fail({ConfigField::expert}, fmt::format("expert {} does not divide {} replicas of the model", expert, replicas_),
                 "the expert degree must divide the replicas");
    }
    std::string degrees, strategy;
    const auto add = [&](const char* name, std::int64_t value) {
      if (value <= 1) return;
      degrees += fmt::format("{}{}={}", degrees.empty() ? "" : ",", name, value);
      strategy += fmt::format("{}{}", strategy.empty() ? "" : "+", name);
    };
    add("data", replicas_ / expert);
    add("expert", expert);
    add("context", context);
    add("pipeline", pipeline);
    add("tensor", tensor);
    all_.own.gpus = all_.sought.gpus = gpus_;
    all_.own.strategy = strategy.empty() ? "serial" : strategy;
    all_.own.degrees = degrees;
  }

  /// The ranks among which experts are divided, in addition to those of tensor. Where a tensor split leaves experts whole,
  /// tools count its ranks among those of expert.
  [[nodiscard]] std::int64_t expert_degree(std::int64_t tensor) const {
    const std::int64_t expert = degree(ConfigField::expert);
    if (!deals_experts(tensor)) return expert;
    if (expert % tensor != 0) {
      read_.fail({ConfigField::expert_tensor, ConfigField::expert},
                 fmt::format("unsplit experts on {} ranks do not match a tensor degree of {}", expert, tensor),
                 "the tensor degree must divide the expert degree, or experts must be split as well");
    }
    return expert / tensor;
  }
  [[nodiscard]] bool deals_experts(std::int64_t tensor) const {
    const auto own = read_.number(ConfigField::expert_tensor, 1, most_configured_gpus);
    if (!own || tensor == 1 || *own == tensor) return false;
    if (*own > 1) {
      read_.fail({ConfigField::expert_tensor},
                 fmt::format("an expert-tensor-parallel size of {} does not match a tensor degree of {}", *own, tensor),
                 "the expert-tensor-parallel size must be 1 or the tensor degree");
    }
    return degree(ConfigField::expert) > 1;
  }

  void check_shards() {
    const std::int64_t copies = degree(ConfigField::data_replicate);
    const auto shard = read_.number(ConfigField::data_shard, -1, most_configured_gpus);
    if (replicas_ % copies != 0) {
      read_.fail({ConfigField::data_replicate},
                 fmt::format("{} shard replicas do not divide {} replicas of the model", copies, replicas_),
                 "the GPUs are the product of shard replicas, shards and the other degrees");
    }
    if (!shard) {
      shards_ = 0;
      return;
    }
    if (*shard == 0) read_.fail({ConfigField::data_shard}, "0 shards", "write 1 for none, -1 for all remaining ranks");
    shards_ = *shard < 0 ? replicas_ / copies : *shard;
    // Shards go along context, too, in torchtitan and accelerate; then the degree is that of data alone.
    if (shards_ * copies != replicas_) {
      read_.fail({ConfigField::data_shard, ConfigField::data_replicate},
                 fmt::format("{} shards × {} {} are not the {} replicas that the other degrees leave of {} GPUs", shards_,
                             copies, copies == 1 ? "copy" : "copies", replicas_, gpus_),
                 "the product of all degrees must be the number of GPUs; set it with --gpus");
    }
  }

  void choose_batch() {
    const auto micro = read_.number(ConfigField::micro_batch, 1, most_configured);
    auto steps = read_.number(ConfigField::accumulation, 1, most_configured);
    if (!steps) steps = read_.number(ConfigField::micro_batches, 1, most_configured);
    std::optional<std::int64_t> global;
    if (all_.own.global_batch) {
      global = all_.own.global_batch;
    } else if (all_.own.batch_per_gpu) {
      global = *all_.own.batch_per_gpu * gpus_;
    } else {
      const auto said = read_.number(ConfigField::global_batch, -1, most_configured);
      if (said && *said > 0) global = said;
      if (!global && micro) {
        std::int64_t all = 0;
        if (__builtin_mul_overflow(*micro * steps.value_or(1), replicas_, &all) || all > most_configured)
          read_.fail({ConfigField::micro_batch}, "the batch is too large to be counted", "give fewer samples");
        global = all;
      }
      if (global) say("--global-batch");
    }
    if (!global) {
      if (steps && !all_.own.micro_batches) all_.own.micro_batches = steps;
      return;
    }
    all_.own.batch_per_gpu.reset();
    all_.sought.batch_per_gpu.reset();
    all_.own.global_batch = all_.sought.global_batch = global;
    if (all_.own.micro_batches) return;
    if (micro) {
      const std::int64_t pipeline = degree(ConfigField::pipeline);
      std::int64_t samples = *micro;
      if (const auto cut = read_.number(ConfigField::pipeline_batch, 1, most_configured); cut && pipeline > 1) {
        if (samples % *cut != 0) {
          read_.fail({ConfigField::pipeline_batch, ConfigField::micro_batch},
                     fmt::format("micro-batches of {} do not divide {} samples per rank", *cut, samples),
                     "the samples per rank must be a multiple of those of a micro-batch");
        }
        samples = *cut;
      }
      const std::int64_t at_once = samples * replicas_;
      if (*global % at_once != 0) {
        read_.fail({ConfigField::global_batch, ConfigField::micro_batch},
                   fmt::format("a batch of {} is not a multiple of {} samples on {} replicas", *global, samples, replicas_),
                   "the batch is samples per micro-batch × micro-batches × replicas");
      }
      all_.own.micro_batches = *global / at_once;
      if (steps && pipeline == 1 && *steps != *all_.own.micro_batches && !is_given_("--global-batch") &&
          !is_given_("--gpus")) {
        read_.fail(
            {ConfigField::accumulation},
            fmt::format("{} accumulation steps contradict a batch of {}, which is {} steps of {} samples on {} replicas",
                        *steps, *global, *all_.own.micro_batches, samples, replicas_),
            "leave one of them out");
      }
    } else if (steps) {
      all_.own.micro_batches = steps;
    }
  }

  /// Writes a choice of the own plan, unless an option says it.
  void choose(PlanChoice choice, const std::string& value) {
    const auto at = static_cast<std::size_t>(choice);
    const PlanChoiceRow& row = row_of(choice);
    if (value.empty() || all_.own.numbers[at] || !all_.own.names[at].empty()) return;
    Plan plan;
    parse_degrees(all_.own.degrees.empty() ? "data=1" : all_.own.degrees, plan);
    if (!row.matters(plan.mesh)) return;
    if (row.first_number) {
      all_.own.numbers[at] = std::stoll(value);
    } else {
      all_.own.names[at] = value;
    }
  }

  [[nodiscard]] std::int64_t layers() const {
    if (const auto said = read_.number(ConfigField::layers, 1, most_configured)) return *said;
    return blocks_of(load_model(all_.study.model, all_.study.sequence));
  }

  /// Of blocks that are recomputed in groups (`uniform`), each is taken to be a group of its own.
  void choose_recompute() {
    const std::string recompute = read_.word(ConfigField::recompute);
    if (recompute == "selective") choose_modules();
    const auto blocks = read_.number(ConfigField::recompute_blocks, 0, most_configured);
    if (recompute != "full" || read_.word(ConfigField::recompute_method) != "block" || !blocks)
      return choose(PlanChoice::recompute, recompute);
    choose(PlanChoice::recompute, *blocks == 0 ? "none" : "full");
    choose(PlanChoice::recompute_blocks, fmt::format("{}", std::min<std::int64_t>(*blocks, most_recompute_blocks)));
  }

  /// Modules that an empty list names are none.
  void choose_modules() {
    std::string modules = read_.word(ConfigField::recompute_modules);
    std::replace(modules.begin(), modules.end(), ' ', '+');
    if (modules.empty()) return;
    if (!parse_recompute_modules(modules)) {
      read_.fail({ConfigField::recompute_modules},
                 fmt::format("{} are not all modules that can be recomputed", quote(modules)),
                 fmt::format("known: {}", fmt::join(recompute_module_names, ", ")));
    }
    choose(PlanChoice::recompute_modules, modules);
  }

  void choose_rest() {
    choose_zero();
    choose_recompute();
    const bool has_weights = read_.word(ConfigField::offload_weights) == "yes";
    choose(PlanChoice::offload, has_weights ? "weights" : read_.word(ConfigField::offload));
    choose(PlanChoice::offload_activations, read_.word(ConfigField::offload_activations));
    if (deals_experts(degree(ConfigField::tensor))) choose(PlanChoice::experts, "whole");
    choose(PlanChoice::sequence_parallel, read_.word(ConfigField::sequence_parallel));
    choose(PlanChoice::context_exchange, read_.word(ConfigField::context_exchange));
    const std::int64_t pipeline = degree(ConfigField::pipeline);
    if (pipeline == 1) return;
    choose(PlanChoice::schedule, read_.word(ConfigField::schedule));
    auto stretches = read_.number(ConfigField::virtual_stages, 1, most_virtual_stages);
    if (const auto each = read_.number(ConfigField::layers_per_virtual_stage, 1, most_configured)) {
      const std::int64_t all = layers();
      if (all % pipeline != 0 || (all / pipeline) % *each != 0) {
        read_.fail(
            {ConfigField::layers_per_virtual_stage},
            fmt::format("{} layers on {} stages do not divide into virtual stages of {} layers", all, pipeline, *each),
            "the layers per stage must be a multiple of those per virtual stage");
      }
      stretches = all / pipeline / *each;
      if (*stretches > most_virtual_stages) {
        read_.fail({ConfigField::layers_per_virtual_stage},
                   fmt::format("{} virtual stages per stage exceed the maximum of {}", *stretches, most_virtual_stages),
                   "use longer ones");
      }
    }
    if (stretches) choose(PlanChoice::virtual_stages, fmt::format("{}", *stretches));
  }

  void choose_zero() {
    std::string stage = read_.word(ConfigField::zero);
    if (read_.word(ConfigField::fsdp) == "yes")
      stage = read_.says(ConfigField::sharding) ? read_.word(ConfigField::sharding) : "3";
    if (stage.empty() && read_.word(ConfigField::distributed_type) == "fsdp") stage = "3";
    if (stage.empty() && shards_ > 1) stage = "3";
    if (!stage.empty()) {
      const Fact* fact = read_.find(ConfigField::zero);
      Configuration one = read_;
      one.set(ConfigField::zero, {.value = stage, .from = fact != nullptr ? fact->from : std::nullopt});
      static_cast<void>(one.number(ConfigField::zero, 0, 3));
    }
    // Weights that stay gathered after forward are those of ZeRO-2; a pipeline of torchtitan keeps them by default.
    const std::string reshards = read_.word(ConfigField::reshards);
    const bool keeps = reshards == "no" || ((reshards == "default" || reshards.empty()) &&
                                            read_.format == &torchtitan_toml && degree(ConfigField::pipeline) > 1);
    if (stage == "3" && keeps) stage = "2";
    if (shards_ == 1 && read_.says(ConfigField::data_shard)) stage = "0";
    if (replicas_ == 1) stage = "0";
    choose(PlanChoice::zero, stage);
    std::int64_t group = read_.number(ConfigField::shard_group, -1, most_shard_group).value_or(0);
    if (shards_ > 1 && shards_ < replicas_) group = shards_;
    if (read_.word(ConfigField::shards_nodes) == "yes") {
      const auto nodes = read_.number(ConfigField::nodes, 1, most_configured_gpus);
      if (nodes && *nodes > 1 && gpus_ % *nodes == 0)
        group = std::max<std::int64_t>(gpus_ / *nodes / (gpus_ / replicas_), 1);
    }
    if (group > 1 && group < replicas_ && group <= most_shard_group)
      choose(PlanChoice::shard_group, fmt::format("{}", group));
    // Other stages do not look at it.
    const auto second = read_.number(ConfigField::secondary_shards, 1, most_shard_group);
    if (second && *second > 1 && stage == "3" && group <= 1)
      choose(PlanChoice::secondary_shards, fmt::format("{}", *second));
  }

  const Configuration& read_;
  const IsGiven& is_given_;
  ConfiguredOptions all_;
  std::int64_t gpus_ = 0, replicas_ = 1, shards_ = 0;
};

}  // namespace

std::int64_t blocks_of(const Model& model) { return model.blocks; }

void remove_said(std::vector<Default>& defaults, const std::vector<std::string>& said) {
  std::erase_if(defaults,
                [&](const Default& each) { return std::find(said.begin(), said.end(), each.option) != said.end(); });
}

ConfiguredOptions options_of(const Configuration& configuration, const StudyOptions& study, const PlanOptions& plan,
                             const IsGiven& is_given) {
  return Options(configuration, study, plan, is_given).make();
}

}  // namespace ddl
