#include "cli/documents/memory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Maximum number of rows in the table of what memory contains at the peak.
constexpr std::size_t rows_of_text = 10;

Json layer_to_json(int layer, const Model& model) {
  return layer < 0 ? Json(nullptr) : Json(model.layers[static_cast<std::size_t>(layer)].name);
}

std::string layer_name(int layer, const Model& model) {
  return layer < 0 ? std::string() : model.layers[static_cast<std::size_t>(layer)].name;
}

/// Names the owner of an item's memory: a layer, or all layers for whole gradients.
std::string owner_name(const LiveMemory& live, StepPhase phase, const Model& model) {
  const bool is_whole = live.layer < 0 && live.item == MemoryItem::gradients && phase != StepPhase::update;
  return is_whole ? "all layers, beyond shards" : layer_name(live.layer, model);
}

}  // namespace

std::string moment_text(StepPhase phase, int layer, const Model& model) {
  const std::string name = layer_name(layer, model);
  return name.empty() ? std::string(to_string(phase)) : fmt::format("{} of {}", to_string(phase), name);
}

std::string fullest_rank_text(const Plan& plan, int stage) {
  if (plan.mesh[Axis::pipeline] == 1) return "all ranks have equal memory";
  return fmt::format("each of the {} ranks of stage {} of {}", plan.mesh.devices() / plan.mesh[Axis::pipeline], stage + 1,
                     plan.mesh[Axis::pipeline]);
}

std::string memory_text(const MemoryBreakdown& memory, Verdict verdict, const Study& study) {
  std::string text = fmt::format("{} of {}", humanize(memory.total()), humanize(study.device_memory()));
  if (study.margin() > Bytes{}) text += fmt::format(" less {}", humanize(study.margin()));
  text += fmt::format(" per {}: {}", device_noun(study.machine().device), to_string(verdict));
  if (verdict == Verdict::at_risk) text += fmt::format(", at most {}", humanize(memory.upper_bound()));
  return text;
}

std::string whose_text(const Communicator& communicator) {
  switch (communicator.among) {
    case Among::axis:
      return std::string(to_string(communicator.axis));
    case Among::copies_of_shards:
      return fmt::format("{}, copies of shards", to_string(communicator.axis));
    case Among::all_ranks:
      return "all ranks";
    case Among::replica:
      return "one replica";
    case Among::neighbours:
      return "neighboring stages";
    case Among::end_stages:
      return "the first and the last stage";
  }
  return {};
}

std::string assumed_text(const MemoryBreakdown& memory) {
  Bytes assumed{};
  for (const MemoryItem item : enum_values<MemoryItem>) {
    if (origin_of(memory, item) == MemoryOrigin::assumed) assumed += memory.of(item);
  }
  return fmt::format("assumed: {} of it ({}), as reported for other machines; not measured", humanize(assumed),
                     share_text(assumed / memory.total()));
}

Table items_table(const MemoryBreakdown& memory, std::optional<MemoryItem> last_empty) {
  Table table({words("item"), figures("memory"), figures("share"), words("is")});
  for (const MemoryItem item : enum_values<MemoryItem>) {
    const Bytes bytes = memory.of(item);
    if (bytes <= Bytes{} && (!last_empty || item > *last_empty)) continue;
    table.add({std::string(to_string(item)), humanize(bytes), share_text(bytes / memory.total()),
               std::string(to_string(origin_of(memory, item)))});
  }
  return table;
}

void add_communicators(Document& document, const Estimate& estimate, const Study& study) {
  const Device& device = study.machine().device;
  const EngineGroups engine = engine_groups_of(study.job());
  const std::vector<Communicator> communicators = communicators_of(estimate.plan, device, engine);
  const int idle = study.assumptions().idle_communicators;
  const Bytes of_idle = idle_communicator_bytes(idle, device);
  // The closed form of --ideal has no memory of communication.
  if ((communicators.empty() && of_idle <= Bytes{}) || study.assumptions().memory_reuse) return;
  Table table({words("communication"), figures("ranks"), figures("memory")});
  Bytes of_library{};
  for (const Communicator& each : communicators) {
    table.add({"communicator of " + whose_text(each), fmt::format("{:.0f}", each.ranks), humanize(each.bytes)});
    of_library += each.bytes;
  }
  if (of_idle > Bytes{}) {
    table.add({fmt::format("{}, for groups that are unused or have one rank", count_text(idle, "idle communicator")), "",
               humanize(of_idle)});
    of_library += of_idle;
  }
  if (const Bytes buckets = estimate.memory.communication - of_library; buckets > Bytes{})
    table.add({"buckets of gradients and weights", "", humanize(buckets)});
  const CommunicationBuffers buffers = communication_buffers(estimate.plan, device, engine, idle);
  table.legend =
      fmt::format("of the library's {}, at most {}: assumed, as reported for other machines{}", humanize(buffers.expected),
                  humanize(buffers.most), idle > 0 ? "" : "; --idle-communicators adds others that the framework creates");
  document.apart(std::move(table));
}

Json communicators_to_json(const Estimate& estimate, const Study& study) {
  const EngineGroups engine = engine_groups_of(study.job());
  if (study.assumptions().memory_reuse) return Json::array();
  return json_list(communicators_of(estimate.plan, study.machine().device, engine), [](const Communicator& each) -> Json {
    const bool of_axis = each.among == Among::axis || each.among == Among::copies_of_shards;
    return {{"axis", of_axis ? Json(to_string(each.axis)) : Json(nullptr)},
            {"of", whose_text(each)},
            {"ranks", each.ranks},
            {"of_copies", each.among == Among::copies_of_shards},
            {"bytes", each.bytes.value()}};
  });
}

void add_timeline(Document& document, const MemoryTimeline& timeline, const Model& model) {
  document.section("Peak", fmt::format(" in {}: {} allocated, {} reserved by the allocator",
                                       moment_text(timeline.peak_phase, timeline.peak_layer, model),
                                       humanize(timeline.peak.allocated), humanize(timeline.peak_reserved)));
  const CachingAllocator::Reserved& held = timeline.at_peak_reserved;
  if (held.pieces + held.segments > Bytes{}) {
    document.paragraph(fmt::format("at the peak of reserved memory, {} are allocated, {} are free parts of segments in use "
                                   "(fragmentation), and {} are cached segments",
                                   humanize(held.allocated), humanize(held.pieces), humanize(held.segments)),
                       2, 2);
  }
  Table table({words("at the peak"), words("of"), figures("memory"), figures("share")});
  const auto share = [&](Bytes bytes) { return share_text(bytes / timeline.peak.allocated); };
  Bytes rest = timeline.rounding();
  for (std::size_t i = 0; i < timeline.live_at_peak.size(); ++i) {
    const LiveMemory& live = timeline.live_at_peak[i];
    if (i >= rows_of_text) {
      rest += live.bytes;
      continue;
    }
    table.add({std::string(to_string(live.item)), owner_name(live, timeline.peak_phase, model), humanize(live.bytes),
               share(live.bytes)});
  }
  const std::size_t more = timeline.live_at_peak.size() - std::min(timeline.live_at_peak.size(), rows_of_text);
  table.add({"other", more > 0 ? fmt::format("{} more, and rounding", more) : "rounding", humanize(rest), share(rest)});
  document.add(std::move(table));
}

Json timeline_to_json(const MemoryTimeline& timeline, const Model& model) {
  Json json;
  json["peak"] = {{"phase", to_string(timeline.peak_phase)},
                  {"layer", layer_to_json(timeline.peak_layer, model)},
                  {"allocated_bytes", timeline.peak.allocated.value()},
                  {"reserved_bytes", timeline.peak_reserved.value()},
                  {"rounding_bytes", timeline.rounding().value()},
                  {"when_most_is_reserved",
                   {{"allocated_bytes", timeline.at_peak_reserved.allocated.value()},
                    {"fragmentation_bytes", timeline.at_peak_reserved.pieces.value()},
                    {"cache_bytes", timeline.at_peak_reserved.segments.value()}}}};
  json["at_peak"] = json_list(timeline.live_at_peak, [&](const LiveMemory& live) -> Json {
    return {{"item", to_string(live.item)}, {"layer", layer_to_json(live.layer, model)}, {"bytes", live.bytes.value()}};
  });
  json["points"] = json_list(timeline.points, [&](const TimelinePoint& point) -> Json {
    return {{"phase", to_string(point.phase)},
            {"layer", layer_to_json(point.layer, model)},
            {"allocated_bytes", point.allocated.value()},
            {"reserved_bytes", point.reserved.value()}};
  });
  return json;
}

}  // namespace ddl
