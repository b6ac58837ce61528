#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "profiler/backends/cuda/device/kernels.hpp"

// Common code of our own kernels. DDL_LAUNCH launches the kernels, so that tests can run them without a device.
#ifndef DDL_LAUNCH
#define DDL_LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#endif

namespace ddl::cuda::device {

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
template <class T>
__device__ inline T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

/// A vector of elements that a thread reads or writes in one access.
template <class T, int width>
struct alignas(sizeof(T) * static_cast<std::size_t>(width)) Pack {
  T at[static_cast<std::size_t>(width)];
};
/// The number of elements in 16 bytes.
template <class T>
constexpr int whole_width() {
  return static_cast<int>(16 / sizeof(T));
}
template <int width, class T>
__device__ inline Pack<T, width> load(const T* from, std::int64_t item) {
  return *reinterpret_cast<const Pack<T, width>*>(from + item);
}
template <int width, class T>
__device__ inline void store(T* to, std::int64_t item, const Pack<T, width>& pack) {
  *reinterpret_cast<Pack<T, width>*>(to + item) = pack;
}

constexpr int block = 256;  ///< threads of a block
constexpr unsigned warp = 32;
constexpr std::int64_t short_most = 0x7fffffff;  ///< maximum element count for 32-bit indices

/// Calls `work.template run<width>(item)` for all elements, with `width` elements at once while at least `width` elements
/// are left.
template <int width, class Work>
__global__ void map_kernel(Work work, std::int64_t packs, std::int64_t items) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < packs) {
    work.template run<width>(i * width);
  } else if (const std::int64_t item = packs * width + (i - packs); item < items) {
    work.template run<1>(item);
  }
}

inline unsigned blocks(std::int64_t threads) { return static_cast<unsigned>((threads + block - 1) / block); }

template <int width, class Work>
cudaError_t map(cudaStream_t stream, Work work, std::int64_t items) {
  if (items == 0) return cudaSuccess;
  const std::int64_t packs = items / width;
  const std::int64_t threads = packs + items % width;
  DDL_LAUNCH((map_kernel<width, Work>), blocks(threads), block, stream, work, packs, items);
  return cudaGetLastError();
}

/// Calls `work` for all elements of rows of `length` elements. No vector may cross rows. So `width` elements
/// are processed at once only if `width` divides the length.
template <int width, class Work>
cudaError_t map_rows(cudaStream_t stream, Work work, std::int64_t items, std::int64_t length) {
  return length % width == 0 ? map<width>(stream, work, items) : map<1>(stream, work, items);
}

/// Calls `call` with a value of the C++ type of the number format.
template <class Call>
cudaError_t dispatch(Number number, Call call) {
  switch (number) {
    case Number::fp16:
      return call(__half{});
    case Number::bf16:
      return call(__nv_bfloat16{});
    case Number::fp32:
      break;
  }
  return call(float{});
}

template <class T>
const T* in(const void* data) {
  return static_cast<const T*>(data);
}
template <class T>
T* out(void* data) {
  return static_cast<T*>(data);
}

struct Sum {
  static __device__ float start() { return 0; }
  static __device__ float join(float a, float b) { return a + b; }
};
struct Largest {
  static __device__ float start() { return -INFINITY; }
  static __device__ float join(float a, float b) { return fmaxf(a, b); }
};

/// A reduction over all threads with the same threadIdx.y, which are a warp or a whole block of `threads`. Every thread gets
/// the result.
template <class Reduction, int threads>
__device__ inline float reduce(float value) {
  for (unsigned distance = warp / 2; distance > 0; distance /= 2) {
    value = Reduction::join(value, __shfl_xor_sync(0xffffffffU, value, static_cast<int>(distance)));
  }
  if constexpr (threads > static_cast<int>(warp)) {
    __shared__ float parts[threads / warp];
    __syncthreads();  // all readers of the previous value are done
    if (threadIdx.x % warp == 0) parts[threadIdx.x / warp] = value;
    __syncthreads();
    value = Reduction::start();
    for (unsigned part = 0; part < threads / warp; ++part) value = Reduction::join(value, parts[part]);
  }
  return value;
}

/// Processes rows with one warp each, or one block each: calls `run(row, lane)` with lanes 0 to `threads` - 1.
constexpr int rows_at_once = 4;
template <int threads, class Work>
__global__ void rows_kernel(Work work, std::int64_t rows) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row < rows) work.template run<threads>(row, threadIdx.x);
}
/// Launches a kernel over rows. Short rows get one warp each.
template <class Work>
cudaError_t each_row(cudaStream_t stream, Work work, std::int64_t rows, std::int64_t length) {
  if (rows == 0) return cudaSuccess;
  constexpr std::int64_t longest = 1024;
  if (length <= longest) {
    const auto count = static_cast<unsigned>((rows + rows_at_once - 1) / rows_at_once);
    DDL_LAUNCH((rows_kernel<static_cast<int>(warp), Work>), count, dim3(warp, rows_at_once), stream, work, rows);
  } else {
    DDL_LAUNCH((rows_kernel<block, Work>), static_cast<unsigned>(rows), dim3(block), stream, work, rows);
  }
  return cudaGetLastError();
}

inline bool is_aligned(const void* data, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(data) % bytes == 0; }

}  // namespace ddl::cuda::device
