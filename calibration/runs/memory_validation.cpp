#include "calibration/runs/memory_validation.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>

#include "core/error.hpp"

namespace ddl {

bool MemoryCase::is_wrong() const {
  if (!predicted) return false;
  return predicted->verdict == (is_out_of_memory() ? Verdict::fits : Verdict::does_not_fit);
}

std::optional<Bytes> MemoryCase::figure() const {
  if (!predicted) return std::nullopt;
  const MemoryBreakdown& memory = predicted->measured;
  if (run.quantity == "memory_allocated_gib") return memory.allocated();
  // The allocator returns cached segments before it fails.
  const Bytes outside = memory.context + memory.outside_buffers;
  const Bytes reserved = max(memory.allocated(), min(memory.peak_reserved, predicted->device - outside));
  if (run.quantity == "memory_reserved_gib") return reserved;
  if (run.quantity == "memory_used_gib") return reserved + outside;
  return std::nullopt;
}

std::optional<double> MemoryCase::error() const {
  constexpr double gib = 1024.0 * 1024 * 1024;
  const std::optional<Bytes> own = figure();
  if (!own || run.value <= 0) return std::nullopt;
  return own->value() / (run.value * gib) - 1;
}

std::string kind_of(const MemoryCase& one) {
  if (!one.predicted) return {};
  if (one.predicted->has_adapters) return "LoRA";
  if (one.predicted->has_sequences) return "language model";
  return one.predicted->has_attention ? "vision transformer" : "CNN";
}

std::vector<MemoryCase> memory_cases(std::span<const MeasuredRun> runs, const std::string& machine,
                                     const std::string& software) {
  std::vector<MemoryCase> cases(runs.size());
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto where = [&](std::size_t i) {
    return std::pair(runs[i].machine.empty() ? machine : runs[i].machine, runs[i].model);
  };
  // Runs of one machine and model share results.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return where(a) < where(b); });
  std::unique_ptr<RunPredictor> predictor;
  std::pair<std::string, std::string> last;
  for (const std::size_t i : order) {
    MemoryCase& one = cases[i];
    one.run = runs[i];
    try {
      const auto now = where(i);
      if (!predictor || now.first != last.first) {
        predictor.reset();
        predictor = std::make_unique<RunPredictor>(now.first, "none", ProfileChoice{}, software);
      } else if (now.second != last.second) {
        predictor->forget_studies();
      }
      last = now;
      auto predicted = predictor->predict_memory(runs[i]);
      if (const auto* why = std::get_if<Unpredictable>(&predicted)) {
        one.refusal = *why;
      } else {
        one.predicted = std::get<MemoryPrediction>(std::move(predicted));
      }
    } catch (const Error& error) {
      if (runs[i].machine.empty()) throw;
      one.refusal = Unpredictable{error.what()};
    }
  }
  return cases;
}

MemorySummary summarize_memory(std::span<const MemoryCase> cases) {
  MemorySummary summary;
  const auto add = [](MemoryGroup& group, const MemoryCase& one) {
    ++group.runs;
    group.unpredicted += one.predicted ? 0 : 1;
    if (one.is_wrong()) ++(one.is_out_of_memory() ? group.fits_and_failed : group.refused_and_ran);
    group.at_risk += one.predicted && one.predicted->verdict == Verdict::at_risk ? 1 : 0;
    const std::optional<double> error = one.error();
    group.figures += error ? 1 : 0;
    group.mean_error += std::abs(error.value_or(0.0));
  };
  for (const MemoryCase& one : cases) {
    add(summary.all, one);
    if (one.predicted) add(summary.by_kind[kind_of(one)], one);
    add(summary.by_set[one.run.set], one);
    if (one.error()) add(summary.by_figure[one.run.quantity], one);
  }
  const auto finish = [](MemoryGroup& group) {
    if (group.figures > 0) group.mean_error /= group.figures;
  };
  finish(summary.all);
  for (auto* groups : {&summary.by_kind, &summary.by_set, &summary.by_figure}) {
    for (auto& [name, group] : *groups) finish(group);
  }
  return summary;
}

}  // namespace ddl
