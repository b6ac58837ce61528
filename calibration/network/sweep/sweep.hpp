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

/// The measurements of a sweep.
struct SweepPlan {
  std::vector<SweepOperation> operations{};
  bool contention = true;
  bool overlap = true;
  std::int64_t smallest = 4, largest = std::int64_t{4} << 20;  ///< bytes of the full vector
  int window = 64;                                             ///< messages in flight in bandwidth tests; OSU's default
  TimingRule rule{};
  /// If six samples of a size would take longer than this, the size and all larger sizes are skipped.
  Seconds longest_row = Seconds(10);
};

struct SweepRow {
  std::int64_t bytes = 0;  ///< as in ExchangeStep::bytes
  StepTiming timing{};
};

/// A table of results: one operation on one group of ranks.
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

/// Called before each table with the number of finished tables, the number of all tables, and the next table.
using SweepWatch = std::function<void(std::size_t done, std::size_t all, const std::string& next)>;

/// Runs the plan. All processes get the same result. Throws Error if processes have different plans, and for errors of the
/// transport. `load`: creates the kernels that run concurrently with an exchange. If the kernels fail, the result has a
/// warning.
[[nodiscard]] SweepResult run_sweep(Transport& transport, const SweepPlan& plan, const LoadMaker& load,
                                    const SweepWatch& watch = {});

/// The sizes of one table, each twice the previous one. For a reducing operation, the number of floats is divisible by the
/// number of ranks.
[[nodiscard]] std::vector<std::int64_t> sweep_sizes(const SweepPlan& plan, SweepOperation operation, int ranks);

}  // namespace ddl
