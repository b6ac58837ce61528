#include "model_zoo/network/trained_parts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

/// Returns the parts of a path between its dots.
std::vector<std::string_view> steps_of(std::string_view path) {
  std::vector<std::string_view> steps;
  for (;;) {
    const std::size_t dot = path.find('.');
    steps.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return steps;
    path.remove_prefix(dot + 1);
  }
}

/// The names of matrices in other libraries, each with the name of its layer here.
// Sources: Hugging Face, transformers, modeling_llama.py, modeling_phi3.py, modeling_gpt_neox.py and modeling_gpt2.py;
// NVIDIA, Megatron-LM, megatron/core/transformer/attention.py and mlp.py.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> other_names{{{"o_proj", "projection"},
                                                                                     {"gate_proj", "gate"},
                                                                                     {"up_proj", "up"},
                                                                                     {"down_proj", "down"},
                                                                                     {"qkv_proj", "qkv"},
                                                                                     {"query_key_value", "qkv"},
                                                                                     {"c_attn", "qkv"},
                                                                                     {"linear_qkv", "qkv"},
                                                                                     {"linear_proj", "projection"},
                                                                                     {"linear_fc1", "gate"},
                                                                                     {"linear_fc1", "up"},
                                                                                     {"linear_fc2", "down"}}};

/// A list of names, and for each name whether a layer has matched it.
class Names {
 public:
  Names(const std::vector<std::string>& names, std::string_view key) : names_(names), key_(key), found_(names.size()) {}

  [[nodiscard]] bool name(const Layer& layer) {
    bool any = false;
    for (const std::string_view step : steps_of(layer.name)) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        const bool is_other = std::find(other_names.begin(), other_names.end(),
                                        std::pair(std::string_view(names_[i]), step)) != other_names.end();
        if (names_[i] != step && !is_other) continue;
        found_[i] = any = true;
      }
    }
    return any;
  }
  /// Returns a bit for each of the layer's fused matrices (Operation::modules) that the list names. All bits are set if the
  /// list is empty or names a block that contains the layer. The result is 0 if the list names the layer itself.
  [[nodiscard]] unsigned modules(const Layer& layer) {
    const std::span<const std::string_view> all = layer.operation->modules();
    const unsigned every = (1U << all.size()) - 1;
    if (names_.empty()) return every;
    const std::vector<std::string_view> steps = steps_of(layer.name);
    unsigned modules = 0;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (std::find(steps.begin(), steps.end() - 1, names_[i]) != steps.end() - 1) modules = every;
      for (std::size_t module = 0; module < all.size(); ++module) {
        if (all[module] != names_[i]) continue;
        found_[i] = true;
        modules |= 1U << module;
      }
    }
    const bool is_whole = std::find(names_.begin(), names_.end(), steps.back()) != names_.end();
    return is_whole ? 0 : modules;
  }
  /// Throws Error if a name matches no layer.
  void check(const Model& model) const {
    const auto missing = std::find(found_.begin(), found_.end(), false);
    if (missing == found_.end()) return;
    std::vector<std::string> known;
    for (const Layer& layer : model.layers) {
      if (layer.parameters() == 0) continue;
      for (const std::string_view step : steps_of(layer.name)) {
        if (std::find(known.begin(), known.end(), step) == known.end()) known.emplace_back(step);
      }
      if (key_ != "lora_layers") continue;  // only adapters can select a part of a fused matrix
      for (const std::string_view module : layer.operation->modules()) {
        if (std::find(known.begin(), known.end(), module) == known.end()) known.emplace_back(module);
      }
    }
    const std::string& name = names_[static_cast<std::size_t>(missing - found_.begin())];
    throw Error(fmt::format("{} has no layer with parameters named {}, which {} requests", model.name, name, key_),
                suggest(name, known));
  }

 private:
  const std::vector<std::string>& names_;
  std::string_view key_;
  std::vector<bool> found_;
};

}  // namespace

void train_only(Model& model, const TrainedParts& parts) {
  if (parts.is_all()) return;
  Names adapted(parts.adapted, "lora_layers"), trained(parts.trained, "trained"), frozen(parts.frozen, "frozen");
  // Layers of one class that have the same trained parts stay in one class.
  std::map<std::tuple<int, unsigned, bool>, std::pair<int, std::shared_ptr<const Operation>>> classes;
  for (Layer& layer : model.layers) {
    const bool is_trained =
        !parts.none && layer.parameters() > 0 && (parts.frozen.empty() ? trained.name(layer) : !frozen.name(layer));
    const unsigned modules = adapted.modules(layer);
    const bool is_named = layer.parameters() > 0 && (adapted.name(layer) || (modules != 0 && !parts.adapted.empty()));
    const bool is_asked = parts.adapter_rank && !is_trained && (parts.adapted.empty() ? layer.block >= 0 : is_named);
    auto adapter =
        is_asked
            ? layer.operation->with_adapter(
                  {.kind = parts.adapter_kind, .rank = *parts.adapter_rank, .adapted = modules, .drops = parts.drops_inputs})
            : nullptr;
    // If a name is the name of a block, it also matches layers of the block that cannot have an adapter.
    const bool ends_in_name = is_named && std::find(parts.adapted.begin(), parts.adapted.end(),
                                                    steps_of(layer.name).back()) != parts.adapted.end();
    if (is_asked && !adapter && ends_in_name) {
      throw Error(fmt::format("layer '{}' ({}) has no adapters", layer.name, layer.operation->type()),
                  "adapters are supported for fully_connected layers");
    }
    const auto next = static_cast<int>(classes.size());
    const auto [place, is_new] = classes.try_emplace({layer.shape_class, adapter ? modules + 1 : 0, is_trained}, next,
                                                     adapter ? adapter : layer.operation);
    layer.shape_class = place->second.first;
    layer.operation = place->second.second;
    if (adapter) {
      layer.weights = layer.operation->weights(layer.input_shapes, layer.output_shape);
      layer.frozen = layer.operation->frozen(layer.input_shapes, layer.output_shape);
    } else {
      layer.frozen = is_trained ? layer.frozen : layer.parameters();
    }
  }
  adapted.check(model);
  trained.check(model);
  frozen.check(model);
  model.shape_classes = static_cast<int>(classes.size());
  if (model.trained_parameters() == 0 && !parts.none) {
    throw Error(fmt::format("no layer of {} would be trained", model.name),
                parts.adapter_rank ? "the blocks have no fully_connected layers: name other layers with lora_layers" : "");
  }
}

}  // namespace ddl
