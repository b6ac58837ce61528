#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/network/sweep/contention_sweep.hpp"
#include "calibration/network/sweep/overlap_sweep.hpp"
#include "calibration/network/sweep/step_timing.hpp"
#include "calibration/network/sweep/sweep_groups.hpp"
#include "calibration/network/sweep/transport.hpp"

namespace ddl {

/// What a sweep measures.
struct SweepPlan {
  std::vector<SweepOperation> operations{};
  bool contention = true;
  bool overlap = true;
  std::int64_t smallest = 4, largest = std::int64_t{4} << 20;  ///< bytes of the full vector
  int window = 64;                                             ///< messages under way at once in bandwidth tests; OSU's
  TimingRule rule{};
  /// A size is left out, and those above it, where six samples of it would take longer.
  Seconds longest_row = Seconds(10);
};

struct SweepRow {
  std::int64_t bytes = 0;  ///< as ExchangeStep has them
  StepTiming timing{};
};

/// One operation on one group of ranks.
struct SweepTable {
  SweepOperation operation = SweepOperation::latency;
  int ranks = 2, nodes = 1;
  int window = 1;
  std::vector<SweepRow> rows{};
};

struct SweepResult {
  std::vector<SweepTable> tables{};
  std::vector<ContentionPoint> contention{};
  std::optional<Overlap> overlap{};
  std::vector<std::string> warnings{};
};

/// Before each table: how many are done, of how many, and what comes next.
using SweepWatch = std::function<void(std::size_t done, std::size_t all, const std::string& next)>;

/// Runs the plan. All processes have the same result. An Error where processes were asked for different plans, and whatever
/// a transport throws. `load` makes the kernels that run beside an exchange; where they fail it becomes a warning.
[[nodiscard]] SweepResult run_sweep(Transport& transport, const SweepPlan& plan, const LoadMaker& load,
                                    const SweepWatch& watch = {});

/// Sizes of one table, doubling: of an operation that reduces, floats that the ranks share evenly.
[[nodiscard]] std::vector<std::int64_t> sweep_sizes(const SweepPlan& plan, SweepOperation operation, int ranks);

}  // namespace ddl
