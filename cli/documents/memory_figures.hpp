#pragma once

#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/report/document.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A figure of memory that a tool shows, with its interval.
struct ShownFigure {
  Bytes least{}, expected{}, most{};
};

/// What tools show for a rank of one stage. `allocated`: torch.cuda.max_memory_allocated. `reserved`:
/// torch.cuda.max_memory_reserved. `used`: the memory of the process in nvidia-smi. A figure above the memory of the device
/// is what the process would need.
struct StageFigures {
  int stage = 0;
  MemoryBreakdown memory;
  ShownFigure allocated, reserved, used;
};

/// Returns the figures of a plan on a device with this memory, with the memory that the allocator reserves.
[[nodiscard]] StageFigures shown_figures(const MemoryBreakdown& memory, Bytes device_memory, int stage = 0);
/// Returns the figures of every stage of a plan, in order.
[[nodiscard]] std::vector<StageFigures> figures_by_stage(const Estimator& estimator, const Plan& plan);

/// Adds a table of the figures. `stage`: only this stage, 0-based.
void add_shown_figures(Document& document, const std::vector<StageFigures>& stages, std::optional<int> stage = {});
[[nodiscard]] nlohmann::ordered_json figures_to_json(const std::vector<StageFigures>& stages);

}  // namespace ddl
