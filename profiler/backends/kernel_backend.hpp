#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/network/optimizer.hpp"
#include "model_zoo/network/problem.hpp"

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

/// Work that is timed again and again, and what its back end has learned of it: how long the host takes to start it.
struct TimedWork {
  /// What is started between two moments of waiting. Pieces of a large work are timed one after the other, because a device
  /// takes in only so many kernels ahead of time.
  struct Piece {
    std::function<void()> start;
    Seconds starting{};  ///< host time of `start`, the last time; 0: never run
  };
  std::vector<Piece> pieces;
  /// In the last timing the device may have waited for the host: the time is too long.
  bool host_bound = false;

  explicit TimedWork(std::function<void()> start) { pieces.push_back({std::move(start)}); }
  TimedWork() = default;
};

/// How a device runs at one moment, where its driver says so.
struct DeviceState {
  double clock_hz = 0;      ///< of its multiprocessors; 0: not known
  double power_w = 0;       ///< that it draws; 0: not known
  std::string slowed_by{};  ///< reasons for lower clocks, in the driver's terms: `power cap`; empty: none, or not known
};

/// One library that runs kernels on one device. Errors of the device, memory that runs out among them, are Errors; a device
/// that can no longer be used is DeviceLost.
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
  /// The same for what is timed repeatedly: the sum over its pieces. A back end that can, leaves out what the host takes to
  /// start them.
  [[nodiscard]] virtual Seconds time_again(TimedWork& work) {
    Seconds sum{};
    for (TimedWork::Piece& piece : work.pieces) sum += time(piece.start);
    return sum;
  }
  /// Kernels that are shorter are timed several at a time, because the clock is too coarse for one of them. 0: none are.
  [[nodiscard]] virtual Seconds shortest_alone() const { return {}; }
  /// Capacity of the last-level cache; 0: not known.
  [[nodiscard]] virtual Bytes cache_size() const { return {}; }
  /// Records what `work` starts and returns what starts all of it at once, as a CUDA graph does. An Error where the back
  /// end, or something that `work` starts, cannot be recorded.
  [[nodiscard]] virtual std::function<void()> record(const std::function<void()>& work);
  /// The kernel whose time tells how fast the device runs at the moment (SpeedWatch): the line of a problem.
  [[nodiscard]] virtual std::string speed_problem() const {
    return "fully_connected features=512 bias=no in=512 samples=64";
  }
  /// How long the device has to run before its clocks are those of training.
  [[nodiscard]] virtual Seconds warm_up() const { return {}; }
  [[nodiscard]] virtual DeviceState state() { return {}; }
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
