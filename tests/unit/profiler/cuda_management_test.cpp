#include "profiler/backends/cuda/management.hpp"
#include "tests/catch.hpp"

using namespace ddl;
using namespace ddl::cuda;

// A stub of NVML is in the folder that is searched first.

TEST_CASE("clocks, power and reasons for lower clocks are read from the management library") {
  const Management management("0000:3B:00.0");
  const DeviceState state = management.state();
  CHECK(state.clock_hz == Approx(1410e6));
  CHECK(state.power_w == Approx(699.5));
  // The stub also reports an idle device, because a device is idle when it is queried between two
  // kernels. The state omits that reason.
  CHECK(state.slowed_by == "power cap");
  CHECK(Management::driver_version() == "580.65.06");
  std::string details;
  for (const auto& [key, value] : management.details()) details += key + "=" + value + ";";
  // Values that the library does not support are omitted.
  CHECK(details == "driver=580.65.06;SM clock=1410 MHz;memory clock=2619 MHz;slowed down by=idle, power cap;");
}

TEST_CASE("a device that the management library does not know has no clocks or power") {
  const Management management("0000:00:00.0");
  CHECK(management.state().clock_hz == 0);
  CHECK(management.state().slowed_by.empty());
}
