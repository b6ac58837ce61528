#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/optimizer.hpp"
#include "model_zoo/problem.hpp"

namespace ddl {

/// What a tensor is to a kernel. `kept` is what forward leaves for backward beside its tensors: statistics of a norm, the
/// winners of a pooling, a mask.
enum class TensorRole {
  input,
  weight,
  bias,
  output,
  kept,
  output_gradient,
  input_gradient,
  weight_gradient,
  bias_gradient,
  optimizer_state,
};
[[nodiscard]] std::string_view to_string(TensorRole role);

/// One tensor that a kernel reads or writes. The passes of one problem share the tensors that have the same role and index.
/// Layout, dense: samples, channels, extents for images; samples, tokens, channels for sequences; weights as [filters,
/// channels of a group, kernel], matrices as [features, channels].
struct KernelTensor {
  TensorRole role = TensorRole::input;
  int index = 0;
  std::int64_t items = 0;
  bool written = false;
  Precision precision = Precision::fp32;  ///< of the buffer it wants; what is kept may be words of any kind
  bool bytes = false;                     ///< one byte per item instead: a mask of zeros and ones
  /// Where a back end keeps channels innermost: in each sample or filter, so many channels and positions change places in
  /// memory. What is written to the buffer and read from it lies as said above.
  std::int64_t channels = 1, positions = 1;
};

/// Memory of a device.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  virtual ~DeviceBuffer() = default;

  [[nodiscard]] virtual std::int64_t items() const = 0;
  /// Whether a kernel can use it as that tensor, whatever kernel it was made for.
  [[nodiscard]] virtual bool holds(const KernelTensor& tensor) const { return items() == tensor.items; }
  virtual void write(std::span<const float> values) = 0;
  virtual void read(std::span<float> values) const = 0;
};

/// A problem made ready to run, on buffers of the back end that prepared it.
class PreparedKernel {
 public:
  PreparedKernel() = default;
  PreparedKernel(const PreparedKernel&) = delete;
  PreparedKernel& operator=(const PreparedKernel&) = delete;
  virtual ~PreparedKernel() = default;

  [[nodiscard]] virtual std::span<const KernelTensor> tensors() const = 0;
  /// Starts the kernel on buffers in the order of tensors(). It may still run on return: KernelBackend::time waits.
  virtual void run(std::span<DeviceBuffer* const> buffers) = 0;
  [[nodiscard]] virtual Bytes workspace() const { return Bytes(0); }
  /// What the library chose, in its words: `jit:avx512_core`; empty for kernels that do nothing.
  [[nodiscard]] virtual std::string algorithm() const = 0;
};

/// The device and the libraries that a profile was measured with.
struct DeviceInfo {
  std::string backend;                                       ///< `onednn`
  std::string device;                                        ///< the vendor's name
  std::vector<std::pair<std::string, std::string>> details;  ///< libraries, driver, clocks, threads
};

/// One library that runs kernels on one device. Errors of the device, memory that runs out among them, are Errors.
class KernelBackend {
 public:
  KernelBackend() = default;
  KernelBackend(const KernelBackend&) = delete;
  KernelBackend& operator=(const KernelBackend&) = delete;
  virtual ~KernelBackend() = default;

  [[nodiscard]] virtual DeviceInfo info() const = 0;
  /// Why the problem cannot be run, in words; empty where it can.
  [[nodiscard]] virtual std::string refusal(const Problem& problem) const = 0;
  [[nodiscard]] virtual std::string refusal(const UpdateProblem& problem) const = 0;
  [[nodiscard]] virtual std::unique_ptr<PreparedKernel> prepare(const Problem& problem) = 0;
  [[nodiscard]] virtual std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) = 0;
  [[nodiscard]] virtual std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision precision) = 0;
  /// A buffer as a kernel wants it.
  [[nodiscard]] virtual std::unique_ptr<DeviceBuffer> allocate_for(const KernelTensor& tensor) {
    return allocate(tensor.items, tensor.precision);
  }
  /// Time until everything that `work` started is done.
  [[nodiscard]] virtual Seconds time(const std::function<void()>& work) = 0;
  /// Leaves nothing of these buffers in the caches of the device.
  virtual void evict(std::span<DeviceBuffer* const> buffers) = 0;
  /// Brings a buffer, or what fits of it, into the caches.
  virtual void touch(DeviceBuffer& buffer) = 0;
  /// Whether tensors lie in memory that the system maps page by page, when it is first written.
  [[nodiscard]] virtual bool maps_pages() const { return false; }
  /// Time to map so much, write a word of each page, and give it back.
  [[nodiscard]] virtual Seconds first_touch(Bytes /*bytes*/) { return {}; }
};

}  // namespace ddl
