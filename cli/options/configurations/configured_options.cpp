#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/software_file.hpp"
#include "cli/options/configurations/adapted_layers.hpp"
#include "cli/options/configurations/configured_choices.hpp"
#include "cli/options/configurations/configured_parts.hpp"
#include "core/find.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

constexpr std::int64_t most_adapter_rank = 65'536, most_tokens = 100'000'000;
constexpr double most_capacity_factor = 1000;

/// A device name and a number of GPUs, as in `a100:8`, `gpu:a100:8` or `8`.
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

/// Returns the names of the axes with a degree above one, as --placement takes them.
std::string placement_in_order(std::initializer_list<std::pair<const char*, std::int64_t>> axes) {
  std::string text;
  for (const auto& [name, degree] : axes) {
    if (degree > 1) text += fmt::format("{}{}", text.empty() ? "" : ",", name);
  }
  return text;
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
    read_.refuse(is_given_, all_.study.model);
    choose_model();
    choose_software();
    choose_devices();
    give_rest(read_, gpus_);
    choose_degrees();
    choose_batch();
    choose_choices(all_, read_, {.gpus = gpus_, .replicas = replicas_, .shards = shards_});
    return std::move(all_);
  }

 private:
  void say(const char* option) { all_.said.emplace_back(option); }

  [[nodiscard]] std::int64_t degree(ConfigField axis) const { return configured_degree(read_, axis); }

  /// Throws Error if the program of a script trains a model of another family than --model names.
  void refuse_other_family() {
    const std::string family = read_.word(ConfigField::family);
    if (family.empty() || !is_given_("--model")) return;
    const std::string own = load_model(all_.study.model).family;
    if (own.empty() || own == family) return;
    read_.fail({ConfigField::family},
               fmt::format("the program trains a model of the family {}, and {} of --model is of the family {}",
                           quote(family), quote(all_.study.model), quote(own)),
               "name a model of this family, or leave the file out: recommend --model NAME --gpus N");
  }

  void choose_model() {
    refuse_other_family();
    if (!is_given_("--model")) {
      all_.study.model = model_of(read_);
      if (std::string warning = warning_of_vocabulary(read_); !warning.empty()) all_.warnings.push_back(std::move(warning));
      const bool has_sizes = !read_.says(ConfigField::model);
      if (has_sizes && !read_.says(ConfigField::sequence) && !is_given_("--seq")) {
        throw Error(fmt::format("{} does not set the length of sequences", quote(read_.file)),
                    read_.hint_with_skipped("use for example --seq 4096"));
      }
      say("--model");
    }
    choose_adapter();
    choose_base();
    if (!is_given_("--seq")) {
      auto tokens = read_.number(ConfigField::sequence, 1, most_tokens);
      if (tokens) *tokens += read_.number(ConfigField::added_tokens, 0, most_tokens).value_or(0);
      const bool names_tokens = all_.study.model.find("@tokens=") != std::string::npos;
      if (!tokens && !names_tokens && read_.writes(ConfigField::added_tokens))
        read_.fail({ConfigField::added_tokens}, "the length of the answer is not set", "use for example --seq 4096");
      if (tokens && !names_tokens) {
        // The sequence length is only set if it differs from the model's default.
        if (!has_own_length(all_.study.model, *tokens)) all_.study.sequence = tokens;
        say("--seq");
      }
    }
    if (!is_given_("--precision")) {
      const std::string precision = configured_precision(read_);
      if (!precision.empty()) {
        all_.study.precision = precision;
        say("--precision");
      }
    }
    if (!is_given_("--optimizer") && !configured_optimizer(read_).empty()) {
      all_.study.optimizer = configured_optimizer(read_);
      say("--optimizer");
    }
  }

  /// Adds the adapters of the file to the model's name, even if --model gives the model.
  void choose_adapter() {
    if (has_adapters() || read_.word(ConfigField::adapter) == "none") return;
    const auto rank = read_.number(ConfigField::adapter_rank, 0, most_adapter_rank);
    if (rank && *rank == 0) return;
    if (rank) {
      all_.study.model += fmt::format("@lora={}{}", *rank, adapter_parts(read_, all_.study.model, all_.warnings));
    } else if (read_.word(ConfigField::adapter) == "lora") {
      read_.fail({ConfigField::adapter}, "the rank of the adapters is not set", "use --model NAME@lora=16");
    }
  }

  /// Sets the format of frozen weights. Most tools that train adapters load the model in half precision, or quantized, and
  /// keep only the adapters in fp32.
  void choose_base() {
    const std::string checkpoint = is_given_("--model") ? all_.study.model : read_.word(ConfigField::model);
    all_.study.model = with_configured_parts(read_, all_.study.model, all_.warnings);
    if (is_given_("--base")) return;
    const auto base = configured_base(read_, all_.study.model, checkpoint, all_.warnings);
    if (base) all_.study.settings.set("base", {static_cast<double>(*base), SettingOrigin::job, {}});
  }
  [[nodiscard]] bool has_adapters() const { return all_.study.model.find("@lora=") != std::string::npos; }

  void choose_software() {
    if (is_given_("--software") || all_.study.ideal) return;
    std::string software(read_.format->software);
    const std::string kind = read_.word(ConfigField::distributed_type);
    if (kind == "deepspeed") software = "deepspeed";
    if (kind == "megatron") software = "megatron";
    if (kind == "ddp" || kind == "none") software = "pytorch";
    if (read_.format->is_trainer && kind != "deepspeed" && read_.says(PlanChoice::zero)) software = "fsdp";
    if (read_.format->is_trainer && software == "fsdp") choose_trainer_of_shards(read_, all_.study);
    if (software == "megatron" && read_.word(ConfigField::overlap) == "yes") software = "megatron-core";
    // Without compilation, torchtitan behaves like plain FSDP.
    if (software == "torchtitan" && read_.word(ConfigField::compiled) != "yes") {
      software = "fsdp";
      const auto products = static_cast<double>(SelectiveRecompute::products);
      all_.study.settings.set("selective_recompute", {products, SettingOrigin::job, {}});
      all_.study.settings.set("gradient_sums", {static_cast<double>(GradientSums::full), SettingOrigin::job, {}});
    }
    if (software == "pytorch" && read_.word(ConfigField::compiled) == "yes") software = "pytorch-compiled";
    if (software == "deepspeed" && read_.word(ConfigField::overlap) == "no")
      all_.study.settings.set("overlap", {0, SettingOrigin::job, {}});
    const bool is_full = read_.word(ConfigField::loaded) == "full" && all_.study.settings.find("base") == nullptr;
    const bool is_autocast =
        (!has_adapters() || is_full) && (kind == "ddp" || read_.format->is_trainer) && software.starts_with("pytorch");
    // Weights that are loaded in half precision are trained in it, unless ZeRO has master copies.
    const bool is_pure = !has_adapters() && read_.word(ConfigField::loaded) == "half" && software.starts_with("pytorch") &&
                         !read_.says(PlanChoice::zero);
    if ((is_autocast || is_pure) && !is_given_("--mixed-precision") &&
        (all_.study.precision == "bf16" || all_.study.precision == "fp16")) {
      const MixedPrecision mixed = is_pure ? MixedPrecision::pure : MixedPrecision::autocast;
      all_.study.settings.set("mixed_precision", {static_cast<double>(mixed), SettingOrigin::job, {}});
      say("--mixed-precision");
    }
    all_.study.software = software;
    choose_state();
    choose_routing();
    say("--software");
  }

  /// Sets the precisions of gradients, master copies and moments, and the kernels of attention and cross entropy.
  void choose_state() {
    const auto set = [&](const char* option, const char* key, const auto& value) {
      const bool is_set = option != nullptr ? is_given_(option) : says_setting(all_.study, key);
      if (value && !is_set) all_.study.settings.set(key, {static_cast<double>(*value), SettingOrigin::job, {}});
    };
    if (read_.word(ConfigField::main_gradients) == "half")
      set("--mixed-precision", "mixed_precision", std::optional(MixedPrecision::half_gradients));
    if (read_.word(ConfigField::pure) == "yes")
      set("--mixed-precision", "mixed_precision", std::optional(MixedPrecision::pure));
    const auto state = [&](ConfigField field) { return enum_named(state_precision_names, read_.word(field)); };
    set("--master-weights", "master_weights", state(ConfigField::master_weights));
    set("--moments", "moments", state(ConfigField::moments));
    choose_allocator(read_, all_.study);
    choose_updates(read_, all_.study, all_.warnings);
    set(nullptr, "cross_entropy", enum_named(cross_entropy_names, read_.word(ConfigField::loss)));
    set(nullptr, "attention", enum_named(attention_kernel_names, read_.word(ConfigField::attention)));
  }

  /// Sets how evenly tokens are spread over experts.
  void choose_routing() {
    const auto set = [&](const char* key, double value) { all_.study.settings.set(key, {value, SettingOrigin::job, {}}); };
    const bool is_said = is_given_("--routing") || is_given_("--expert-imbalance");
    auto routing = enum_named(routing_names, read_.word(ConfigField::routing));
    if (read_.word(ConfigField::routing_bias) == "yes") routing = Routing::loss_free;
    if (read_.word(ConfigField::routing_forced) == "yes") routing = Routing::balanced;
    if (routing && !is_said) set("routing", static_cast<double>(*routing));
    // Tools write 0, a negative number or nothing if no token is dropped.
    const std::string capacity = read_.word(ConfigField::capacity_factor);
    char* end = nullptr;
    const double factor = std::strtod(capacity.c_str(), &end);
    const bool is_number = end == capacity.c_str() + capacity.size() && !capacity.empty();
    if (!is_number || !(factor > 0) || is_given_("--capacity-factor")) return;
    set("capacity_factor", std::clamp(factor, 1.0, most_capacity_factor));
    if (read_.word(ConfigField::padded_experts) == "yes") set("padded_experts", 1);
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
    // If the number of processes depends on unknown values, nodes × GPUs per node is used instead.
    const Fact* processes = read_.find(ConfigField::gpus);
    const bool is_computed = processes != nullptr && processes->from && !processes->from->is_known && nodes && each;
    if (const auto all = is_computed ? std::nullopt : read_.number(ConfigField::gpus, 1, most_configured_gpus)) {
      gpus_ = *all;
      // A launcher that starts a launcher on each node gives it the number of processes of one node.
      if (nodes && each == gpus_ && read_.is_from(ConfigField::nodes, "launch:")) gpus_ *= *nodes;
      if (nodes && each && read_.writes(ConfigField::nodes) && *nodes * *each != gpus_) {
        read_.fail({ConfigField::gpus}, fmt::format("{} GPUs contradict {} nodes with {} GPUs each", gpus_, *nodes, *each),
                   "leave one of them out");
      }
    } else if (each) {
      gpus_ = nodes.value_or(1) * *each;
      // NeMo's users often give the nodes on the command line.
      if (!nodes && read_.format == &nemo_yaml)
        all_.warnings.push_back(fmt::format(
            "{} does not set the number of nodes: one node is assumed; --gpus sets the number of GPUs", quote(read_.file)));
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
      return;  // a device name that only this cluster uses
    }
    all_.study.machine = device;
    say("--machine");
  }

  /// Returns the number of GPUs that the degrees and the batch imply. `of_a_model`: GPUs of one replica of the model.
  std::int64_t gpus_by_the_rest(std::int64_t of_a_model) {
    if (const auto replicas = read_.number(ConfigField::replicas, 1, most_configured_gpus))
      return of_a_model * *replicas * degree(ConfigField::expert);
    const auto shard = read_.number(ConfigField::data_shard, -1, most_configured_gpus);
    if (read_.writes(ConfigField::data_shard) && shard && *shard > 0 && !takes_rest())
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
                 "set smaller degrees");
    }
    if (gpus_ == 0) {
      gpus_ = gpus_by_the_rest(of_a_model);
      if (gpus_ > most_configured_gpus) gpus_ = 0;
      if (gpus_ > 0) say("--gpus");
    }
    if (gpus_ == 0) {
      throw Error(fmt::format("{} does not set the number of GPUs", quote(read_.file)),
                  read_.hint_with_skipped("use for example --gpus 64"));
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
                 "the number of GPUs must be a multiple of the product of the degrees; set it with --gpus");
    }
    replicas_ = gpus_ / of_a_model;
    check_shards();
    const std::int64_t expert = expert_degree(read_);
    if (replicas_ % expert != 0) {
      // Megatron Core also distributes experts over the ranks that share a sample.
      const bool spans = runs_megatron_core(*read_.format) && replicas_ * context % expert == 0;
      const std::string message = fmt::format("expert {} does not divide {} replicas of the model", expert, replicas_);
      read_.fail(
          {ConfigField::expert},
          spans ? fmt::format("{}; experts on several context ranks of a replica are not predicted", message) : message,
          spans ? "set model and plan by options: recommend MODEL --gpus N"
                : "the number of replicas must be a multiple of the expert degree");
    }
    std::string degrees;
    const auto add = [&](const char* name, std::int64_t value) {
      if (value <= 1) return;
      degrees += fmt::format("{}{}={}", degrees.empty() ? "" : ",", name, value);
    };
    add("data", replicas_ / expert);
    add("expert", expert);
    add("context", context);
    add("pipeline", pipeline);
    add("tensor", tensor);
    all_.own.gpus = all_.sought.gpus = gpus_;
    all_.own.strategy.clear();  // --strategy is about the searched plans
    all_.own.degrees = degrees.empty() ? "data=1" : degrees;
    // Megatron Core forms the groups of experts without regard to context parallelism, so experts are on neighboring devices
    // [megatron/core/parallel_state.py, `initialize_model_parallel`, expert_decoder_rank_generator].
    if (runs_megatron_core(*read_.format) && expert > 1 && context > 1 && all_.own.placement.empty())
      all_.own.placement = placement_in_order({{"tensor", tensor},
                                               {"expert", expert},
                                               {"context", context},
                                               {"data", replicas_ / expert},
                                               {"pipeline", pipeline}});
  }

  /// Whether the copies of the shards take the devices that the other axes leave.
  [[nodiscard]] bool takes_rest() const { return read_.word(ConfigField::data_replicate) == "-1"; }

  void check_shards() {
    std::int64_t copies = degree(ConfigField::data_replicate);
    const auto shard = read_.number(ConfigField::data_shard, -1, most_configured_gpus);
    if (takes_rest() && shard && *shard > 0 && replicas_ % *shard == 0) copies = replicas_ / *shard;
    if (replicas_ % copies != 0) {
      read_.fail({ConfigField::data_replicate},
                 fmt::format("{} shard replicas do not divide {} replicas of the model", copies, replicas_),
                 "the GPUs are the product of shard replicas, shards and the other degrees");
    }
    if (!shard) {
      shards_ = 0;
      return;
    }
    if (*shard == 0) read_.fail({ConfigField::data_shard}, "0 shards", "use 1 for none, -1 for all remaining ranks");
    shards_ = *shard < 0 ? replicas_ / copies : *shard;
    // torchtitan and accelerate also shard weights among context ranks, but the number of shards in
    // a file counts only data ranks.
    if (shards_ * copies != replicas_) {
      read_.fail({ConfigField::data_shard, ConfigField::data_replicate},
                 fmt::format("{} shards × {} {} are not the {} replicas that the other degrees leave of {} GPUs", shards_,
                             copies, copies == 1 ? "copy" : "copies", replicas_, gpus_),
                 "the product of all degrees must be the number of GPUs; set it with --gpus");
    }
  }

  /// Returns the samples that a replica processes at once; empty if the file does not give them.
  [[nodiscard]] std::optional<std::int64_t> samples_at_once() const {
    if (read_.writes(ConfigField::micro_batch) || !read_.says(ConfigField::device_batch))
      return read_.number(ConfigField::micro_batch, 1, most_configured);
    const std::string text = read_.word(ConfigField::device_batch);
    char* end = nullptr;
    const std::int64_t gpus_of_replica = gpus_ / replicas_;
    const double samples = std::strtod(text.c_str(), &end) * static_cast<double>(gpus_of_replica);
    const bool is_number =
        end == text.c_str() + text.size() && samples >= 1 && samples < static_cast<double>(most_configured);
    if (!is_number || samples != std::floor(samples)) {
      read_.fail({ConfigField::device_batch},
                 fmt::format("{} samples per device on {} devices of a replica are not a whole number of samples",
                             quote(text), gpus_ / replicas_),
                 "the samples of a replica are the samples per device times its devices");
    }
    return static_cast<std::int64_t>(samples);
  }

  /// Throws Error for a number of accumulation steps that contradicts the batch. Only warns if an option gives the batch.
  void refuse_steps(std::int64_t steps, std::int64_t global, std::int64_t samples) {
    const std::string is = fmt::format("a batch of {}, which is {} steps of {} samples on {} replicas", global,
                                       *all_.own.micro_batches, samples, replicas_);
    if (!is_given_("--global-batch") && !is_given_("--batch-per-gpu")) {
      read_.fail({ConfigField::accumulation}, fmt::format("{} accumulation steps contradict {}", steps, is),
                 "leave one of them out, or set the batch with --global-batch");
    }
    all_.warnings.push_back(fmt::format("the {} accumulation steps of {} do not apply to {}", steps, read_.file, is));
  }

  void choose_batch() {
    const auto micro = samples_at_once();
    auto steps = read_.number(ConfigField::accumulation, 1, most_configured);
    if (!steps) steps = read_.number(ConfigField::micro_batches, 1, most_configured);
    std::optional<std::int64_t> global;
    if (all_.own.global_batch) {
      global = all_.own.global_batch;
    } else if (all_.own.batch_per_gpu) {
      global = *all_.own.batch_per_gpu * gpus_;
    } else {
      const auto said = read_.number(ConfigField::global_batch, -1, most_configured);
      if (said && *said > 0) global = *said * read_.number(ConfigField::samples_each, 1, 1 << 20).value_or(1);
      if (global && *global > most_configured)
        read_.fail({ConfigField::global_batch}, "the batch is too large to be counted", "use fewer samples");
      if (!global && micro) {
        std::int64_t all = 0;
        if (__builtin_mul_overflow(*micro * steps.value_or(1), replicas_, &all) || all > most_configured)
          read_.fail({ConfigField::micro_batch}, "the batch is too large to be counted", "use fewer samples");
        global = all;
      }
      if (global) say("--global-batch");
    }
    if (!global) refuse_unknown_batch(read_);
    if (!global && steps && !all_.own.micro_batches) {
      // Without a batch in the file, each accumulation step gets one sample per replica. The
      // default batch might not match the number of steps.
      std::int64_t all = 0;
      if (__builtin_mul_overflow(*steps, replicas_, &all) || all > most_configured)
        read_.fail({ConfigField::accumulation}, "the batch is too large to be counted", "use fewer steps");
      global = all;
    }
    if (!global) return;
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
                     "the samples per rank must be a multiple of the samples per micro-batch");
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
      if (steps && pipeline == 1 && *steps != *all_.own.micro_batches) refuse_steps(*steps, *global, samples);
    } else if (steps) {
      all_.own.micro_batches = steps;
    }
  }

  Configuration read_;
  const IsGiven& is_given_;
  ConfiguredOptions all_;
  std::int64_t gpus_ = 0, replicas_ = 1, shards_ = 0;
};

}  // namespace

void remove_said(std::vector<Default>& defaults, const std::vector<std::string>& said) {
  std::erase_if(defaults, [&](const Default& each) { return contains(said, each.option); });
}

ConfiguredOptions options_of(const Configuration& configuration, const StudyOptions& study, const PlanOptions& plan,
                             const IsGiven& is_given) {
  return Options(configuration, study, plan, is_given).make();
}

}  // namespace ddl
