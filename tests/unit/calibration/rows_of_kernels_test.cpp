#include "calibration/network/sweep/rows_of_kernels.hpp"

#include <memory>
#include <string>

#include "tests/catch.hpp"

namespace ddl::rows_of_kernels_tests {
namespace {

/// A device that runs no kernels, and records how many were queued between waits.
class CountingDevice final : public KernelBackend {
 public:
  struct Counts {
    int queued = 0, timed = 0, waits = 0;
  };
  CountingDevice(Counts& counts, Seconds kernel) : counts_(counts), kernel_(kernel) {}
  [[nodiscard]] DeviceInfo info() const override { return {}; }
  [[nodiscard]] std::string refusal(const Problem&) const override { return {}; }
  [[nodiscard]] std::string refusal(const UpdateProblem&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<PreparedKernel> prepare(const Problem&) override { return nullptr; }
  [[nodiscard]] std::unique_ptr<PreparedKernel> prepare(const UpdateProblem&) override { return nullptr; }
  [[nodiscard]] std::unique_ptr<DeviceBuffer> allocate(std::int64_t, Precision) override { return nullptr; }
  [[nodiscard]] Seconds time(const std::function<void()>& work) override {
    const int before = counts_.queued;
    work();
    ++counts_.waits;
    counts_.timed = counts_.queued - before;
    return kernel_ * static_cast<double>(counts_.timed);
  }
  void evict(std::span<DeviceBuffer* const>) override {}
  void touch(DeviceBuffer&) override {}

 private:
  Counts& counts_;
  Seconds kernel_;
};

}  // namespace

TEST_CASE("kernels overlapped with a collective are queued in batches, with one wait per batch") {
  for (const Seconds kernel : {Seconds(2e-6), Seconds(10e-6), Seconds(70e-6), Seconds(3e-3), Seconds(1), Seconds(0)}) {
    CAPTURE(kernel.value());
    CountingDevice::Counts counts;
    RowsOfKernels rows(std::make_unique<CountingDevice>(counts, kernel));
    const auto run = [&] { return rows.time([&] { ++counts.queued; }); };
    // The first kernels run singly, until the time of a kernel is known.
    CHECK(run() == kernel);
    CHECK(counts.queued == 1);
    rows.make_rows(kernel);
    counts = {};
    CHECK(run().value() == Approx(kernel.value()));
    CHECK(counts.waits == 1);
    CHECK(counts.queued <= 500);
    // A batch is 5 ms of kernels, or as many kernels as can be queued. 100 µs of these kernels are between the events.
    CHECK((counts.queued == 500 || counts.queued * kernel.value() >= 5e-3));
    CHECK((counts.timed == 500 || counts.timed * kernel.value() >= 100e-6 * 0.999));
    CHECK(counts.timed >= 1);
    if (kernel > Seconds(0)) CHECK((counts.queued == 1 || counts.queued * kernel.value() < 5e-3 + kernel.value() * 1.01));
  }
}

}  // namespace ddl::rows_of_kernels_tests
