#include "profiler/backends/cuda/memory.hpp"

#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "profiler/backends/cuda/layout.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMalloc(&data_, bytes);
  if (status != cudaSuccess) data_ = nullptr;
  check(status, fmt::format("{} on the device", print_quantity(Bytes(static_cast<double>(bytes)))));
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr && cudaFree(data_) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

void Workspace::reserve(std::size_t bytes) {
  if (bytes <= memory_.bytes()) return;
  const std::size_t before = memory_.bytes();
  ++moves_;
  memory_ = DeviceMemory();
  try {
    memory_ = DeviceMemory(bytes);
  } catch (const Error&) {
    memory_ = DeviceMemory(before);
    throw;
  }
}

CudaBuffer::CudaBuffer(const KernelTensor& tensor)
    : tensor_(tensor), memory_(buffer_bytes(tensor.items, tensor.precision, tensor.bytes)) {
  check(cudaMemset(memory_.data(), 0, memory_.bytes()), "filling a buffer");
}

bool CudaBuffer::holds(const KernelTensor& tensor) const {
  return tensor_.items == tensor.items && buffer_bytes(tensor.items, tensor.precision, tensor.bytes) <= memory_.bytes();
}

void CudaBuffer::write(std::span<const float> values) {
  std::vector<float> turned;
  if (tensor_.channels > 1 && tensor_.positions > 1) {
    turned.resize(values.size());
    exchange(values, turned, tensor_.channels, tensor_.positions);
    values = turned;
  }
  const std::vector<std::byte> stored = encode(values, tensor_.precision, tensor_.bytes);
  // Copies run in CUDA's default stream, which synchronizes with the kernels' stream in both directions.
  check(cudaMemcpy(memory_.data(), stored.data(), stored.size(), cudaMemcpyHostToDevice), "copying to the device");
}

void CudaBuffer::read(std::span<float> values) const {
  std::vector<std::byte> stored(memory_.bytes());
  check(cudaMemcpy(stored.data(), memory_.data(), stored.size(), cudaMemcpyDeviceToHost), "copying from the device");
  if (tensor_.channels > 1 && tensor_.positions > 1) {
    std::vector<float> turned(values.size());
    decode(stored, tensor_.precision, tensor_.bytes, turned);
    exchange(turned, values, tensor_.positions, tensor_.channels);
  } else {
    decode(stored, tensor_.precision, tensor_.bytes, values);
  }
}

}  // namespace ddl::cuda
