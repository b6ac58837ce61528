#include "calibration/network/sweep/overlap_sweep.hpp"

#include <chrono>
#include <thread>

#include "calibration/network/sweep/agreement.hpp"
#include "calibration/network/sweep/gathered_numbers.hpp"
#include "calibration/network/sweep/sweep_groups.hpp"
#include "core/statistics.hpp"

namespace ddl {
namespace {

/// Duration for which kernels run alone.
constexpr std::chrono::milliseconds alone_for(200);

/// Stops the kernels of every process, and returns their mean time.
Seconds time_of_kernels(Transport& transport, DeviceLoad& load) {
  Seconds mine;
  do_or_agree(transport.processes(), [&] { mine = load.stop(); });
  return Seconds(mean(gather_numbers(transport.processes(), mine.value())));
}

}  // namespace

Overlap sweep_overlap(Transport& transport, std::int64_t bytes, const TimingRule& rule, const LoadMaker& make) {
  NamedLoad loaded{transport.simulated_load(), "simulated"};
  const bool is_real = loaded.load == nullptr;
  // If one process cannot run kernels, no process does.
  do_or_agree(transport.processes(), [&] {
    if (is_real) loaded = make();
  });
  Overlap overlap{.kernel = loaded.name, .bytes = bytes};
  loaded.load->start();
  if (is_real) std::this_thread::sleep_for(alone_for);
  overlap.kernel_alone = time_of_kernels(transport, *loaded.load);

  const SweepGroup all = sweep_collective_groups(transport.nodes()).back();
  overlap.ranks = static_cast<int>(all.ranks.size());
  const ExchangeStep step{.operation = SweepOperation::allreduce, .bytes = bytes, .groups = {all.ranks}};
  overlap.exchange_alone = time_step(transport, step, rule).time();
  loaded.load->start();
  overlap.exchange_overlapped = time_step(transport, step, rule).time();
  overlap.kernel_overlapped = time_of_kernels(transport, *loaded.load);
  return overlap;
}

}  // namespace ddl
