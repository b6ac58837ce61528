#include "cli/options/configurations/configured_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/configurations/adapted_layers.hpp"
#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/configured_choices.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/published_names.hpp"
#include "model_zoo/network/optimizer.hpp"

namespace ddl {
namespace {

/// Modules of Hugging Face's transformers, and the names of their layers here. A model has one of these layers. Sources:
/// transformers, modeling_llama.py, modeling_gpt2.py, modeling_gpt_neox.py, modeling_bloom.py, modeling_bert.py and
/// modeling_t5.py.
constexpr auto embedding_modules = "embed_tokens wte embed_in word_embeddings shared";
constexpr auto head_modules = "lm_head embed_out output_layer score classifier classification_head";
constexpr std::array<std::string_view, 2> embedding_layers{"embedding", "words"};
constexpr std::string_view head_layer = "head";

/// A field that freezes a part of the model, and the names of this part in the families of models.
struct FreezableParts {
  ConfigField field;
  std::array<std::string_view, 4> layers;
};
constexpr auto freezable = std::to_array<FreezableParts>(
    {{ConfigField::frozen_encoder, {"encoder", "encoded"}},
     {ConfigField::frozen_features, {"wave"}},
     {ConfigField::frozen_vision, {"vision"}},
     {ConfigField::frozen_projector, {"projector", "deep_projector1", "deep_projector2", "deep_projector3"}}});

/// Returns the first layer with parameters whose path contains `name`; null if there is none.
const Layer* layer_named(const Model& model, std::string_view name) {
  const auto is_named = [name](const Layer& layer) {
    return layer.parameters() > 0 && !name.empty() &&
           fmt::format(".{}.", layer.name).find(fmt::format(".{}.", name)) != std::string::npos;
  };
  return find_where(model.layers, is_named);
}

std::vector<std::string> trained_modules(const Configuration& read) {
  const std::string list = read.word(ConfigField::trained_modules);
  return says_nothing(list) ? std::vector<std::string>{} : modules_in(list);
}

bool has_adapters(std::string_view model) { return model.find("@lora=") != std::string_view::npos; }

/// Returns the value of a field that the file sets to a known value; else an empty text.
std::string set_value(const Configuration& read, ConfigField field) {
  const Fact* fact = read.find(field);
  const bool is_usable = fact != nullptr && fact->problem.empty() && (!fact->from || fact->from->is_known);
  return is_usable ? fact->value : std::string();
}

std::string place_of(const Configuration& read, ConfigField field) {
  const Fact* fact = read.find(field);
  return fact != nullptr && fact->from ? line_text(fact->from->place()) : read.file;
}

/// Returns the parameter for the attention kernels that the file asks for, if they are not those of the model.
std::string attention_of(const Configuration& read, const std::string& name, std::vector<std::string>& warnings) {
  // A model that is made from the file's sizes already has its attention kernels (model_of), but no sequence length yet.
  const bool has_sizes = !read.says(ConfigField::model) && name.find("@layers=") != std::string::npos;
  if (!read.writes(ConfigField::attention) || has_sizes || name.find("@fused=") != std::string::npos) return {};
  const std::string attention = set_value(read, ConfigField::attention);
  if (attention.empty()) {
    warnings.push_back(fmt::format("{}: the kernels of attention are unknown: those of the model are assumed",
                                   place_of(read, ConfigField::attention)));
    return {};
  }
  const std::string fused = attention == "unfused" ? "no" : "yes";
  const std::string own = load_model(name).family_parameter("fused");
  if (own.empty() && fused == "no")
    warnings.push_back(
        fmt::format("{}: unfused attention of {} is not modeled", place_of(read, ConfigField::attention), quote(name)));
  return own.empty() || own == fused ? std::string() : "@fused=" + fused;
}

/// Returns the parameters for the modules that are trained in addition to adapters.
std::string trained_of(const Configuration& read, const std::string& name, std::vector<std::string>& warnings) {
  const std::vector<std::string> modules = trained_modules(read);
  if (modules.empty() || name.find("@trained=") != std::string::npos) return {};
  const Model model = load_model(name);
  // PEFT trains a copy of a shared matrix, so that embedding and head no longer share it [huggingface/peft,
  // src/peft/utils/other.py, ModulesToSaveWrapper].
  const bool is_tied = model.family_parameter("tied") == "yes";
  std::vector<std::string> layers;
  bool splits = false;
  for (const std::string& module : modules) {
    const bool is_head = is_word_of(head_modules, module), is_embedding = is_word_of(embedding_modules, module);
    std::string layer = module;
    if (is_head) layer = head_layer;
    for (const std::string_view each : embedding_layers) {
      if (is_embedding && layer_named(model, each) != nullptr) layer = each;
    }
    splits = splits || ((is_head || is_embedding) && is_tied);
    if (layer_named(model, layer) == nullptr && !(is_head && is_tied)) {
      warnings.push_back(fmt::format("{}: training {} is not modeled: {} has no such layer",
                                     place_of(read, ConfigField::trained_modules), quote(module), quote(model.name)));
    } else if (!contains(layers, layer)) {
      layers.push_back(layer);
    }
  }
  if (layers.empty()) return {};
  return fmt::format("{}@trained={}", splits ? "@tied=no" : "", fmt::join(layers, "+"));
}

/// Returns the parameter for the parts that are not trained, if these are not those of the model's file.
std::string frozen_of(const Configuration& read, const std::string& name, std::vector<std::string>& warnings) {
  const auto is_said = [&](const FreezableParts& each) { return !set_value(read, each.field).empty(); };
  if (std::ranges::none_of(freezable, is_said)) return {};
  if (name.find("@frozen=") != std::string::npos || name.find("@trained=") != std::string::npos) return {};
  const Model model = load_model(name);
  std::vector<std::string> layers;
  bool trains_frozen = false;
  for (const FreezableParts& each : freezable) {
    const std::string value = set_value(read, each.field);
    const bool is_asked = value == "yes" && read.writes(each.field);
    bool is_part = false;
    for (const std::string_view part : each.layers) {
      const Layer* layer = value.empty() ? nullptr : layer_named(model, part);
      if (layer == nullptr) continue;
      is_part = true;
      if (value == "yes") layers.emplace_back(part);
      trains_frozen = trains_frozen || (value == "no" && layer->frozen > 0);
      if (is_asked && has_adapters(name))
        warnings.push_back(fmt::format("{}: adapters of the module {}, which this file freezes, are predicted as well",
                                       place_of(read, each.field), quote(part)));
    }
    // Tools freeze the vision model by default, even if a model has no vision model.
    const bool is_default = each.field == ConfigField::frozen_vision || each.field == ConfigField::frozen_projector;
    if (is_asked && !is_part && !is_default)
      warnings.push_back(
          fmt::format("{}: {} lacks the modules that this file freezes", place_of(read, each.field), quote(name)));
  }
  if (has_adapters(name)) return {};
  if (layers.empty()) return trains_frozen ? "@frozen=none" : "";
  return fmt::format("@frozen={}", fmt::join(layers, "+"));
}

}  // namespace

namespace {

/// Returns the further tokens that a training predicts, as a parameter of the model; empty if the model has such modules.
std::string predicted_of(const Configuration& configuration, const std::string& model, std::vector<std::string>& warnings) {
  const auto predicted = configuration.number(ConfigField::predicted, 0, 64);
  if (!predicted || *predicted == 0 || model.find("@predicted=") != std::string::npos) return {};
  const Model loaded = load_model(model);
  const auto of_family = [](const auto& each) { return each.first == "predicted"; };
  if (std::ranges::any_of(loaded.family_parameters, of_family)) return fmt::format("@predicted={}", *predicted);
  const Fact* const said = configuration.find(ConfigField::predicted);
  const bool is_listed = std::ranges::any_of(
      configuration.not_modeled, [&](const ConfigEntry& each) { return said->from && each.key == said->from->key; });
  if (!is_listed) warnings.push_back(fmt::format("not modeled: {} has no prediction of further tokens", quote(model)));
  return {};
}

}  // namespace

std::string with_configured_parts(const Configuration& configuration, const std::string& model,
                                  std::vector<std::string>& warnings) {
  std::string changed = model + predicted_of(configuration, model, warnings);
  changed += attention_of(configuration, changed, warnings);
  changed += has_adapters(changed) ? trained_of(configuration, changed, warnings) : std::string();
  return changed + frozen_of(configuration, changed, warnings);
}

std::optional<BaseWeights> configured_base(const Configuration& configuration, const std::string& model,
                                           std::string_view checkpoint, std::vector<std::string>& warnings) {
  if (!has_adapters(model)) {
    if (quantized_format(checkpoint).empty() || !configuration.format->loads_half) return std::nullopt;
    configuration.fail({ConfigField::model},
                       fmt::format("all weights are trained, but those of {} are quantized", quote(checkpoint)),
                       "train adapters, or name the checkpoint without quantization");
  }
  // The configuration of a quantized checkpoint takes precedence over the arguments of a tool [huggingface/transformers,
  // src/transformers/quantizers/auto.py, AutoHfQuantizer.merge_quantization_configs].
  std::string base(quantized_format(checkpoint));
  if (base.empty()) base = configuration.word(ConfigField::base);
  if (!base.empty()) return enum_named(base_weights_names, base);
  const std::string loaded = configuration.word(ConfigField::loaded);
  if (!configuration.format->loads_half && loaded != "half") return std::nullopt;
  // DeepSpeed converts the weights to the precision of the training. FSDP keeps shards as they were loaded.
  const std::string kind = configuration.word(ConfigField::distributed_type);
  const bool converts = kind == "deepspeed" || kind == "megatron";
  if (!converts && loaded == "full") {
    if (!configuration.writes(ConfigField::loaded))
      warnings.push_back(fmt::format("{} does not set the precision of the loaded weights: {} loads them in fp32",
                                     quote(configuration.file), configuration.format->name));
    return std::nullopt;
  }
  return BaseWeights::half;
}

std::string configured_precision(const Configuration& configuration) {
  if (configuration.word(ConfigField::fp4) == "yes") return "nvfp4";
  if (configuration.word(ConfigField::fp8) == "yes") return "fp8";
  std::string precision = configuration.word(ConfigField::precision);
  const bool is_trainers =
      configuration.format == &transformers_arguments && configuration.word(ConfigField::loaded) != "half";
  return precision.empty() && is_trainers ? "fp32" : precision;
}

void refuse_unknown_batch(const Configuration& configuration) {
  if (!configuration.has_unknown_program) return;
  throw Error(fmt::format("{} starts a program with other arguments, so the batch is unknown", quote(configuration.file)),
              "use for example --global-batch 64");
}

bool says_setting(const StudyOptions& study, const std::string& key) {
  return std::ranges::any_of(study.setting_words, [&](const std::string& each) { return each.starts_with(key + "="); });
}

// [PyTorch, docs/source/notes/cuda.rst, "Optimizing memory usage with PYTORCH_ALLOC_CONF"]
void choose_allocator(const Configuration& configuration, StudyOptions& study) {
  const bool is_expandable =
      configuration.word(ConfigField::allocator).find("expandable_segments:True") != std::string::npos;
  if (is_expandable && !says_setting(study, "expandable_segments"))
    study.settings.set("expandable_segments", {1, SettingOrigin::job, {}});
}

std::string configured_optimizer(const Configuration& configuration) {
  const std::string projection = configuration.word(ConfigField::projection);
  const std::string optimizer =
      configuration.says(ConfigField::optimizer) ? configuration.word(ConfigField::optimizer) : std::string();
  // [hiyouga/LLaMA-Factory, src/llamafactory/train/trainer_utils.py, _create_galore_optimizer; hparams/finetuning_args.py]
  const std::string adapter = configuration.word(ConfigField::adapter);
  if (!projection.empty() && projection != "none" && !adapter.empty() && adapter != "none") {
    configuration.fail({ConfigField::projection},
                       fmt::format("{} does not train adapters and project gradients together", configuration.format->name),
                       "train all weights (finetuning_type full), or leave the projection out");
  }
  if (projection == "galore") return optimizer.find("8bit") != std::string::npos ? "galore8bit" : "galore";
  if (!projection.empty() && projection != "none") return projection;
  // Tools have one name for SGD with and without momentum, so the momentum decides.
  const std::string momentum = configuration.word(ConfigField::momentum);
  const bool has_none = momentum.find_first_not_of("0.") == std::string::npos && !momentum.empty();
  return optimizer == "momentum" && has_none ? "sgd" : optimizer;
}

namespace {

/// Returns the number of `key=number` in a list of arguments; empty if there is none. Spaces do not count
/// [huggingface/transformers, src/transformers/trainer.py, optim_args]. Throws Error for another value.
std::optional<double> number_after(const Configuration& configuration, std::string_view key) {
  std::string arguments = configuration.word(ConfigField::optimizer_arguments);
  std::erase(arguments, ' ');
  std::optional<double> number;
  for (const std::string_view each : split(arguments, ",")) {
    if (!each.starts_with(key) || each.size() <= key.size() || each[key.size()] != '=') continue;
    const std::string value(each.substr(key.size() + 1));
    char* end = nullptr;
    number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(*number >= 1) || std::floor(*number) != *number) {
      configuration.fail({ConfigField::optimizer_arguments},
                         fmt::format("{} is {}, not a whole number above zero", key, quote(value)),
                         "use for example rank=128");
    }
  }
  return number;
}

/// Whether a list of modules names all matrices of attention and of MLPs. The names may be in regular expressions. Each
/// stands for all matrices whose paths contain it [huggingface/transformers, src/transformers/trainer.py,
/// optim_target_modules; hiyouga/LLaMA-Factory, src/llamafactory/train/trainer_utils.py].
bool names_all_matrices(const std::string& modules) {
  if (says_nothing(modules)) return true;
  const std::vector<std::string_view> words = split(modules, " ,;|()[]'\".*\\^$");
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  const auto has_any = [&](std::initializer_list<std::string_view> all) { return std::ranges::any_of(all, has); };
  const auto has_all = [&](std::initializer_list<std::string_view> all) { return std::ranges::all_of(all, has); };
  if (has_any({"all", "all-linear"})) return true;
  // The path `self_attn.q_proj` is one matrix of attention.
  const bool is_part = has_any({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"});
  const bool of_attention = has_all({"q_proj", "k_proj", "v_proj", "o_proj"}) ||
                            (!is_part && has_any({"attn", "self_attn", "attention", "self_attention"}));
  return of_attention && (has_all({"gate_proj", "up_proj", "down_proj"}) || (!is_part && has_any({"mlp", "feed_forward"})));
}

/// Returns the optimizer of a study, if it projects gradients.
std::optional<Optimizer> projected_optimizer(const StudyOptions& study) {
  const auto optimizer = parse_enum<Optimizer>(study.optimizer);
  return optimizer && is_projected(*optimizer) ? optimizer : std::nullopt;
}

}  // namespace

void choose_updates(const Configuration& configuration, StudyOptions& study, std::vector<std::string>& warnings) {
  const auto set = [&](const char* key, std::optional<double> value) {
    if (value && !says_setting(study, key)) study.settings.set(key, {*value, SettingOrigin::job, {}});
  };
  const auto number = [&](ConfigField field, double least) -> std::optional<double> {
    const std::string text = configuration.word(field);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return end != text.c_str() && value >= least ? std::optional(value) : std::nullopt;
  };
  // Models of transformers compute the loss with PyTorch's operators, also under DeepSpeed, whose settings are those of
  // Megatron-DeepSpeed [huggingface/transformers, src/transformers/loss/loss_utils.py, ForCausalLMLoss].
  const bool is_of_transformers = configuration.format->loads_half || configuration.says(ConfigField::model);
  if (study.software == "deepspeed" && is_of_transformers && configuration.word(ConfigField::loss).empty())
    set("cross_entropy", static_cast<double>(CrossEntropy::operators));
  set("mlp_tiles", number(ConfigField::mlp_tiles, 0));
  if (configuration.word(ConfigField::updates_in_backward) == "yes") set("updates_in_backward", 1);
  const auto optimizer = projected_optimizer(study);
  if (!optimizer) return;
  const auto rank = number_after(configuration, "rank");
  set("projection_rank", rank ? rank : number(ConfigField::projection_rank, 1));
  const auto every = number_after(configuration, "update_proj_gap");
  if (projects_by_singular_vectors(*optimizer))
    set("precondition_every", every ? every : number(ConfigField::projection_every, 1));
  if (!names_all_matrices(configuration.word(ConfigField::projected_modules))) {
    warnings.push_back(fmt::format("{}: the gradients of all matrices of blocks are predicted to be projected",
                                   place_of(configuration, ConfigField::projected_modules)));
  }
}

// [huggingface/accelerate, src/accelerate/accelerator.py, accumulate; src/accelerate/utils/dataclasses.py,
// GradientAccumulationPlugin, sync_each_batch; huggingface/transformers, models/llama/modeling_llama.py, _tp_plan]
void choose_trainer_of_shards(const Configuration& configuration, StudyOptions& study) {
  const auto set = [&](const char* key, double value) {
    if (study.settings.find(key) == nullptr) study.settings.set(key, {value, SettingOrigin::job, {}});
  };
  if (configuration.word(ConfigField::syncs_each) != "yes") set("accumulates_whole", 1);
  if (configured_degree(configuration, ConfigField::tensor) > 1) set("loss_parallel", 0);
}

bool has_own_length(const std::string& model, std::int64_t tokens) {
  const std::size_t changes = model.find('@');
  if (changes != std::string::npos && model.find("@lora=") != changes) return false;
  return load_model(model).sequence_length == tokens;
}

const ConfigEntry* partly_projected(const Configuration& configuration, Optimizer optimizer) {
  const Fact* fact = configuration.find(ConfigField::projected_modules);
  if (!is_projected(optimizer) || fact == nullptr || !fact->from) return nullptr;
  return names_all_matrices(fact->value) ? nullptr : &*fact->from;
}

const ConfigEntry* unknown_trained_module(const Configuration& configuration, const Model& model) {
  const Fact* fact = configuration.find(ConfigField::trained_modules);
  if (fact == nullptr || !fact->from || !has_adapters(model.name)) return nullptr;
  const std::vector<std::string> modules = trained_modules(configuration);
  const bool is_known = std::ranges::all_of(modules, [&model](const std::string& module) {
    return is_word_of(embedding_modules, module) || is_word_of(head_modules, module) ||
           layer_named(model, module) != nullptr;
  });
  return is_known ? nullptr : &*fact->from;
}

}  // namespace ddl
