#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// The role of a tensor in a kernel. `kept`: additional data that forward saves for backward, such
/// as statistics of a norm, the winning positions of a pooling, or a mask.
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
template <>
inline constexpr EnumNames<TensorRole> enum_names<TensorRole>{
    "input",          "weight",          "bias",          "output",         "kept", "output gradient",
    "input gradient", "weight gradient", "bias gradient", "optimizer state"};

/// One tensor that a kernel reads or writes. The passes of a problem share tensors with equal role and index. The layout is
/// dense: samples, channels, extents for images; samples, tokens, channels for sequences; [filters, channels of a group,
/// kernel] for weights; [features, channels] for matrices.
struct KernelTensor {
  TensorRole role = TensorRole::input;
  int index = 0;
  std::int64_t items = 0;
  bool written = false;
  Precision precision = Precision::fp32;  ///< precision of the buffer; a tensor kept for backward may hold other types
  bool bytes = false;                     ///< whether elements are single bytes: a mask of zeros and ones
  /// Set if a back end keeps channels innermost. In each sample or filter, this many channels and positions are then
  /// transposed in device memory. DeviceBuffer::write and read still use the dense layout of KernelTensor.
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
  /// Whether a kernel can use this buffer as `tensor`, even if the buffer was allocated for another kernel.
  [[nodiscard]] virtual bool holds(const KernelTensor& tensor) const { return items() == tensor.items; }
  virtual void write(std::span<const float> values) = 0;
  virtual void read(std::span<float> values) const = 0;
};

/// A problem that is ready to run on buffers of the back end that prepared it.
class PreparedKernel {
 public:
  PreparedKernel() = default;
  PreparedKernel(const PreparedKernel&) = delete;
  PreparedKernel& operator=(const PreparedKernel&) = delete;
  virtual ~PreparedKernel() = default;

  [[nodiscard]] virtual std::span<const KernelTensor> tensors() const = 0;
  /// Launches the kernel on buffers in the order of tensors(). The kernel may still run when this
  /// call returns. KernelBackend::time waits until it is done.
  virtual void run(std::span<DeviceBuffer* const> buffers) = 0;
  [[nodiscard]] virtual Bytes workspace() const { return Bytes(0); }
  /// The library's name of the algorithm, such as `jit:avx512_core`; empty for kernels that do nothing.
  [[nodiscard]] virtual std::string algorithm() const = 0;
};

/// The device and the libraries that a profile was measured with.
struct DeviceInfo {
  std::string backend;                                       ///< name of the back end, such as `onednn`
  std::string device;                                        ///< name of the device, as given by its vendor
  std::vector<std::pair<std::string, std::string>> details;  ///< libraries, driver, clocks, threads
};

/// Work that is timed repeatedly, and the launch times that the back end has observed for this work.
struct TimedWork {
  /// A part of the work that is launched between two synchronizations. The pieces are timed one
  /// after the other, because a device queues only a limited number of kernels.
  struct Piece {
    std::function<void()> start;
    Seconds starting{};  ///< host time of the last call of `start`; 0 if it was never called
  };
  std::vector<Piece> pieces;
  /// Whether the device may have waited for the host in the last timing, so that the time is too long.
  bool host_bound = false;

  explicit TimedWork(std::function<void()> start) { pieces.push_back({std::move(start)}); }
  TimedWork() = default;
};

/// The state of a device at one moment, as far as the driver reports it.
struct DeviceState {
  double clock_hz = 0;  ///< clock of the device's multiprocessors; 0: unknown
  double power_w = 0;   ///< power draw; 0: unknown
  /// reasons for lower clocks, in the driver's terms, such as `power cap`; empty: none, or unknown
  std::string slowed_by{};
};

/// A library that runs kernels on one device. Errors of the device, including out of memory, are thrown as Error. DeviceLost
/// is thrown if the device can no longer be used.
class KernelBackend {
 public:
  KernelBackend() = default;
  KernelBackend(const KernelBackend&) = delete;
  KernelBackend& operator=(const KernelBackend&) = delete;
  virtual ~KernelBackend() = default;

  [[nodiscard]] virtual DeviceInfo info() const = 0;
  /// The reason why the back end cannot run the problem; otherwise empty.
  [[nodiscard]] virtual std::string refusal(const Problem& problem) const = 0;
  [[nodiscard]] virtual std::string refusal(const UpdateProblem& problem) const = 0;
  [[nodiscard]] virtual std::unique_ptr<PreparedKernel> prepare(const Problem& problem) = 0;
  [[nodiscard]] virtual std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) = 0;
  [[nodiscard]] virtual std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision precision) = 0;
  /// A buffer in the format that a kernel requires.
  [[nodiscard]] virtual std::unique_ptr<DeviceBuffer> allocate_for(const KernelTensor& tensor) {
    return allocate(tensor.items, tensor.precision);
  }
  /// Returns the time until everything that `work` launches is done.
  [[nodiscard]] virtual Seconds time(const std::function<void()>& work) = 0;
  /// Returns the time of work that is timed repeatedly, as the sum over its pieces. A back end excludes the host's launch
  /// time if possible.
  [[nodiscard]] virtual Seconds time_again(TimedWork& work) {
    Seconds sum{};
    for (TimedWork::Piece& piece : work.pieces) sum += time(piece.start);
    return sum;
  }
  /// Kernels that are shorter than this time are timed in groups, because the clock is too coarse
  /// for a single one. 0 means that all kernels can be timed alone.
  [[nodiscard]] virtual Seconds shortest_alone() const { return {}; }
  /// Capacity of the last-level cache; 0: unknown.
  [[nodiscard]] virtual Bytes cache_size() const { return {}; }
  /// Records everything that `work` launches. Returns a function that launches all of it at once, as a CUDA graph does.
  /// Throws Error if the back end cannot record, or cannot record something that `work` launches.
  [[nodiscard]] virtual std::function<void()> record(const std::function<void()>& work);
  /// The problem of the reference kernel, as a profile line. The time of this kernel shows the
  /// current speed of the device (SpeedWatch).
  [[nodiscard]] virtual std::string speed_problem() const {
    return "fully_connected features=512 bias=no in=512 samples=64";
  }
  /// How long the device has to be busy until its clocks are the same as in training.
  [[nodiscard]] virtual Seconds warm_up() const { return {}; }
  [[nodiscard]] virtual DeviceState state() { return {}; }
  /// Evicts these buffers from the caches of the device.
  virtual void evict(std::span<DeviceBuffer* const> buffers) = 0;
  /// Loads a buffer into the caches, as far as it fits.
  virtual void touch(DeviceBuffer& buffer) = 0;
  /// Whether the system maps the memory of tensors page by page, when a page is first written.
  [[nodiscard]] virtual bool maps_pages() const { return false; }
  /// Returns the time, in seconds, to map this much memory, write a word of each page, and free the memory.
  [[nodiscard]] virtual Seconds first_touch(Bytes /*bytes*/) { return {}; }
};

}  // namespace ddl
