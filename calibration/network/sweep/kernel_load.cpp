#include "calibration/network/sweep/kernel_load.hpp"

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/network/sweep/rows_of_kernels.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/statistics.hpp"
#include "profiler/backends/backends.hpp"
#include "profiler/measurement/measurement.hpp"

namespace ddl {
namespace {

/// The sampling rule for kernels that run until they are stopped. Samples are taken in groups of `most`.
constexpr SamplingRule until_stopped{.warm_up = 1, .least = 1, .most = 10'000, .tolerance = 0, .limit = Seconds(1e9)};

class KernelLoad final : public DeviceLoad {
 public:
  KernelLoad(std::string backend, BackendOptions options, std::string problem)
      : name_(std::move(backend)), options_(std::move(options)), problem_(std::move(problem)) {
    thread_ = std::thread([this] { run(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_open_ || problem_with_it_; });
    if (problem_with_it_) {
      lock.unlock();
      thread_.join();
      std::rethrow_exception(problem_with_it_);
    }
  }
  ~KernelLoad() override {
    {
      const std::lock_guard lock(mutex_);
      is_wanted_ = false;
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void start() override {
    std::unique_lock lock(mutex_);
    is_wanted_ = true;
    is_running_ = false;
    is_idle_ = false;
    changed_.notify_all();
    // Waits until kernels are prepared, which may take long.
    changed_.wait(lock, [&] { return is_running_ || is_idle_; });
  }

  [[nodiscard]] Seconds stop() override {
    std::unique_lock lock(mutex_);
    is_wanted_ = false;
    changed_.wait(lock, [&] { return is_idle_; });
    if (problem_with_it_) std::rethrow_exception(std::exchange(problem_with_it_, nullptr));
    return Seconds(median(medians_));
  }

 private:
  void run() {
    guarded([&] {
      // The back end is opened in the thread that uses it, because CUDA's current device is a property of the thread.
      backend_ = std::make_unique<RowsOfKernels>(open_backend(name_, options_));
      // Measures the kernel once before it is timed, so that one-time work for the kernel is done.
      const Measurement first = measure(*backend_, problem_, {.warm_up = 1, .least = 1, .most = 1}, CacheState::warm);
      if (!first.reason.empty()) throw Error(fmt::format("{} does not run {}: {}", name_, quote(problem_), first.reason));
      backend_->make_rows(first.samples.median);
    });
    std::unique_lock lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
    while (!problem_with_it_) {
      changed_.wait(lock, [&] { return is_wanted_ || is_ending_; });
      if (is_ending_) return;
      lock.unlock();
      std::vector<double> medians;
      guarded([&] {
        do medians.push_back(round());
        while (is_wanted());
      });
      lock.lock();
      medians_ = std::move(medians);
      is_idle_ = true;
      changed_.notify_all();
    }
  }

  /// Runs kernels until they are stopped, and takes at least one sample. Returns the median time of a kernel in seconds.
  double round() {
    int asked = 0;
    const Measurement measured = measure(*backend_, problem_, until_stopped, CacheState::warm, [&] {
      const std::lock_guard lock(mutex_);
      // The sampler calls this function before every run. The second call shows that the warm-up run is done.
      if (++asked == 2 && !std::exchange(is_running_, true)) changed_.notify_all();
      return asked > 2 && !is_wanted_;
    });
    if (!measured.reason.empty()) throw Error(measured.reason);
    return measured.samples.median.value();
  }

  bool is_wanted() {
    const std::lock_guard lock(mutex_);
    return is_wanted_;
  }

  void guarded(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      problem_with_it_ = std::current_exception();
      is_idle_ = true;
      changed_.notify_all();
    }
  }

  std::string name_;
  BackendOptions options_;
  std::string problem_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false, is_wanted_ = false, is_running_ = false, is_idle_ = true, is_ending_ = false;
  std::vector<double> medians_;
  std::unique_ptr<RowsOfKernels> backend_;
  std::exception_ptr problem_with_it_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<DeviceLoad> make_kernel_load(const std::string& backend, const BackendOptions& options,
                                             const std::string& problem) {
  return std::make_unique<KernelLoad>(backend, options, problem);
}

}  // namespace ddl
