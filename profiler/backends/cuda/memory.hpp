#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl::cuda {

/// Device memory, freed with its owner. Null for zero bytes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory();
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Scratch memory that all kernels of one stream share, because they run one at a time. It has the
/// largest size that any kernel has reserved. Kernels ask for the memory's address at every launch.
class Workspace {
 public:
  /// Makes the workspace at least this large. Throws Error if there is not enough memory; the workspace is then unchanged if
  /// possible.
  void reserve(std::size_t bytes);
  [[nodiscard]] void* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }
  /// A number that changes whenever the address of the workspace changes.
  [[nodiscard]] int moves() const { return moves_; }

 private:
  DeviceMemory memory_;
  int moves_ = 0;
};

/// A part of a workspace that belongs to one kernel. Its content is valid while this kernel runs.
class WorkspacePart {
 public:
  WorkspacePart() = default;
  WorkspacePart(Workspace& whole, std::size_t offset, std::size_t bytes) : whole_(&whole), offset_(offset), bytes_(bytes) {
    whole.reserve(offset + bytes);
  }
  [[nodiscard]] void* data() const { return bytes_ == 0 ? nullptr : static_cast<std::byte*>(whole_->data()) + offset_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Workspace* whole_ = nullptr;
  std::size_t offset_ = 0, bytes_ = 0;
};

/// Allocates consecutive parts of a workspace for one kernel, aligned like CUDA's own allocations.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(Workspace& whole) : whole_(whole) {}
  [[nodiscard]] WorkspacePart take(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    const WorkspacePart part(whole_, used_, bytes);
    used_ += (bytes + alignment - 1) / alignment * alignment;
    return part;
  }

 private:
  Workspace& whole_;
  std::size_t used_ = 0;
};

/// A tensor in device memory, in the number format and order that its kernel requires.
class CudaBuffer final : public DeviceBuffer {
 public:
  explicit CudaBuffer(const KernelTensor& tensor);
  [[nodiscard]] std::int64_t items() const override { return tensor_.items; }
  [[nodiscard]] bool holds(const KernelTensor& tensor) const override;
  void write(std::span<const float> values) override;
  void read(std::span<float> values) const override;

  [[nodiscard]] void* data() const { return memory_.data(); }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes(); }

 private:
  KernelTensor tensor_;
  DeviceMemory memory_;
};

}  // namespace ddl::cuda
