#include "estimator/memory/stage_memories.hpp"

#include <cstddef>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {

double StageMemories::held_parts(const Plan& plan, const std::vector<int>& firsts, int stage) const {
  if (!order_of(plan.schedule).keeps_two_parts || plan.mesh[Axis::pipeline] == 1) return 1;
  const auto parameters = [&](int each) {
    const auto index = static_cast<std::size_t>(each);
    return stage_parameters({job_, plan, tables_.costs(plan), firsts[index], firsts[index + 1]});
  };
  const double own = parameters(stage);
  return own > 0 ? 1 + parameters(plan.mesh[Axis::pipeline] - 1 - stage) / own : 2;
}

StageOf StageMemories::stage(const Plan& plan, const std::vector<int>& firsts, int stage) const {
  const auto index = static_cast<std::size_t>(stage);
  StageOf result{job_, plan, tables_.costs(plan), firsts[index], firsts[index + 1], stage, held_parts(plan, firsts, stage)};
  if (order_of(plan.schedule).keeps_two_parts && plan.mesh[Axis::pipeline] > 1) {
    const auto mirror = static_cast<std::size_t>(plan.mesh[Axis::pipeline] - 1 - stage);
    result.mirror_first = firsts[mirror];
    result.mirror_last = firsts[mirror + 1];
  }
  return result;
}

LayerRange StageMemories::foremost_alike(const Plan& plan, const LayerRuns& runs, int first, int last) {
  // Equal layers have different memory if some of them are recomputed, or have another ZeRO stage.
  if (!plan.recompute_segments.empty() || !plan.zero_segments.empty()) return {first, last};
  const LayerRuns::Place begin = runs.place(first), end = runs.place(last);
  if (begin.run != end.run || begin.repeat <= 1) return {first, last};
  const int shift = (begin.repeat - 1) * runs.runs()[begin.run].period;
  return {first - shift, last - shift};
}

const ResidentPeaks& StageMemories::residents(const Plan& plan, const LayerRange& layers, double parts) const {
  const SplitTables::Split& split = tables_.split(plan);
  Plan once = plan;
  once.recompute = Recompute::none;
  once.recompute_segments.clear();
  const auto [resident, is_new] =
      known(split).residents.try_emplace({layers.first, layers.last, MemoryChoices(once), parts});
  if (is_new) resident->second = resident_peaks({job_, plan, *split.costs, layers.first, layers.last, 0, parts});
  return resident->second;
}

Bytes StageMemories::resident(const Plan& plan, int first, int last) const {
  const LayerRuns& runs = tables_.split(plan).costs->kinds().runs;
  const Device& device = job_.machine.device;
  return residents(plan, foremost_alike(plan, runs, first, last), 1).stays.allocated +
         communication_buffers(plan, device, engine_groups_of(job_), job_.assumptions.idle_communicators).expected +
         context_bytes(device, job_.assumptions).expected;
}

const StagePeaks& StageMemories::peaks(const Plan& plan, int stage_first, int stage_last, double parts) const {
  const SplitTables::Split& split = tables_.split(plan);
  const LayerRange layers = foremost_alike(plan, split.costs->kinds().runs, stage_first, stage_last);
  const auto [first, last] = layers;
  const auto key = std::tuple(first, last, MemoryChoices(plan), parts);
  Known& own = known(split);
  const auto before = own.peaks.find(key);
  if (before != own.peaks.end()) return before->second;
  const StageOf stage{job_, plan, *split.costs, first, last, 0, parts};
  const ResidentPeaks& resident = residents(plan, layers, parts);
  const auto [pass, is_new_pass] = own.passes.try_emplace({first, last, PassChoices(plan, job_.assumptions)});
  if (is_new_pass) pass->second = pass_peaks(stage);
  return own.peaks.emplace(key, StagePeaks(resident, pass->second)).first->second;
}

MemoryBreakdown StageMemories::memory(const Plan& plan, const std::vector<int>& firsts, int number) const {
  const StageOf stage = this->stage(plan, firsts, number);
  if (job_.assumptions.memory_reuse) return stage_memory(stage);
  const StagePeaks& own = peaks(plan, stage.first, stage.last, stage.parts);
  if (!stage.has_mirror()) return stage_memory(stage, &own);
  const MemoryState mirrored = kept(plan, stage.mirror_first, stage.mirror_last);
  return stage_memory(stage, &own, &mirrored);
}

StageMemories::PeakStage& StageMemories::fullest(const Plan& plan, const std::vector<int>& firsts) const {
  std::vector<PeakStage>& all = known(tables_.split(plan)).fullest;
  const MemoryChoices choices(plan);
  for (PeakStage& each : all) {
    if (each.choices == choices && each.schedule == plan.schedule && each.virtual_stages == plan.virtual_stages &&
        each.firsts == firsts) {
      return each;
    }
  }
  PeakStage& result = all.emplace_back(PeakStage{firsts, plan.schedule, plan.virtual_stages, choices, {}, 0});
  for (int stage = 0; stage < plan.mesh[Axis::pipeline]; ++stage) {
    const MemoryBreakdown memory = this->memory(plan, firsts, stage);
    if (stage == 0 || memory.total() > result.memory.total()) {
      result.memory = memory;
      result.stage = stage;
    }
  }
  return result;
}

MemoryState StageMemories::kept(const Plan& plan, int first, int last) const { return peaks(plan, first, last, 1).earlier; }

Bytes StageMemories::kept_alike(const Plan& plan, int stage_first, int stage_last) const {
  const SplitTables::Split& split = tables_.split(plan);
  const auto [first, last] = foremost_alike(plan, split.costs->kinds().runs, stage_first, stage_last);
  // The memory that micro-batches keep depends only on recomputation, and on the number of
  // recomputed blocks in each virtual stage.
  Plan alike = split_of(plan);
  alike.recompute = plan.recompute;
  alike.recompute_blocks = plan.recompute_blocks;
  alike.recompute_segments = plan.recompute_segments;
  alike.schedule = plan.schedule;
  alike.virtual_stages = plan.virtual_stages;
  const auto [kept, is_new] = known(split).peaks.try_emplace({first, last, MemoryChoices(alike), 0.0});
  if (is_new) kept->second.earlier = kept_by_micro_batch({job_, plan, *split.costs, first, last});
  return kept->second.earlier.allocated;
}

}  // namespace ddl
