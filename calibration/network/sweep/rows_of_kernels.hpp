#pragma once

#include <memory>
#include <utility>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// A back end that times a kernel while equal kernels run before it in a row. As in training, the device always has the next
/// kernel queued. Without rows, the host would wait for each kernel before it launches the next one. The device would then
/// be idle between kernels, so its load would be too light, especially with short kernels.
class RowsOfKernels final : public KernelBackend {
 public:
  explicit RowsOfKernels(std::unique_ptr<KernelBackend> backend) : backend_(std::move(backend)) {}

  /// Starts to run several kernels back to back. `alone`: the time of a single kernel.
  void make_rows(Seconds alone);
  [[nodiscard]] int before() const { return before_; }
  [[nodiscard]] int timed() const { return timed_; }

  [[nodiscard]] DeviceInfo info() const override { return backend_->info(); }
  [[nodiscard]] std::string refusal(const Problem& problem) const override { return backend_->refusal(problem); }
  [[nodiscard]] std::string refusal(const UpdateProblem& problem) const override { return backend_->refusal(problem); }
  [[nodiscard]] std::unique_ptr<PreparedKernel> prepare(const Problem& problem) override {
    return backend_->prepare(problem);
  }
  [[nodiscard]] std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) override {
    return backend_->prepare(problem);
  }
  [[nodiscard]] std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision precision) override {
    return backend_->allocate(items, precision);
  }
  [[nodiscard]] std::unique_ptr<DeviceBuffer> allocate_for(const KernelTensor& tensor) override {
    return backend_->allocate_for(tensor);
  }
  /// Mean time of the timed kernels, which are the last kernels of a row.
  [[nodiscard]] Seconds time(const std::function<void()>& work) override;
  void evict(std::span<DeviceBuffer* const> buffers) override { backend_->evict(buffers); }
  void touch(DeviceBuffer& buffer) override { backend_->touch(buffer); }
  [[nodiscard]] bool maps_pages() const override { return backend_->maps_pages(); }
  [[nodiscard]] Seconds first_touch(Bytes bytes) override { return backend_->first_touch(bytes); }

 private:
  std::unique_ptr<KernelBackend> backend_;
  int before_ = 0, timed_ = 1;
};

}  // namespace ddl
