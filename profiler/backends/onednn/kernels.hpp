#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "profiler/backends/kernel_backend.hpp"

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

/// Scratch memory of one kernel at a time: all kernels of a device have the same, as a framework's allocator would give them
/// what the kernel before has just freed.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();
  /// Makes it at least this large; what it held is lost.
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
  std::shared_ptr<const Blas> blas{};  ///< that does the matrix products, where one was named
  int threads = 1;
};

/// A dense tensor of `dims`, the last dimension innermost.
[[nodiscard]] dnnl::memory::desc dense(const dnnl::memory::dims& dims, dnnl::memory::data_type type);
/// The same without a layout: the library chooses.
[[nodiscard]] dnnl::memory::desc any(const dnnl::memory::desc& dense);
[[nodiscard]] dnnl::memory::data_type data_type(Precision precision);
/// samples × channels × extents, or samples × tokens × channels, as DeviceBuffers hold them.
[[nodiscard]] dnnl::memory::desc tensor(const TensorShape& shape, std::int64_t samples, Precision precision);
/// Attributes that leave the scratch memory to us, so that it can be told.
[[nodiscard]] dnnl::primitive_attr own_scratchpad();

/// A second tensor of a primitive, which lies in the same buffer behind the first.
struct Behind {
  int name = 0;
  dnnl::memory::desc plain;
};

/// One tensor of a kernel as the library's primitive wants it.
struct Argument {
  KernelTensor tensor;
  int name = 0;               ///< DNNL_ARG_SRC, …
  dnnl::memory::desc plain;   ///< as the buffer holds it
  dnnl::memory::desc wanted;  ///< as the primitive takes it: where it differs, a reorder is part of the kernel
  bool added_to = false;      ///< the primitive adds to what is there: it is set to zero first, which is part of the kernel
  bool own = false;           ///< no tensor of the problem: memory that the kernel has for itself, zero at first
  std::optional<Behind> behind{};  ///< where `plain` is but the first part of the buffer
};

/// One primitive with the reorders around it.
[[nodiscard]] std::unique_ptr<PreparedKernel> primitive_kernel(const Device& device, const dnnl::primitive& primitive,
                                                               const dnnl::memory::desc& scratchpad, std::string algorithm,
                                                               std::vector<Argument> arguments);
/// A plain loop, where the library has nothing. `buffers` are in the order of `tensors`.
[[nodiscard]] std::unique_ptr<PreparedKernel> loop_kernel(std::vector<KernelTensor> tensors,
                                                          std::function<void(std::span<DeviceBuffer* const>)> loop);
/// Primitives and loops one after the other, which share `scratch` floats of the workspace.
[[nodiscard]] std::unique_ptr<PreparedKernel> composed_kernel(
    const Device& device, std::string algorithm, std::vector<KernelTensor> tensors, std::int64_t scratch,
    std::function<void(std::span<DeviceBuffer* const> buffers, float* scratch)> run);
/// For passes that cost nothing: views, and gradients that another pass computes on the way.
[[nodiscard]] std::unique_ptr<PreparedKernel> empty_kernel();

/// One kind of operation that this back end can run.
struct Kind {
  std::string_view type;
  /// Why not, or nothing.
  std::string (*refusal)(const Problem& problem);
  std::unique_ptr<PreparedKernel> (*prepare)(const Device& device, const Problem& problem);
};
// Each in the file of its name.
extern const Kind activation, add, additive_attention, attention, cast, channel_shuffle, class_token, combine, concat,
    convolution, crop, dispatch, dropout, embedding, flatten, fully_connected, identity, interaction, loss, lstm, multiply,
    norm, pool, position_embedding, reshape, resize, rotary_embedding, router, scale, select, slice, softmax, space_to_depth,
    transposed_convolution, window_attention;
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_update(const Device& device, const UpdateProblem& problem);

/// For kinds that run in fp32 alone.
[[nodiscard]] std::string only_fp32(const Problem& problem);

}  // namespace ddl::onednn
