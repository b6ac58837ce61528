#include "profiler/backends/simulated/backend.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "core/units.hpp"

namespace ddl {
namespace {

/// A buffer that allocates memory only when it is written, and then keeps only the first elements. Its content is not
/// needed, because nothing is computed. The full buffers of a whole model's step would take tens of GiB.
class SimulatedBuffer final : public DeviceBuffer {
 public:
  explicit SimulatedBuffer(std::int64_t items) : items_(items) {}
  std::int64_t items() const override { return items_; }
  void write(std::span<const float> values) override {
    constexpr std::size_t kept = 4096;
    values = values.first(std::min(kept, values.size()));
    values_.assign(values.begin(), values.end());
  }
  void read(std::span<float> values) const override {
    std::fill(values.begin(), values.end(), 0.0F);
    std::copy_n(values_.begin(), std::min(values_.size(), values.size()), values.begin());
  }

 private:
  std::int64_t items_;
  std::vector<float> values_;
};

class Clock {
 public:
  explicit Clock(std::uint64_t seed) : random_(seed) {}
  void spend(Seconds time, double noise) {
    if (noise > 0) time *= std::exp(std::normal_distribution<double>(0, noise)(random_));
    now_ += time;
  }
  [[nodiscard]] Seconds now() const { return now_; }

 private:
  Seconds now_{};
  std::mt19937_64 random_;
};

class SimulatedKernel final : public PreparedKernel {
 public:
  SimulatedKernel(Clock& clock, Seconds time, double noise, std::vector<KernelTensor> tensors)
      : clock_(clock), time_(time), noise_(noise), tensors_(std::move(tensors)) {}
  std::span<const KernelTensor> tensors() const override { return tensors_; }
  void run(std::span<DeviceBuffer* const> /*buffers*/) override {
    if (time_.value() > 0) clock_.spend(time_, noise_);
  }
  std::string algorithm() const override { return time_.value() > 0 ? "simulated" : ""; }

 private:
  Clock& clock_;
  Seconds time_;
  double noise_;
  std::vector<KernelTensor> tensors_;
};

class SimulatedBackend final : public KernelBackend {
 public:
  explicit SimulatedBackend(const SimulatedDevice& device) : device_(device), clock_(device.seed) {}

  DeviceInfo info() const override {
    DeviceInfo info{.backend = "simulated",
                    .device = "simulated device",
                    .details = {{"peak", print_quantity(device_.peak)},
                                {"bandwidth", print_quantity(device_.bandwidth)},
                                {"latency", print_quantity(device_.latency)},
                                {"noise", fmt::format("{}", device_.noise)},
                                {"seed", fmt::format("{}", device_.seed)}}};
    if (device_.fresh_memory) info.details.emplace_back("fresh_memory", print_quantity(*device_.fresh_memory));
    return info;
  }
  std::string refusal(const Problem& /*problem*/) const override { return {}; }
  std::string refusal(const UpdateProblem& /*problem*/) const override { return {}; }

  std::unique_ptr<PreparedKernel> prepare(const Problem& problem) override {
    const Work work = problem.operation->work(problem.pass, problem.inputs, problem.output);
    const auto samples = static_cast<double>(problem.samples);
    std::vector<KernelTensor> tensors;
    for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
      tensors.push_back(
          {TensorRole::input, static_cast<int>(i), problem.samples * problem.inputs[i].items(), false, problem.precision});
    }
    const double items = work.activation_items * samples + work.weight_items;
    return kernel(Flops(work.flops * samples), Bytes(items * item_bytes(problem.precision)), std::move(tensors));
  }
  std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) override {
    const auto parameters = static_cast<double>(problem.parameters);
    const double words = update_words(problem.optimizer, problem.implementation);
    // Unfused operators are launched separately. With single tensors, each operator is launched separately for each tensor.
    const auto passes = static_cast<int>(update_passes(problem.optimizer).size());
    const std::int64_t starts = problem.implementation == UpdateImplementation::single    ? passes * problem.tensors
                                : problem.implementation == UpdateImplementation::foreach ? passes
                                                                                          : 1;
    return kernel(Flops(words * parameters), Bytes(words * parameters * sizeof(float)),
                  {{TensorRole::weight, 0, problem.parameters, true}}, static_cast<double>(starts));
  }
  std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision /*precision*/) override {
    return std::make_unique<SimulatedBuffer>(items);
  }
  Seconds time(const std::function<void()>& work) override {
    const Seconds start = clock_.now();
    work();
    return clock_.now() - start;
  }
  void evict(std::span<DeviceBuffer* const> /*buffers*/) override {}
  void touch(DeviceBuffer& /*buffer*/) override {}
  bool maps_pages() const override { return device_.fresh_memory.has_value(); }
  Seconds first_touch(Bytes bytes) override {
    return time([&] {
      if (device_.fresh_memory) clock_.spend(bytes / *device_.fresh_memory, device_.noise);
    });
  }

 private:
  std::unique_ptr<PreparedKernel> kernel(Flops flops, Bytes bytes, std::vector<KernelTensor> tensors, double starts = 1) {
    Seconds time{};
    if (flops.value() > 0 || bytes.value() > 0) {
      time = device_.latency * starts + max(flops / device_.peak, bytes / device_.bandwidth);
    }
    return std::make_unique<SimulatedKernel>(clock_, time, device_.noise, std::move(tensors));
  }

  SimulatedDevice device_;
  Clock clock_;
};

}  // namespace

std::unique_ptr<KernelBackend> make_simulated_backend(const SimulatedDevice& device) {
  return std::make_unique<SimulatedBackend>(device);
}

}  // namespace ddl
