#include "profiler/measurement/measurement.hpp"

#include "core/error.hpp"
#include "profiler/backends/simulated/backend.hpp"
#include "tests/catch.hpp"

using namespace ddl;

namespace {

const SimulatedDevice quiet{FlopRate(1e12), Bandwidth(100e9), Seconds(1e-6), 0, 1};

/// Is a back end without memory for more than a thousand items.
class SmallBackend final : public KernelBackend {
 public:
  DeviceInfo info() const override { return inner_->info(); }
  std::string refusal(const Problem& problem) const override {
    return problem.operation->type() == "lstm" ? "no lstm here" : std::string();
  }
  std::string refusal(const UpdateProblem& /*problem*/) const override { return {}; }
  std::unique_ptr<PreparedKernel> prepare(const Problem& problem) override { return inner_->prepare(problem); }
  std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) override { return inner_->prepare(problem); }
  std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision precision) override {
    if (items > 1000) throw Error("out of memory");
    return inner_->allocate(items, precision);
  }
  Seconds time(const std::function<void()>& work) override { return inner_->time(work); }
  void evict(std::span<DeviceBuffer* const> /*buffers*/) override { ++evictions; }
  void touch(DeviceBuffer& buffer) override { touched.push_back(buffer.items()); }

  int evictions = 0;
  std::vector<std::int64_t> touched;

 private:
  std::unique_ptr<KernelBackend> inner_ = make_simulated_backend(quiet);
};

}  // namespace

TEST_CASE("a measurement has the time of the device") {
  const auto backend = make_simulated_backend(quiet);
  const Measurement measured = measure(*backend, "activation kind=relu in=1000000", {}, CacheState::warm);
  CHECK(measured.problem == "activation kind=relu in=1000000 samples=1 precision=fp32 pass=forward");
  CHECK(measured.reason.empty());
  CHECK(measured.samples.settled);
  CHECK(measured.samples.median.value() == Approx(81e-6));
  const Measurement update = measure(*backend, "update optimizer=momentum parameters=1000000", {}, CacheState::warm);
  // Weight, gradient and momentum are read. Weight and momentum are written.
  CHECK(update.samples.median.value() == Approx(1e-6 + 5 * 4e6 / 100e9));
}

TEST_CASE("a kernel without work has no samples") {
  const auto backend = make_simulated_backend(quiet);
  const Measurement measured = measure(*backend, "flatten in=4x4x4", {}, CacheState::warm);
  CHECK(measured.reason.empty());
  CHECK(measured.algorithm.empty());
  CHECK(measured.samples.seconds.empty());
}

TEST_CASE("a refusal or too little memory is reported as a reason, and an invalid line is an error") {
  SmallBackend backend;
  CHECK(measure(backend, "lstm features=4 in=8x5t", {}, CacheState::warm).reason == "no lstm here");
  const Measurement full = measure(backend, "activation kind=relu in=1001", {}, CacheState::warm);
  CHECK(full.reason == "out of memory");
  CHECK(full.samples.seconds.empty());
  CHECK_THROWS_WITH(measure(backend, "activation kind=rleu in=10", {}, CacheState::warm),
                    ContainsSubstring("unknown kind 'rleu'"));
}

TEST_CASE("the first touch of fresh memory is measured on devices that map memory page by page") {
  const auto backend = make_simulated_backend({.noise = 0, .fresh_memory = Bandwidth(2e9)});
  const Measurement measured = measure(*backend, "fresh_memory bytes=1000000", {}, CacheState::step);
  CHECK(measured.problem == "fresh_memory bytes=1000000");
  CHECK(measured.samples.median.value() == Approx(0.5e-3));
  CHECK(measured.samples.settled);
  CHECK_FALSE(measured.algorithm.empty());
  const auto other = make_simulated_backend({.noise = 0});
  CHECK(measure(*other, "fresh_memory bytes=1000000", {}, CacheState::step).reason ==
        "this device does not map memory by page");
}

TEST_CASE("caches have the requested state before each sample") {
  SmallBackend backend;
  const SamplingRule rule{.warm_up = 1, .least = 6};
  SECTION("warm") {
    static_cast<void>(measure(backend, "activation kind=relu in=10", rule, CacheState::warm));
    CHECK(backend.evictions == 0);
  }
  SECTION("cold") {
    static_cast<void>(measure(backend, "activation kind=relu in=10", rule, CacheState::cold));
    CHECK(backend.evictions == 7);
    CHECK(backend.touched.empty());
  }
  SECTION("as in a step: the output of the previous layer is in the cache") {
    static_cast<void>(measure(backend, "add in=10,10 samples=3", rule, CacheState::step));
    CHECK(backend.evictions == 7);
    CHECK(backend.touched == std::vector<std::int64_t>(14, 30));
  }
}

TEST_CASE("states of caches are parsed by name") {
  for (const CacheState state : {CacheState::warm, CacheState::cold, CacheState::step}) {
    CHECK(parse_enum<CacheState>(to_string(state)) == state);
  }
  CHECK_FALSE(parse_enum<CacheState>("hot").has_value());
}
