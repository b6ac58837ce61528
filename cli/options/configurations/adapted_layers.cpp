#include "cli/options/configurations/adapted_layers.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/configurations/argument_meaning.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

/// Modules of other libraries, and the names of their layers here. A model has at least one of these layers. Sources:
/// transformers, modeling_llama.py, modeling_phi3.py, modeling_gpt2.py, modeling_gpt_neox.py and modeling_opt.py;
/// NVIDIA/Megatron-LM, megatron/core/transformer/attention.py and mlp.py; NVIDIA/NeMo,
/// nemo/collections/nlp/parts/peft_config.py; meta-pytorch/torchtune, torchtune/modules/peft; Lightning-AI/litgpt,
/// litgpt/lora.py.
constexpr auto layers_of_modules = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"q_proj k_proj v_proj o_proj gate_proj up_proj down_proj", ""},
    {"qkv_proj query_key_value c_attn linear_qkv attention_qkv", "qkv"},
    {"output_proj out_proj linear_proj attention_dense dense", "projection"},
    {"gate_up_proj", "gate up"},
    {"linear_fc1 mlp_fc1 fc1 c_fc dense_h_to_4h", "gate up fc1"},
    {"linear_fc2 mlp_fc2 fc2 dense_4h_to_h", "down fc2"},
    {"c_proj", "projection down fc2"},
    {"attention", "qkv projection"},
    {"mlp", "gate up down fc1 fc2"},
});

/// Whether a layer in a block, or a part of a joined matrix, has this name.
bool has_layer(const Model& model, std::string_view name) {
  return std::ranges::any_of(model.layers, [&](const Layer& layer) {
    const std::span<const std::string_view> parts = layer.operation->modules();
    return layer.block >= 0 && layer.parameters() > 0 &&
           (layer.name.ends_with(fmt::format(".{}", name)) || contains(parts, name));
  });
}

/// Returns whether the model has a layer that adapters know by a name of transformers.
bool has_module(const Model& model, std::string_view module) {
  constexpr auto names = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"o_proj", "projection"}, {"gate_proj", "gate"}, {"up_proj", "up"}, {"down_proj", "down"}});
  const auto known = std::ranges::find_if(names, [&](const auto& each) { return each.first == module; });
  return has_layer(model, module) || (known != names.end() && has_layer(model, known->second));
}

/// Returns the names of a module's layers in the model; none if the module is unknown, or if the model lacks it.
std::vector<std::string_view> layers_of(const Model& model, std::string_view module) {
  for (const auto& [modules, layers] : layers_of_modules) {
    if (!is_word_of(modules, module)) continue;
    std::vector<std::string_view> all = layers.empty() ? std::vector{module} : split(layers, " ");
    if (!layers.empty()) std::erase_if(all, [&](std::string_view layer) { return !has_layer(model, layer); });
    // Some models have one matrix for queries, keys and values, without parts.
    if (is_word_of("q_proj k_proj v_proj", module) && !has_layer(model, module) && has_layer(model, "qkv")) return {"qkv"};
    if (layers.empty() && !has_module(model, module)) return {};
    return all;
  }
  return {};
}

}  // namespace

std::vector<std::string> modules_in(const std::string& list) {
  std::vector<std::string> modules;
  for (const std::string_view name : split(list, " ,[]'\"")) {
    if (!name.empty()) modules.emplace_back(name.substr(name.rfind('.') + 1));
  }
  return modules;
}

namespace {

/// Returns the modules that the configuration adapts. Keys of single modules add to the tool's default, or remove from it.
std::vector<std::string> adapted_modules(const Configuration& read) {
  const Fact* fact = read.find(ConfigField::adapter_layers);
  std::vector<std::string> modules = modules_in(read.word(ConfigField::adapter_layers));
  if (fact == nullptr || !fact->from) return modules;
  for (const UsualValue& usual : read.format->usual) {
    if (usual.field != RunField(ConfigField::adapter_layers)) continue;
    const std::vector<std::string> defaults = modules_in(std::string(usual.value));
    modules.insert(modules.begin(), defaults.begin(), defaults.end());
  }
  const std::vector<std::string> all = modules;
  std::erase_if(modules, [&](const std::string& module) { return module.starts_with('-') || contains(all, "-" + module); });
  return modules;
}

std::string adapted_layers(const Configuration& read, const std::string& model, std::vector<std::string>& warnings) {
  const std::vector<std::string> modules = adapted_modules(read);
  const auto is_all = [](const std::string& module) { return is_word_of("all all-linear true auto none null", module); };
  if (const Fact* fact = read.find(ConfigField::adapter_layers); modules.empty() && fact != nullptr && fact->from) {
    warnings.push_back(fmt::format("{}: names no matrix for an adapter: all matrices of blocks have adapters",
                                   line_text(fact->from->place())));
  }
  if (modules.empty() || std::ranges::any_of(modules, is_all)) return {};
  // A model that is made from the file's sizes has no sequence length yet, but its matrices do not depend on the length.
  const bool needs_length = model.find("@hidden=") != std::string::npos && model.find("@tokens=") == std::string::npos;
  const Model built = load_model(needs_length ? model + "@tokens=1024" : model);
  std::vector<std::string> names;
  for (const std::string& module : modules) {
    const std::vector<std::string_view> layers = layers_of(built, module);
    if (layers.empty()) {
      const Fact& fact = *read.find(ConfigField::adapter_layers);
      warnings.push_back(fmt::format("{}: adapters of {} are not modeled: all matrices of blocks have adapters",
                                     fact.from ? line_text(fact.from->place()) : read.file, quote(module)));
      return {};
    }
    for (const std::string_view layer : layers) {
      if (!contains(names, layer)) names.emplace_back(layer);
    }
  }
  return fmt::format("@lora_layers={}", fmt::join(names, "+"));
}

}  // namespace

std::string adapter_parts(const Configuration& read, const std::string& model, std::vector<std::string>& warnings) {
  const std::string rate = read.dropout_rate(ConfigField::adapter_dropout);
  const std::string kind = read.word(ConfigField::adapter_kind);
  const std::string other = kind.empty() || kind == "lora" ? std::string() : "@adapter=" + kind;
  return adapted_layers(read, model, warnings) + other + (rate == "0" ? std::string() : "@lora_dropout=" + rate);
}

}  // namespace ddl
