#include "cli/documents/memory_figures.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "estimator/memory/memory_timeline.hpp"

namespace ddl {
namespace {

struct Named {
  std::string_view name, key;
  ShownFigure StageFigures::*figure;
};
constexpr std::array<Named, 3> shown{{{"torch.cuda.max_memory_allocated", "max_memory_allocated", &StageFigures::allocated},
                                      {"torch.cuda.max_memory_reserved", "max_memory_reserved", &StageFigures::reserved},
                                      {"nvidia-smi", "nvidia_smi", &StageFigures::used}}};

/// Returns the memory that the framework's allocator reserves for a stage. An offloaded step has no model of the allocator.
Bytes reserved_by(const StageOf& stage, const MemoryBreakdown& memory) {
  if (stage.job.assumptions.memory_reuse || stage.plan.offload_activations) return memory.allocated();
  TimelineOptions options;
  options.details = false;
  const Bytes reserved = memory_timeline(stage, options).peak_reserved;
  const Bytes outside = memory.context + memory.outside_buffers, device = stage.job.machine.device.memory;
  if (reserved + outside <= device || device <= outside) return reserved;
  options.capacity = device - outside;
  const MemoryTimeline within = memory_timeline(stage, options);
  return within.fits ? within.peak_reserved : reserved;
}

}  // namespace

StageFigures shown_figures(const MemoryBreakdown& memory, Bytes device_memory, int stage) {
  StageFigures figures;
  figures.stage = stage;
  figures.memory = memory;
  const Bytes allocated = memory.allocated(), outside = memory.context + memory.outside_buffers;
  // The upper bound contains fragmentation, which is reserved and not allocated.
  const Bytes most = max(allocated, memory.upper_bound() - outside);
  figures.allocated = {allocated, allocated, max(allocated, most - most_unusable(allocated))};
  const Bytes reserved = max(allocated, memory.peak_reserved);
  // Memory that the allocator is expected to cache is reserved in addition. The allocator returns it if the device has no
  // other memory.
  const Bytes cached = min(figures.allocated.most + (reserved - allocated), max(most, device_memory));
  figures.reserved = {allocated, reserved, max(max(reserved, most), cached)};
  const Bytes used = reserved + outside;
  const Bytes most_used = min(figures.reserved.most + outside, max(memory.upper_bound(), device_memory));
  figures.used = {memory.total(), used, max(max(used, memory.upper_bound()), most_used)};
  return figures;
}

std::vector<StageFigures> figures_by_stage(const Estimator& estimator, const Plan& plan) {
  std::vector<StageFigures> all;
  const std::vector<int>& firsts = estimator.stages(plan);
  for (int number = 0; number < plan.mesh[Axis::pipeline]; ++number) {
    MemoryBreakdown memory = estimator.memories().memory(plan, firsts, number);
    memory.peak_reserved = reserved_by(estimator.stage(plan, number), memory);
    all.push_back(shown_figures(memory, estimator.job().machine.device.memory, number));
  }
  return all;
}

void add_shown_figures(Document& document, const std::vector<StageFigures>& stages, std::optional<int> stage) {
  document.section("What tools show", ", at the peak of a step");
  const bool several = stages.size() > 1;
  std::vector<Column> columns{essential(words("figure"))};
  if (several) columns.push_back(essential(figures("stage")));
  for (const char* name : {"at least", "expected", "at most"}) columns.push_back(essential(figures(name)));
  Table table(columns);
  for (const StageFigures& each : stages) {
    if (stage && each.stage != *stage) continue;
    for (const Named& one : shown) {
      std::vector<std::string> cells{std::string(one.name)};
      if (several) cells.push_back(std::to_string(each.stage + 1));
      const ShownFigure& figure = each.*one.figure;
      cells.insert(cells.end(), {humanize(figure.least), humanize(figure.expected), humanize(figure.most)});
      table.add(std::move(cells));
    }
  }
  const bool caches = std::ranges::any_of(stages, [&](const StageFigures& each) {
    return (!stage || each.stage == *stage) && each.used.most > each.memory.upper_bound();
  });
  if (caches)
    table.legend = "reserved memory and nvidia-smi include free segments, which the allocator returns if memory is short";
  document.add(std::move(table));
}

Json figures_to_json(const std::vector<StageFigures>& stages) {
  return json_list(stages, [](const StageFigures& each) -> Json {
    Json json;
    json["stage"] = each.stage + 1;
    for (const Named& one : shown) {
      const ShownFigure& figure = each.*one.figure;
      json[std::string(one.key)] = {{"least_bytes", figure.least.value()},
                                    {"expected_bytes", figure.expected.value()},
                                    {"most_bytes", figure.most.value()}};
    }
    Json items = Json::object();
    for (const MemoryItem item : enum_values<MemoryItem>) items[std::string(to_string(item))] = each.memory.of(item).value();
    json["items"] = std::move(items);
    json["total_bytes"] = each.memory.total().value();
    json["upper_bound_bytes"] = each.memory.upper_bound().value();
    return json;
  });
}

}  // namespace ddl
