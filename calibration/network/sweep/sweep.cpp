#include "calibration/network/sweep/sweep.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/sweep/agreement.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// The settings of a sweep as text. They must be equal in all processes.
std::string text_of(const SweepPlan& plan) {
  std::string text = fmt::format("{} {} {} {} {} {} {}", plan.contention, plan.overlap, plan.smallest, plan.largest,
                                 plan.window, plan.rule.sampling.limit.value(), plan.rule.sampling.tolerance);
  for (const SweepOperation operation : plan.operations) text += fmt::format(" {}", kind_of(operation).name);
  return text;
}

void require_one_plan(Processes& processes, const SweepPlan& plan) {
  const std::string ours = text_of(plan);
  const std::vector<std::string> plans = processes.gather(ours);
  if (plans.front() != ours) {
    throw Error(fmt::format("rank {} has other options than rank 0", processes.rank()),
                "start all ranks with the same options");
  }
}

std::vector<SweepTable> tables_of(const SweepPlan& plan, const std::vector<int>& nodes,
                                  std::vector<std::vector<int>>& groups) {
  std::vector<SweepTable> tables;
  for (const SweepOperation operation : plan.operations) {
    const bool of_pair = kind_of(operation).pattern != ExchangePattern::collective;
    const bool windowed = of_pair && operation != SweepOperation::latency;
    for (SweepGroup& group : of_pair ? sweep_pairs(nodes) : sweep_collective_groups(nodes)) {
      tables.push_back({.operation = operation,
                        .ranks = static_cast<int>(group.ranks.size()),
                        .nodes = group.nodes,
                        .window = windowed ? plan.window : 1});
      groups.push_back(std::move(group.ranks));
    }
  }
  return tables;
}

std::string title_of(const SweepTable& table) {
  return fmt::format("{} of {} ranks on {} node{}", kind_of(table.operation).name, table.ranks, table.nodes,
                     table.nodes == 1 ? "" : "s");
}

/// If the interval of a median is larger than this share of the median, other work disturbed the measurement.
constexpr double unsteady = 0.1;
/// By chance, one of this many sizes has an interval that is wider than `unsteady`.
constexpr std::size_t sizes_for_one_unsteady = 10;

double doubt_of(const SweepRow& row) {
  const Samples& samples = row.timing.samples;
  return samples.settled || !(samples.median > Seconds(0)) ? 0 : (samples.high - samples.low) / 2.0 / samples.median;
}

/// A warning about the quality of a table; empty if there is none.
std::string unsteady_warning(const SweepTable& table) {
  double worst = 0;
  std::size_t count = 0;
  for (const SweepRow& row : table.rows) {
    if (doubt_of(row) > unsteady) ++count;
    worst = std::max(worst, doubt_of(row));
  }
  if (count * sizes_for_one_unsteady <= table.rows.size()) return {};
  return fmt::format(
      "{}: {} of {} sizes have an uncertainty of {:.0f} % or more, at most {:.0f} %: other programs use these processors or "
      "this network; measure again while they are idle, or with a longer --limit",
      title_of(table), count, table.rows.size(), 100 * unsteady, 100 * worst);
}

}  // namespace

std::vector<std::int64_t> sweep_sizes(const SweepPlan& plan, SweepOperation operation, int ranks) {
  const SweepOperationKind& kind = kind_of(operation);
  constexpr std::int64_t floats = sizeof(float);
  std::int64_t unit = 1;
  if (kind.reduces) unit = operation == SweepOperation::reduce_scatter ? floats * ranks : floats;
  const std::int64_t parts = kind.of_part ? ranks : 1;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = std::max(unit, plan.smallest / parts / unit * unit); size * parts <= plan.largest; size *= 2) {
    sizes.push_back(size);
  }
  return sizes;
}

SweepResult run_sweep(Transport& transport, const SweepPlan& plan, const LoadMaker& load, const SweepWatch& watch) {
  require_one_plan(transport.processes(), plan);
  SweepResult result;
  std::vector<std::vector<int>> groups;
  std::vector<SweepTable> tables = tables_of(plan, transport.nodes(), groups);
  const std::size_t all = tables.size() + (plan.contention ? 1 : 0) + (plan.overlap ? 1 : 0);
  const auto show = [&](std::size_t done, const std::string& next) {
    if (watch) watch(done, all, next);
  };
  // `largest` becomes the largest size that does not take too long without concurrent work. Larger
  // sizes would also take too long with concurrent groups or kernels.
  std::int64_t largest = plan.largest;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    SweepTable& table = tables[i];
    show(i, title_of(table));
    for (const std::int64_t bytes : sweep_sizes(plan, table.operation, table.ranks)) {
      const ExchangeStep step{.operation = table.operation, .bytes = bytes, .window = table.window, .groups = {groups[i]}};
      table.rows.push_back({bytes, time_step(transport, step, plan.rule)});
      // The next size takes about twice as long.
      const Seconds next = table.rows.back().timing.time() * (2.0 * table.window * plan.rule.sampling.least);
      if (next > plan.longest_row && 2 * bytes <= plan.largest) {
        result.warnings.push_back(fmt::format("{}: sizes above {} were skipped, since each would take longer than {}",
                                              title_of(table), humanize(Bytes(static_cast<double>(bytes))),
                                              humanize(plan.longest_row)));
        const std::int64_t parts = kind_of(table.operation).of_part ? table.ranks : 1;
        if (table.window == 1) largest = std::min(largest, bytes * parts);
        break;
      }
    }
    if (std::string warning = unsteady_warning(table); !warning.empty()) result.warnings.push_back(std::move(warning));
    if (!table.rows.empty()) result.tables.push_back(std::move(table));
  }
  if (plan.contention) {
    show(tables.size(), "concurrent groups");
    result.contention = sweep_contention(transport, largest, plan.rule);
    if (result.contention.empty() && !sweep_contenders(transport.nodes()).empty()) {
      result.warnings.emplace_back(
          "concurrent groups: the time per byte is below the noise; use a larger --largest or a longer --limit");
    }
  }
  if (plan.overlap) {
    show(all - 1, "kernels overlapped with a collective");
    try {
      result.overlap = sweep_overlap(transport, largest, plan.rule, load);
    } catch (const AgreedError& error) {
      // All processes get this error, so no process waits for another one.
      result.warnings.push_back(fmt::format("no kernels were overlapped with a collective: {}", error.what()));
    }
  }
  return result;
}

}  // namespace ddl
