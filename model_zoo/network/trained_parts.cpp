#include "model_zoo/network/trained_parts.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

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

/// A list of names, and for each name whether a layer has matched it.
class Names {
 public:
  Names(const std::vector<std::string>& names, std::string_view key) : names_(names), key_(key), found_(names.size()) {}

  [[nodiscard]] bool name(const Layer& layer) {
    bool any = false;
    for (const std::string_view step : steps_of(layer.name)) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (names_[i] != step) continue;
        found_[i] = any = true;
      }
    }
    return any;
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
  std::map<std::tuple<int, bool, bool>, std::pair<int, std::shared_ptr<const Operation>>> classes;
  for (Layer& layer : model.layers) {
    const bool is_trained =
        !parts.none && layer.parameters() > 0 && (parts.frozen.empty() ? trained.name(layer) : !frozen.name(layer));
    const bool is_named = layer.parameters() > 0 && adapted.name(layer);
    const bool is_asked = parts.adapter_rank && !is_trained && (parts.adapted.empty() ? layer.block >= 0 : is_named);
    auto adapter = is_asked ? layer.operation->with_adapter(*parts.adapter_rank) : nullptr;
    // If a name is the name of a block, it also matches layers of the block that cannot have an adapter.
    const bool ends_in_name = is_named && std::find(parts.adapted.begin(), parts.adapted.end(),
                                                    steps_of(layer.name).back()) != parts.adapted.end();
    if (is_asked && !adapter && ends_in_name) {
      throw Error(fmt::format("layer '{}' ({}) has no adapters", layer.name, layer.operation->type()),
                  "adapters are supported for fully_connected layers");
    }
    const auto next = static_cast<int>(classes.size());
    const auto [place, is_new] =
        classes.try_emplace({layer.shape_class, adapter != nullptr, is_trained}, next, adapter ? adapter : layer.operation);
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
                parts.adapter_rank ? "it has no fully_connected layers in blocks: name other layers with lora_layers" : "");
  }
}

}  // namespace ddl
