#include "profiler/backends/backends.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "model_zoo/network/problem.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;
using Catch::Matchers::StartsWith;

TEST_CASE("the error for an unknown back end suggests the nearest known name") {
  CHECK(error_of([] { static_cast<void>(open_backend("onednm", {})); }) ==
        "unknown back end 'onednm'\nhint: did you mean 'onednn'?");
  CHECK(error_of([] { static_cast<void>(open_backend("", {})); }) ==
        "unknown back end ''\nhint: known: cuda, onednn, simulated");
  CHECK_THAT(error_of([] { static_cast<void>(count_devices("tpu")); }), StartsWith("unknown back end 'tpu'"));
}

TEST_CASE("the simulated back end is always available, with the given values") {
  const BackendStatus status = backend_status("simulated");
  REQUIRE(status.available());
  CHECK(status.problem.empty());
  CHECK(status.devices.front().backend == "simulated");
  const auto backend = open_backend("simulated", {.simulated = "peak=2 TFLOP/s seed=7"});
  const auto details = backend->info().details;
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::count(details.begin(), details.end(), std::pair(key, value)) == 1;
  };
  CHECK(has("peak", "2 TFLOP/s"));
  CHECK(has("seed", "7"));
  CHECK(error_of([] { static_cast<void>(open_backend("simulated", {.simulated = "peek=2 TFLOP/s"})); }) ==
        "--simulated:1:1: a simulated device has no 'peek'\n  peek=2 TFLOP/s\n  ^\nhint: did you mean 'peak'?");
}

TEST_CASE("a missing device is refused") {
  CHECK(error_of([] { static_cast<void>(open_backend("simulated", {.device = 1})); }) ==
        "there is no device 1 for simulated\nhint: there is one, number 0");
  CHECK(error_of([] { static_cast<void>(open_backend("simulated", {.device = -1})); }) ==
        "there is no device -1 for simulated\nhint: there is one, number 0");
}

TEST_CASE("a back end runs, or the error states the reason and how to install the back end") {
  for (const BackendKind& kind : backend_kinds()) {
    INFO(kind.name);
    const BackendStatus status = backend_status(kind.name);
    INFO(status.problem);
    CHECK(status.available() == status.problem.empty());
    CHECK(status.available() == status.hint.empty());
    for (const DeviceInfo& device : status.devices) {
      CHECK(device.backend == kind.name);
      CHECK_FALSE(device.device.empty());
    }
    if (status.available()) {
      CHECK(open_backend(kind.name, {})->info().device == status.devices.front().device);
    } else {
      CHECK(error_of([&] { static_cast<void>(open_backend(kind.name, {})); }) == status.problem + "\nhint: " + status.hint);
    }
  }
}

TEST_CASE("the back end that was built here runs from its module, and its errors are caught") {
  const BackendStatus status = backend_status("onednn");
  INFO(status.problem);
  CHECK(status.available() == HAS_ONEDNN);
  if (!status.available()) return;
  const auto backend = open_backend("onednn", {});
  const Problem refused = parse_problem("activation kind=relu in=8 precision=tf32", "test");
  CHECK(backend->refusal(refused) == "processors have no tf32");
  CHECK(error_of([&] { static_cast<void>(backend->prepare(refused)); }) == "processors have no tf32");
  // An operation that the program created runs inside the module.
  const auto kernel = backend->prepare(parse_problem("activation kind=relu in=8", "test"));
  CHECK(kernel->tensors().size() >= 1);
}

TEST_CASE("the default back end is not a simulation") {
  const auto runs = [](const char* name) { return backend_status(name).available(); };
  if (runs("cuda") || runs("onednn")) {
    CHECK(default_backend() == (runs("cuda") ? "cuda" : "onednn"));
  } else {
    const std::string error = error_of([] { static_cast<void>(default_backend()); });
    CHECK_THAT(error, StartsWith("no measurement back end is available:\n  cuda: "));
    CHECK_THAT(error, ContainsSubstring("\n  onednn: "));
  }
}
