#include "profiler/measurement/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "profiler/measurement/tensor_values.hpp"

namespace ddl {
namespace {

/// Tensors of a problem's passes, each allocated on first use.
class Tensors {
 public:
  Tensors(KernelBackend& backend, std::int64_t token_rows) : backend_(backend), token_rows_(token_rows) {}

  std::vector<DeviceBuffer*> of(const PreparedKernel& kernel) {
    std::vector<DeviceBuffer*> bound;
    for (const KernelTensor& tensor : kernel.tensors()) {
      auto& buffer = buffers_[{tensor.role, tensor.index}];
      if (!buffer) {
        buffer = backend_.allocate_for(tensor);
        fill(*buffer, tensor.role, token_rows_);
      }
      bound.push_back(buffer.get());
    }
    return bound;
  }

 private:
  KernelBackend& backend_;
  std::int64_t token_rows_;
  std::map<std::pair<TensorRole, int>, std::unique_ptr<DeviceBuffer>> buffers_;
};

/// Whether the previous layer of a step has just written a tensor with this role.
bool is_fresh(TensorRole role, Pass pass) {
  return role == (pass == Pass::forward ? TensorRole::input : TensorRole::output_gradient);
}

/// A kernel that runs on several copies of its tensors in turn, so that each of several runs finds the caches in the same
/// state as a single run.
class Runs {
 public:
  using Copy = std::vector<DeviceBuffer*>;

  Runs(KernelBackend& backend, PreparedKernel& kernel, Pass pass, CacheState caches)
      : backend_(backend), kernel_(kernel), pass_(pass), caches_(caches) {}

  /// Mean time of `count` runs between two readings of the clock.
  Seconds time(TimedWork& work, std::span<const Copy> copies, int count) {
    return time_without_host(backend_, work, [&] { fill_caches(copies); }) / static_cast<double>(count);
  }

  [[nodiscard]] TimedWork work(std::span<const Copy> copies, int count) const {
    return TimedWork([this, copies, count] {
      for (int i = 0; i < count; ++i) kernel_.run(copies[static_cast<std::size_t>(i) % copies.size()]);
    });
  }

 private:
  void fill_caches(std::span<const Copy> copies) {
    if (caches_ == CacheState::warm) return;
    Copy all;
    for (const Copy& copy : copies) all.insert(all.end(), copy.begin(), copy.end());
    backend_.evict(all);
    if (caches_ != CacheState::step) return;
    for (const Copy& copy : copies) {
      for (std::size_t i = 0; i < copy.size(); ++i) {
        if (is_fresh(kernel_.tensors()[i].role, pass_)) backend_.touch(*copy[i]);
      }
    }
  }

  KernelBackend& backend_;
  PreparedKernel& kernel_;
  Pass pass_;
  CacheState caches_;
};

/// The number of runs that are timed together, and the number of copies of the kernel's tensors.
struct Batch {
  int runs = 1, copies = 1;
};

/// Decides how often a kernel is run between two readings of the clock. A kernel that is too short for the clock is run 8 to
/// 32 times. If caches are not warm, each run has its own tensors. All tensors together fill half of the cache, so that the
/// tensors touched for the last run are still cached when it starts.
Batch batch_of(const KernelBackend& backend, const PreparedKernel& kernel, CacheState caches, Seconds alone) {
  constexpr double fewest = 8;
  constexpr double most = 32;
  constexpr double long_enough = 5;  // multiple of the shortest time that can be measured alone
  const Seconds shortest = backend.shortest_alone();
  if (alone >= shortest) return {};
  const double wanted = std::clamp(std::ceil(long_enough * (shortest / std::max(alone, Seconds(1e-9)))), fewest, most);
  if (caches == CacheState::warm) return {static_cast<int>(wanted), 1};
  double bytes = 0;
  for (const KernelTensor& tensor : kernel.tensors()) {
    bytes += static_cast<double>(tensor.items) * (tensor.bytes ? 1 : item_bytes(tensor.precision));
  }
  const double fitting = std::floor(backend.cache_size().value() / 2 / std::max(1.0, bytes));
  const int runs = static_cast<int>(std::clamp(std::min(wanted, fitting), 1.0, most));
  return {runs, runs};
}

/// Takes samples of a kernel's time. `bind` allocates one more set of the kernel's tensors, with
/// all the content that the pass needs.
void run_samples(KernelBackend& backend, PreparedKernel& kernel, Pass pass, const SamplingRule& rule, CacheState caches,
                 const std::function<bool()>& stop, Measurement& measurement,
                 const std::function<std::vector<DeviceBuffer*>()>& bind) {
  measurement.algorithm = kernel.algorithm();
  measurement.workspace = kernel.workspace();
  if (measurement.algorithm.empty()) return;
  Runs runs(backend, kernel, pass, caches);
  std::vector<Runs::Copy> copies{bind()};
  Batch batch;
  TimedWork work = runs.work(copies, 1);
  if (backend.shortest_alone().value() > 0) {
    static_cast<void>(runs.time(work, copies, 1));
    batch = batch_of(backend, kernel, caches, runs.time(work, copies, 1));
    while (static_cast<int>(copies.size()) < batch.copies) {
      try {
        copies.push_back(bind());
      } catch (const Error&) {
        // The available memory limits the number of copies.
        batch.copies = batch.runs = static_cast<int>(copies.size());
      }
    }
    work = runs.work(copies, batch.runs);
  }
  measurement.samples = take_samples(
      rule,
      [&] {
        const Seconds time = runs.time(work, copies, batch.runs);
        measurement.host_bound = measurement.host_bound || work.host_bound;
        return time;
      },
      stop);
}

}  // namespace

Seconds time_without_host(KernelBackend& backend, TimedWork& work, const std::function<void()>& before) {
  constexpr int tries = 4;
  Seconds time{};
  for (int i = 0; i < tries; ++i) {
    if (before) before();
    time = backend.time_again(work);
    if (!work.host_bound) break;
  }
  return time;
}

Measurement measure(KernelBackend& backend, const std::string& line, const SamplingRule& rule, CacheState caches,
                    const std::function<bool()>& stop) {
  Measurement measurement;
  if (is_update_problem(line)) {
    const UpdateProblem problem = parse_update_problem(line, "the problem");
    measurement.problem = print_problem(problem);
    measurement.reason = backend.refusal(problem);
    if (!measurement.reason.empty()) return measurement;
    try {
      std::list<Tensors> tensors;
      const std::unique_ptr<PreparedKernel> kernel = backend.prepare(problem);
      run_samples(backend, *kernel, Pass::update, rule, caches, stop, measurement,
                  [&] { return tensors.emplace_back(backend, 0).of(*kernel); });
    } catch (const Error& error) {
      measurement.reason = error.what();
    }
    return measurement;
  }
  if (is_fresh_memory_problem(line)) {
    const FreshMemoryProblem problem = parse_fresh_memory_problem(line, "the problem");
    measurement.problem = print_problem(problem);
    if (!backend.maps_pages()) {
      measurement.reason = "this device does not map memory by page";
      return measurement;
    }
    measurement.algorithm = "first touch";
    try {
      measurement.samples = take_samples(
          rule, [&] { return backend.first_touch(Bytes(static_cast<double>(problem.bytes))); }, stop);
    } catch (const Error& error) {
      measurement.reason = error.what();
    }
    return measurement;
  }
  const Problem problem = parse_problem(line, "the problem");
  measurement.problem = print_problem(problem);
  measurement.reason = backend.refusal(problem);
  if (!measurement.reason.empty()) return measurement;
  try {
    const std::int64_t token_rows = problem.operation->attribute_values().integer("vocabulary", 0);
    std::list<Tensors> tensors;
    const std::unique_ptr<PreparedKernel> kernel = backend.prepare(problem);
    std::unique_ptr<PreparedKernel> forward;
    if (problem.pass != Pass::forward) {
      Problem first = problem;
      first.pass = Pass::forward;
      forward = backend.prepare(first);
    }
    run_samples(backend, *kernel, problem.pass, rule, caches, stop, measurement, [&] {
      Tensors& one = tensors.emplace_back(backend, token_rows);
      if (forward) {
        const std::vector<DeviceBuffer*> bound = one.of(*forward);
        static_cast<void>(backend.time([&] { forward->run(bound); }));
      }
      return one.of(*kernel);
    });
  } catch (const Error& error) {
    measurement.reason = error.what();
  }
  return measurement;
}

}  // namespace ddl
