#include <memory>
#include <string>
#include <vector>

#include "core/device_lost.hpp"
#include "core/error.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/backends/cuda/status.hpp"
#include "profiler/backends/cuda/stopwatch.hpp"
#include "profiler/backends/cuda/supported_device.hpp"
#include "profiler/measurement/measurement.hpp"
#include "profiler/measurement/problems.hpp"
#include "profiler/measurement/sequence.hpp"
#include "profiler/profiles/profiling.hpp"
#include "tests/catch.hpp"
#include "tests/contract/cuda_emulation/device.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

using namespace ddl;
using namespace ddl::cuda;
using emulation::Timeline;

// Tests measurements over an emulated device and host with simulated clocks. By default, a kernel
// takes 10 µs of the device, and its launch takes 5 µs of the host.

namespace {

/// Simulated clocks for the duration of a test, after which the device is repaired.
class Clocks {
 public:
  explicit Clocks(const Timeline& timeline) {
    emulation::restart(timeline);
    emulation::timeline().is_on = true;
  }
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;
  ~Clocks() {
    emulation::break_device(cudaSuccess);
    emulation::restart({});
    emulation::properties() = {};
  }
};

constexpr double clock_hz = 1e9;

std::function<void()> kernels(int count) {
  return [count] {
    for (int i = 0; i < count; ++i) emulation::launched();
  };
}

/// Returns a chain of layers with one kernel each.
Model chain(int layers) {
  std::string text = "  - fully_connected: {features: 2, bias: no}\n";
  for (int i = 0; i < layers; ++i) text += "  - activation: hardswish\n";
  return model_of("{features: 2}", text);
}

}  // namespace

TEST_CASE("the time of a kernel is the device's, for any launch time of the host") {
  const Clocks clocks({.launch_cost = 200e-6});
  Stopwatch stopwatch(nullptr, clock_hz);
  TimedWork work(kernels(1));
  CHECK(stopwatch.time(work).value() == Approx(10e-6));
  // The host takes a millisecond for five kernels of 10 µs. Its last launch time determines how long the device is held.
  TimedWork several(kernels(5));
  static_cast<void>(stopwatch.time(several));
  CHECK(stopwatch.time(several).value() == Approx(50e-6));
  CHECK_FALSE(several.host_bound);
}

TEST_CASE("each piece of work is held back until it is completely launched, whatever was launched before") {
  const Clocks clocks({});
  Stopwatch stopwatch(nullptr, clock_hz);
  TimedWork small(kernels(1));
  TimedWork large(kernels(400));
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(stopwatch.time(small));
    static_cast<void>(stopwatch.time(large));
  }
  CHECK(stopwatch.time(small).value() == Approx(10e-6));
  CHECK(stopwatch.time(large).value() == Approx(400 * 10e-6));
  CHECK_FALSE(large.host_bound);
  CHECK(large.pieces.front().starting.value() == Approx(400 * 5e-6));
}

TEST_CASE("the time between two events without work is subtracted") {
  const Clocks clocks({.event_time = 2e-6});
  Stopwatch stopwatch(nullptr, clock_hz);
  CHECK(stopwatch.floor().value() == Approx(2e-6));
  TimedWork work(kernels(1));
  CHECK(stopwatch.time(work).value() == Approx(10e-6));
  TimedWork nothing([] {});
  CHECK(stopwatch.time(nothing).value() == Approx(0).margin(1e-12));
}

TEST_CASE("work that does not fit into the launch queue waits for the host, unless it is divided into pieces") {
  // There are 3000 kernels of 2 µs, each of which the host launches in 5 µs. The device finishes
  // queued kernels long before the last launch.
  const Clocks clocks({.kernel_time = 2e-6});
  Stopwatch stopwatch(nullptr, clock_hz);
  TimedWork at_once(kernels(3000));
  static_cast<void>(stopwatch.time(at_once));
  CHECK(stopwatch.time(at_once).value() > 1.5 * 3000 * 2e-6);
  CHECK(at_once.host_bound);
  TimedWork pieces;
  for (int i = 0; i < 30; ++i) pieces.pieces.push_back({kernels(100)});
  static_cast<void>(stopwatch.time(pieces));
  CHECK(stopwatch.time(pieces).value() == Approx(3000 * 2e-6));
  CHECK_FALSE(pieces.host_bound);
}

TEST_CASE("a whole step is timed without the host, part by part") {
  const Clocks clocks({.launch_cost = 20e-6, .kernel_time = 3e-6});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::first});
  const Model model = chain(200);
  SequenceSampling sampling(*backend, model, 1, Precision::fp32, Optimizer::sgd);
  REQUIRE_FALSE(sampling.failed());
  // Measurements of the device's speed are made between steps. Each is one kernel with a launch that takes no time.
  TimedWork look(kernels(1));
  for (int i = 0; i < 6; ++i) {
    static_cast<void>(backend->time_again(look));
    sampling.step();
  }
  const std::vector<Measurement> parts = sampling.measurements({});
  REQUIRE(parts.size() == 3);
  Sequence sequence(*backend, model, 1, Precision::fp32, Optimizer::sgd);
  for (const auto& [part, measured] : {std::pair(StepPart::forward, parts[0]), std::pair(StepPart::backward, parts[1])}) {
    INFO(to_string(part));
    CHECK(sequence.kernels(part) >= 200);
    CHECK(measured.samples.median.value() == Approx(sequence.kernels(part) * 3e-6));
    CHECK_FALSE(measured.host_bound);
  }
}

TEST_CASE("pieces of a step are smaller if the device queues fewer kernels") {
  const Clocks clocks({.launch_cost = 20e-6, .kernel_time = 3e-6, .queue = 20});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::first});
  const Model model = chain(200);
  SequenceSampling sampling(*backend, model, 1, Precision::fp32, Optimizer::sgd);
  sampling.step();
  const Measurement forward = sampling.measurements({}).front();
  Sequence sequence(*backend, model, 1, Precision::fp32, Optimizer::sgd);
  CHECK(forward.samples.median.value() == Approx(sequence.kernels(StepPart::forward) * 3e-6));
  CHECK_FALSE(forward.host_bound);
}

TEST_CASE("a step recorded as graphs launches each part once") {
  const Clocks clocks({.launch_cost = 20e-6, .kernel_time = 3e-6});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::first});
  const Model model = chain(300);
  SequenceSampling sampling(*backend, model, 1, Precision::fp32, Optimizer::sgd, StepStart::graph);
  REQUIRE_FALSE(sampling.failed());
  const std::int64_t before = emulation::timeline().graph_launches;
  sampling.step();
  CHECK(emulation::timeline().graph_launches == before + 3);
  const std::vector<Measurement> parts = sampling.measurements({});
  Sequence sequence(*backend, model, 1, Precision::fp32, Optimizer::sgd);
  CHECK(parts[0].samples.median.value() == Approx(sequence.kernels(StepPart::forward) * 3e-6));
}

TEST_CASE("a graph is recorded anew after the shared workspace has moved") {
  const Clocks clocks({});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::first});
  int recorded = 0;
  const std::function<void()> start = backend->record([&] {
    ++recorded;
    emulation::launched();
  });
  start();
  start();
  CHECK(recorded == 1);
  // The algorithm needs a larger workspace than all earlier algorithms.
  static_cast<void>(backend->prepare(parse_problem("fully_connected features=4 in=4 samples=2", "test")));
  start();
  CHECK(recorded == 2);
}

TEST_CASE("a failed recording gives the reason, and leaves the device usable") {
  const Clocks clocks({});
  const auto backend = make_cuda_backend({});
  CHECK_THROWS_WITH(backend->record([] { throw Error("not in a graph"); }), "not in a graph");
  // A CUDA error occurs during the recording, where waiting for the device is not allowed.
  CHECK_THROWS_WITH(backend->record([] { check(cudaErrorInvalidValue, "a kernel"); }), ContainsSubstring("a kernel: "));
  CHECK(backend->time(kernels(1)).value() == Approx(10e-6));
}

TEST_CASE("kernels too short for the clock are timed in batches, each kernel on its own tensors") {
  const Clocks clocks({.kernel_time = 2e-6});
  const auto backend = make_cuda_backend({});
  const SamplingRule rule{.warm_up = 0, .least = 6, .most = 6};
  const char* line = "activation kind=hardswish in=8 samples=2";
  // The first measurement chooses an algorithm, which later ones use.
  static_cast<void>(measure(*backend, line, rule, CacheState::warm));
  const auto launches = [&](CacheState caches) {
    const std::int64_t before = emulation::timeline().launches;
    const Measurement measured = measure(*backend, line, rule, caches);
    CHECK(measured.reason.empty());
    CHECK(measured.samples.median.value() == Approx(2e-6));
    return emulation::timeline().launches - before;
  };
  // There are six samples of 32 repetitions, two single repetitions before, and a hold before each of the eight.
  CHECK(launches(CacheState::warm) == 6 * 33 + 2 * 2);
  // With cold caches, there is also a flush before each of the eight. With the caches of a step,
  // the input of each of the 32 repetitions is touched, too.
  const std::int64_t cold = launches(CacheState::cold);
  CHECK(cold >= 6 * 34);
  CHECK(launches(CacheState::step) == cold + 6 * 32 + 2);
}

TEST_CASE("short kernels with large tensors are timed in as large a batch as the cache holds") {
  const Clocks clocks({.kernel_time = 2e-6});
  const auto backend = make_cuda_backend({});
  const SamplingRule rule{.warm_up = 0, .least = 6, .most = 6};
  const auto launches = [&](const char* line) {
    static_cast<void>(measure(*backend, line, rule, CacheState::cold));
    const std::int64_t before = emulation::timeline().launches;
    CHECK(measure(*backend, line, rule, CacheState::cold).samples.median.value() == Approx(2e-6));
    return emulation::timeline().launches - before;
  };
  // The cache has 1 MiB. Half of it holds four copies of two tensors of 64 KiB, but only one copy of two tensors of 256 KiB.
  CHECK(launches("activation kind=hardswish in=16384 samples=1") < 6 * (2 + 5) + 20);
  CHECK(launches("activation kind=hardswish in=65536 samples=1") < 6 * 4 + 10);
}

TEST_CASE("candidates are ranked by the device's time, not by the host's") {
  const Clocks clocks({.launch_cost = 300e-6, .kernel_time = 4e-6});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::fastest});
  const auto kernel = backend->prepare(parse_problem("fully_connected features=4 in=4 samples=2 bias=no", "test"));
  CHECK(kernel->algorithm().starts_with("cublaslt"));
}

TEST_CASE("a permanent error ends the process instead of becoming the reason of a row") {
  // Long kernels warm the device after a few launches. The kernels are small, because they are actually computed.
  const Clocks clocks({.kernel_time = 0.3});
  emulation::properties().multiprocessors = 0;
  const auto backend = make_cuda_backend({});
  ProfilePlan plan;
  for (const char* line : {"activation kind=hardswish in=4 samples=1", "activation kind=silu in=4 samples=1"}) {
    plan.problems.push_back({print_problem(parse_problem(line, "test")), 1});
  }
  Profiling profiling(*backend, plan);
  CHECK(profiling.measure_item(0)->measurement.reason.empty());
  emulation::break_device_after(20, cudaErrorIllegalAddress);
  try {
    static_cast<void>(profiling.measure_item(1));
    FAIL("a broken device measured something");
  } catch (const DeviceLost& lost) {
    CHECK_THAT(lost.what(), ContainsSubstring("cudaErrorIllegalAddress") && ContainsSubstring("activation kind=silu in=4"));
    CHECK_THAT(lost.hint(), ContainsSubstring("--resume") && ContainsSubstring("--leave-out 'activation kind=silu in=4"));
  }
}

TEST_CASE("if a device fails in a step of the whole model, the error names the step, not a problem measured near it") {
  const Clocks clocks({.kernel_time = 0.3});
  emulation::properties().multiprocessors = 0;
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::first});
  const Model model = chain(3);
  ProfilePlan plan{.model = model, .sequences = {1}};
  plan.problems = problems_of(model, 1, plan.precision, plan.optimizer);
  Profiling profiling(*backend, plan);
  emulation::break_device_after(20, cudaErrorIllegalAddress);
  try {
    static_cast<void>(profiling.measure_item(0));
    FAIL("a broken device measured something");
  } catch (const DeviceLost& lost) {
    CHECK_THAT(lost.hint(),
               ContainsSubstring("--leave-out 'sequence model=m samples=1 precision=fp32 optimizer=sgd pass=forward'"));
  }
}

TEST_CASE("an algorithm that was chosen with too little memory is chosen again") {
  const Clocks clocks({});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::fastest});
  const Problem problem = parse_problem("fully_connected features=4 in=4 samples=2 bias=no", "test");
  emulation::properties().memory = 700;  // the first algorithm's workspace of 1024 bytes does not fit
  const double with_little = backend->prepare(problem)->workspace().value();
  CHECK(with_little == 0);
  emulation::properties().memory = std::size_t{1} << 30U;
  // Which of the two is faster is random here, so both are tried again.
  const std::int64_t before = emulation::timeline().launches;
  static_cast<void>(backend->prepare(problem));
  CHECK(emulation::timeline().launches > before);
  const std::int64_t after = emulation::timeline().launches;
  static_cast<void>(backend->prepare(problem));
  CHECK(emulation::timeline().launches == after);
}

TEST_CASE("after a device fails while an engine is tried, no other engine is tried") {
  const Clocks clocks({});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::fastest});
  emulation::break_device_after(3, cudaErrorIllegalAddress);
  const Problem problem = parse_problem("convolution filters=4 kernel=3x3 in=3x6x5 samples=2 bias=no", "test");
  CHECK_THROWS_AS(backend->prepare(problem), DeviceLost);
}

TEST_CASE("a temporary error leaves the device usable") {
  const Clocks clocks({});
  const auto backend = make_cuda_backend({});
  CHECK_THROWS_AS(backend->allocate(std::int64_t{1} << 40, Precision::fp32), Error);
  CHECK(backend->time(kernels(1)).value() == Approx(10e-6));
}

TEST_CASE("all kernels share one workspace of the size of the largest request") {
  const Clocks clocks({});
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::first});
  const Problem product = parse_problem("fully_connected features=4 in=4 samples=2", "test");
  int moved = 0;
  const std::function<void()> start = backend->record([&] { ++moved; });
  std::vector<std::unique_ptr<PreparedKernel>> kept;
  for (int i = 0; i < 5; ++i) kept.push_back(backend->prepare(product));
  CHECK(kept.front()->workspace().value() == 1024);
  start();
  // Kernels are recorded at first, and once more after the first of the five. All later ones find their workspace unchanged.
  CHECK(moved == 2);
  // The intermediates between the kernels of attention share memory in the same way.
  const Problem attention = parse_problem("attention heads=2 in=48x6t samples=2", "test");
  for (int i = 0; i < 5; ++i) {
    kept.push_back(backend->prepare(attention));
    start();
  }
  CHECK(moved == 3);
}

TEST_CASE("a device that the program was not compiled for is refused by name, with a hint") {
  const Clocks clocks({});
  const auto refusal = [](int major, int minor) {
    emulation::properties().major = major;
    emulation::properties().minor = minor;
    try {
      static_cast<void>(make_cuda_backend({}));
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.hint();
    }
    return std::string();
  };
  // The device is a V100, with the toolkit that this test was built with. Only CUDA 12 and older compile for a V100.
  if (device_refusal(compiled_architectures(), 7, 0).empty()) {
    CHECK(refusal(7, 0).empty());
  } else {
    CHECK_THAT(refusal(7, 0), ContainsSubstring("emulated device") && ContainsSubstring("compute capability 7.0") &&
                                  ContainsSubstring("CUDA 12"));
  }
  CHECK(refusal(9, 0).empty());
}

TEST_CASE("machine code runs on its own major version, PTX on all later ones") {
  constexpr const char* ours = "75-virtual 80-real 90-real";
  CHECK_FALSE(device_refusal(ours, 6, 0).empty());
  CHECK_FALSE(device_refusal(ours, 7, 0).empty());
  for (const auto& [major, minor] : {std::pair(7, 5), {8, 0}, {8, 6}, {9, 0}, {10, 0}, {12, 0}}) {
    CHECK(device_refusal(ours, major, minor).empty());
  }
  CHECK_FALSE(device_refusal("80-real 90-real", 7, 5).empty());
  CHECK(device_refusal("80-real 90-real", 8, 9).empty());
  CHECK_FALSE(device_refusal("80-real 90-real", 10, 0).empty());
  CHECK(device_refusal("80", 12, 0).empty());
  CHECK(device_refusal("90a-real", 9, 0).empty());
  CHECK_FALSE(device_refusal("90a", 10, 0).empty());
  CHECK_FALSE(device_refusal("86-real", 8, 0).empty());
  CHECK(device_hint(7, 0, 13000).find("CUDA 12") != std::string::npos);
  CHECK(device_hint(7, 0, 12060) == "build with -DCMAKE_CUDA_ARCHITECTURES=70");
}

TEST_CASE("a driver that is too old is reported with its version and the required one") {
  const Clocks clocks({});
  emulation::properties().count_status = cudaErrorInsufficientDriver;
  emulation::properties().driver = 12040;
  try {
    static_cast<void>(count_cuda_devices());
    FAIL("an old driver counted devices");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring("cudaErrorInsufficientDriver") && ContainsSubstring("up to 12.4") &&
                                 ContainsSubstring("built with 13.0"));
    CHECK_THAT(error.hint(), ContainsSubstring("580 or newer") && ContainsSubstring("a build with CUDA 12"));
  }
  emulation::properties().driver = 0;
  CHECK_THAT(error_of([] { static_cast<void>(count_cuda_devices()); }), ContainsSubstring("there is no driver"));
}

TEST_CASE("a profile contains the event overhead and the preference for algorithms of the device") {
  const Clocks clocks({.event_time = 1.5e-6});
  const auto backend = make_cuda_backend({});
  std::string all;
  for (const auto& [key, value] : backend->info().details) all += key + ": " + value + "\n";
  CHECK_THAT(all, ContainsSubstring("event floor: 1.50 us") && ContainsSubstring("algorithms: framework"));
}
