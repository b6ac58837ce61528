#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "profiler/backends/kernel_backend.hpp"
#include "profiler/backends/kinds.hpp"

namespace ddl::onednn {

/// Main memory with room for a tensor in one precision.
class HostBuffer final : public DeviceBuffer {
 public:
  HostBuffer(std::int64_t items, Precision precision);
  ~HostBuffer() override;
  [[nodiscard]] std::int64_t items() const override { return items_; }
  void write(std::span<const float> values) override;
  void read(std::span<float> values) const override;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] float* floats() const { return static_cast<float*>(data_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::int64_t items_;
  Precision precision_;
  std::size_t bytes_;
  void* data_;
};
[[nodiscard]] inline float* floats(DeviceBuffer* buffer) { return static_cast<HostBuffer*>(buffer)->floats(); }

/// Scratch memory that all kernels of a device use one after the other. A framework's allocator
/// also reuses memory that the previous kernel has freed.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();
  /// Makes the workspace at least this large. Its content is lost.
  void reserve(std::size_t bytes);
  [[nodiscard]] char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Blas;

struct Device {
  dnnl::engine engine;
  dnnl::stream stream;
  std::shared_ptr<Workspace> workspace{};
  std::shared_ptr<const Blas> blas{};  ///< the library for matrix products, if one was named
  int threads = 1;
};

/// Describes a dense tensor of `dims`, with the last dimension innermost.
[[nodiscard]] dnnl::memory::desc dense(const dnnl::memory::dims& dims, dnnl::memory::data_type type);
/// Describes a tensor without a layout, so that the library chooses the layout.
[[nodiscard]] dnnl::memory::desc any(const dnnl::memory::desc& dense);
[[nodiscard]] dnnl::memory::data_type data_type(Precision precision);
/// Describes a tensor of samples × channels × extents (images), or samples × tokens × channels, in
/// the layout of KernelTensor.
[[nodiscard]] dnnl::memory::desc tensor(const TensorShape& shape, std::int64_t samples, Precision precision);
/// Attributes for a scratchpad that this program allocates, so that its size is known.
[[nodiscard]] dnnl::primitive_attr own_scratchpad();

/// A second tensor of a primitive, in the buffer of the first tensor and after it.
struct SecondTensor {
  int name = 0;
  dnnl::memory::desc plain;
};

/// One tensor of a kernel in the layout that the library's primitive requires.
struct Argument {
  KernelTensor tensor;
  int name = 0;               ///< the library's number of the argument: DNNL_ARG_SRC, …
  dnnl::memory::desc plain;   ///< layout in the buffer
  dnnl::memory::desc wanted;  ///< layout that the primitive requires; if it differs, a reorder is part of the kernel
  bool added_to = false;      ///< whether the primitive adds to the tensor, which is first set to zero
  bool own = false;           ///< whether this is private memory of the kernel, initially zero
  std::optional<SecondTensor> behind{};  ///< set if the buffer has a second tensor after `plain`
};

/// Returns a kernel that runs one primitive, and before and after it the reorders that its layouts need.
[[nodiscard]] std::unique_ptr<PreparedKernel> primitive_kernel(const Device& device, const dnnl::primitive& primitive,
                                                               const dnnl::memory::desc& scratchpad, std::string algorithm,
                                                               const std::vector<Argument>& arguments);
/// Returns a kernel that runs a plain loop, for operations that the library lacks. `buffers` have the order of `tensors`.
[[nodiscard]] std::unique_ptr<PreparedKernel> loop_kernel(std::vector<KernelTensor> tensors,
                                                          std::function<void(std::span<DeviceBuffer* const>)> loop);
/// Returns a kernel that runs several primitives and loops, one after the other. They share
/// `scratch` floats of the workspace.
[[nodiscard]] std::unique_ptr<PreparedKernel> composed_kernel(
    const Device& device, std::string algorithm, std::vector<KernelTensor> tensors, std::int64_t scratch,
    std::function<void(std::span<DeviceBuffer* const> buffers, float* scratch)> run);
/// A kernel for passes without cost: views, and gradients that another pass computes.
[[nodiscard]] std::unique_ptr<PreparedKernel> empty_kernel();

using Kind = KindOf<Device>;
DDL_KERNEL_KINDS(DDL_DECLARE_KIND)
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_update(const Device& device, const UpdateProblem& problem);

/// A refusal for operations that only run in fp32.
[[nodiscard]] std::string only_fp32(const Problem& problem);

}  // namespace ddl::onednn
