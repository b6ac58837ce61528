#include <cmath>
#include <vector>

#include "core/statistics.hpp"
#include "profiler/backends/simulated/backend.hpp"
#include "tests/catch.hpp"
#include "tests/contract/kernel_contract.hpp"

using namespace ddl;

namespace {

Seconds time_of(KernelBackend& backend, const std::string& line) {
  const auto kernel = backend.prepare(parse_problem(line, "test"));
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<DeviceBuffer*> bound;
  for (const KernelTensor& tensor : kernel->tensors()) {
    buffers.push_back(backend.allocate_for(tensor));
    bound.push_back(buffers.back().get());
  }
  return backend.time([&] { kernel->run(bound); });
}

}  // namespace

TEST_CASE("the simulated device passes the contract of all back ends") { check_behaves(*make_simulated_backend({})); }

TEST_CASE("without noise, the simulated device has the times of its datasheet") {
  const auto backend = make_simulated_backend({FlopRate(1e12), Bandwidth(100e9), Seconds(1e-6), 0, 1});
  // There are 1000 × 1000 × 512 multiply-adds: 1.024 GFLOP in 1.024 ms, overlapped with 6 MB in 0.06 ms.
  CHECK(time_of(*backend, "fully_connected features=1000 bias=no in=1000 samples=512").value() ==
        Approx(1e-6 + 2 * 1000.0 * 1000 * 512 / 1e12));
  // The time is the traffic of a copy: a million fp32 elements are read and written.
  CHECK(time_of(*backend, "activation kind=relu in=1000000").value() == Approx(1e-6 + 8e6 / 100e9));
  CHECK(time_of(*backend, "flatten in=10x10x10").value() == 0);
}

TEST_CASE("noise has a median of one, the given spread, and the same values for the same seed") {
  const auto times = [](std::uint64_t seed) {
    const auto backend = make_simulated_backend({FlopRate(1e12), Bandwidth(100e9), Seconds(1e-6), 0.1, seed});
    std::vector<double> result;
    for (int i = 0; i < 2000; ++i) result.push_back(time_of(*backend, "activation kind=relu in=1000000").value());
    return result;
  };
  const std::vector<double> first = times(3);
  CHECK(first == times(3));
  CHECK(first != times(4));
  CHECK(median(first) == Approx(81e-6).epsilon(0.01));  // 0.1·1.25/√2000 = 0.3 %
  std::vector<double> logarithms;
  for (const double time : first) logarithms.push_back(std::log(time / 81e-6));
  double squares = 0;
  for (const double value : logarithms) squares += value * value;
  CHECK(std::sqrt(squares / 2000) == Approx(0.1).epsilon(0.06));
}
