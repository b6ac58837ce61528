#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>
#include <vector_types.h>

// CUDA's language for an ordinary compiler: threads of a block are contexts that take turns, blocks run one after the other.
// Included before any kernel.
namespace ddl::emulation {

/// Runs `thread` for each thread of each block. Its device time is the number of cycles requested from the clock, at 1 GHz,
/// or else the default of a kernel.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);
/// A barrier of all threads of the block, or of the warp.
void wait_for_block();
void wait_for_warp();
/// One word for each lane of the warp.
float* warp_words();
/// The device's clock, which advances when it is read.
long long next_cycle();
unsigned lane();

}  // namespace ddl::emulation

// NOLINTBEGIN(*): these are CUDA's names.
#undef __global__
#undef __device__
#undef __shared__
#define __global__
#define __device__
#define __shared__ static
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline void __syncthreads() { ddl::emulation::wait_for_block(); }
inline float __shfl_xor_sync(unsigned /*mask*/, float value, int distance) {
  float* words = ddl::emulation::warp_words();
  words[ddl::emulation::lane()] = value;
  ddl::emulation::wait_for_warp();
  const float other = words[ddl::emulation::lane() ^ static_cast<unsigned>(distance)];
  ddl::emulation::wait_for_warp();
  return other;
}
inline float atomicAdd(float* to, float value) {
  const float before = *to;
  *to += value;
  return before;
}
inline float rsqrtf(float value) { return 1 / std::sqrt(value); }
inline long long clock64() { return ddl::emulation::next_cycle(); }
#define DDL_LAUNCH(kernel, grid, block, stream, ...) \
  (static_cast<void>(stream), ddl::emulation::run_grid(grid, block, [&] { kernel(__VA_ARGS__); }))
// NOLINTEND(*)
