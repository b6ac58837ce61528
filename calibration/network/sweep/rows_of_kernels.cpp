#include "calibration/network/sweep/rows_of_kernels.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

/// Total duration of the timed kernels. It is long compared with the overhead of the back end's timing.
constexpr Seconds timed_for(100e-6);
/// Duration of a row of kernels. It is long compared with the wait for the end of the row.
constexpr Seconds row_for(5e-3);
/// Maximum number of kernels in a row. After about a thousand queued kernels, a launch blocks the host.
constexpr int queue_length = 500;

int how_many(Seconds time, Seconds each) {
  const double count = std::ceil(time.value() / std::max(each.value(), 1e-9));
  return static_cast<int>(std::min(count, static_cast<double>(queue_length)));
}

}  // namespace

void RowsOfKernels::make_rows(Seconds alone) {
  timed_ = std::max(how_many(timed_for, alone), 1);
  before_ = std::max(how_many(row_for, alone) - timed_, 0);
}

Seconds RowsOfKernels::time(const std::function<void()>& work) {
  for (int i = 0; i < before_; ++i) work();
  const Seconds all = backend_->time([&] {
    for (int i = 0; i < timed_; ++i) work();
  });
  return all / timed_;
}

}  // namespace ddl
