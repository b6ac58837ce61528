#include "cli/documents/memory.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/formats/table.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

/// Of what is there at the peak, so many rows.
constexpr std::size_t rows_of_text = 10;

std::string layer_name(int layer, const Model& model) {
  return layer < 0 ? std::string() : model.layers[static_cast<std::size_t>(layer)].name;
}

}  // namespace

std::string moment_text(StepPhase phase, int layer, const Model& model) {
  const std::string name = layer_name(layer, model);
  return name.empty() ? std::string(to_string(phase)) : fmt::format("{} of {}", to_string(phase), name);
}

std::string fullest_rank_text(const Plan& plan, int stage) {
  if (plan.mesh[Axis::pipeline] == 1) return "all ranks alike";
  return fmt::format("each of the {} ranks of stage {} of {}", plan.mesh.devices() / plan.mesh[Axis::pipeline], stage + 1,
                     plan.mesh[Axis::pipeline]);
}

std::string timeline_text(const MemoryTimeline& timeline, const Model& model, const Style& style) {
  std::string out = "\n" + style.bold("Peak") +
                    fmt::format(" in {}: {} allocated, {} reserved by the allocator\n",
                                moment_text(timeline.peak_phase, timeline.peak_layer, model),
                                humanize(timeline.peak.allocated), humanize(timeline.peak_reserved));
  Table table({{"at the peak", Align::left}, {"of", Align::left}, {"memory", Align::right}, {"share", Align::right}});
  const auto share = [&](Bytes bytes) { return fmt::format("{:.0f} %", 100 * (bytes / timeline.peak.allocated)); };
  Bytes rest = timeline.rounding();
  for (std::size_t i = 0; i < timeline.live_at_peak.size(); ++i) {
    const LiveMemory& live = timeline.live_at_peak[i];
    if (i >= rows_of_text) {
      rest += live.bytes;
      continue;
    }
    table.add({std::string(to_string(live.item)), layer_name(live.layer, model), humanize(live.bytes), share(live.bytes)});
  }
  const std::size_t more = timeline.live_at_peak.size() - std::min(timeline.live_at_peak.size(), rows_of_text);
  table.add({"all else", more > 0 ? fmt::format("{} more, and rounding", more) : "rounding", humanize(rest), share(rest)});
  return out + table.text();
}

Json timeline_to_json(const MemoryTimeline& timeline, const Model& model) {
  Json json;
  json["peak"] = {{"phase", to_string(timeline.peak_phase)},
                  {"layer", timeline.peak_layer < 0 ? Json(nullptr) : Json(layer_name(timeline.peak_layer, model))},
                  {"allocated_bytes", timeline.peak.allocated.value()},
                  {"reserved_bytes", timeline.peak_reserved.value()},
                  {"rounding_bytes", timeline.rounding().value()}};
  json["at_peak"] = Json::array();
  for (const LiveMemory& live : timeline.live_at_peak) {
    json["at_peak"].push_back({{"item", to_string(live.item)},
                               {"layer", live.layer < 0 ? Json(nullptr) : Json(layer_name(live.layer, model))},
                               {"bytes", live.bytes.value()}});
  }
  json["points"] = Json::array();
  for (const TimelinePoint& point : timeline.points) {
    json["points"].push_back({{"phase", to_string(point.phase)},
                              {"layer", point.layer < 0 ? Json(nullptr) : Json(layer_name(point.layer, model))},
                              {"allocated_bytes", point.allocated.value()},
                              {"reserved_bytes", point.reserved.value()}});
  }
  return json;
}

}  // namespace ddl
