#include <fmt/format.h>

#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// `layer`: what the layer that sets the limit is called; empty where none does.
std::string limit_in_words(const Limit& limit, std::string_view model, std::string_view layer) {
  const std::string where = layer.empty() ? "" : fmt::format(" ({})", layer);
  switch (limit.kind) {
    case Limit::Kind::batch:
      return fmt::format("needs {:.0f} samples per iteration, the global batch has {:.0f}", limit.wanted, limit.available);
    case Limit::Kind::no_extents:
      return fmt::format("{} has no spatial extents to split", model);
    case Limit::Kind::extent:
      return fmt::format("spatial degree {:.0f} is above the extent {:.0f} of the first split layer{}", limit.wanted,
                         limit.available, where);
    case Limit::Kind::halo:
      return fmt::format("a halo of {:.0f} is wider than the tile of {:.0f}{}", limit.wanted, limit.available, where);
    case Limit::Kind::filters:
      return fmt::format("filter degree {:.0f} is above min F = {:.0f}{}", limit.wanted, limit.available, where);
    case Limit::Kind::channels:
      return fmt::format("channel degree {:.0f} is above min C = {:.0f}{}", limit.wanted, limit.available, where);
    case Limit::Kind::tensor_units:
      return fmt::format("tensor degree {:.0f} is above the {:.0f} parts its layers can be cut into{}", limit.wanted,
                         limit.available, where);
    case Limit::Kind::stages:
      return fmt::format("{:.0f} stages, but only {:.0f} layers with weights", limit.wanted, limit.available);
    case Limit::Kind::schedule:
      return fmt::format("{:.0f} micro-batches, but a replica has only {:.0f} samples", limit.wanted, limit.available);
    case Limit::Kind::devices:
      return fmt::format("{:.0f} devices, the machine has {:.0f}", limit.wanted, limit.available);
    case Limit::Kind::memory:
      return fmt::format(
          "needs {} per device, which has {}: {} too much{}", humanize(Bytes(limit.wanted)),
          humanize(Bytes(limit.available)), humanize(Bytes(limit.wanted - limit.available)),
          limit.item.empty() ? "" : fmt::format("; {} of it {}", humanize(Bytes(limit.item_bytes)), limit.item));
  }
  return {};
}

}  // namespace

std::string describe(const Limit& limit, const Model& model) {
  const std::string_view layer =
      limit.layer < 0 ? std::string_view() : model.layers[static_cast<std::size_t>(limit.layer)].name;
  return limit_in_words(limit, model.name, layer);
}

std::string describe(const Limits& limits, const Model& model) {
  std::string text;
  for (const Limit& limit : limits) text += (text.empty() ? "" : "; ") + describe(limit, model);
  return text;
}

std::string describe(const Unpredictable& refusal) {
  if (const auto* words = std::get_if<std::string>(&refusal.reason)) return *words;
  const auto& [limit, model, layer] = std::get<BrokenLimit>(refusal.reason);
  return limit_in_words(limit, model, layer);
}

}  // namespace ddl
