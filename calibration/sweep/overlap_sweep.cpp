#include "calibration/sweep/overlap_sweep.hpp"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/sweep/gathered_numbers.hpp"
#include "calibration/sweep/sweep_groups.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"

namespace ddl {
namespace {

/// Kernels run alone for so long.
constexpr std::chrono::milliseconds alone_for(200);

Seconds mean_over_processes(Transport& transport, Seconds mine) {
  return Seconds(mean(gather_numbers(transport.processes(), mine.value())));
}

}  // namespace

Overlap sweep_overlap(Transport& transport, std::int64_t bytes, const TimingRule& rule, const LoadMaker& make) {
  NamedLoad loaded{transport.simulated_load(), "simulated"};
  const bool is_real = loaded.load == nullptr;
  std::optional<Error> problem;
  if (is_real) {
    try {
      loaded = make();
    } catch (const Error& error) {
      problem = error;
    }
  }
  // Either all take part or none does.
  const std::vector<std::string> problems = transport.processes().gather(problem ? problem->what() : "");
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank].empty()) continue;
    throw Error(fmt::format("no kernels ran beside an exchange: rank {}: {}", rank, problems[rank]),
                problem ? problem->hint() : "");
  }
  Overlap overlap{.kernel = loaded.name, .bytes = bytes};
  loaded.load->start();
  if (is_real) std::this_thread::sleep_for(alone_for);
  overlap.kernel_alone = mean_over_processes(transport, loaded.load->stop());

  const SweepGroup all = sweep_collective_groups(transport.nodes()).back();
  overlap.ranks = static_cast<int>(all.ranks.size());
  const ExchangeStep step{.operation = SweepOperation::allreduce, .bytes = bytes, .groups = {all.ranks}};
  overlap.exchange_alone = time_step(transport, step, rule).time();
  loaded.load->start();
  overlap.exchange_beside = time_step(transport, step, rule).time();
  overlap.kernel_beside = mean_over_processes(transport, loaded.load->stop());
  return overlap;
}

}  // namespace ddl
