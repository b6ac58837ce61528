#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>
#include <vector_types.h>

// Makes CUDA's language available to an ordinary compiler. Threads of a block are contexts that
// take turns, and blocks run one after the other. This file is included before any kernel.
namespace ddl::emulation {

/// Runs `thread` for each thread of each block. The device time is the number of cycles requested
/// from the clock, at 1 GHz, or else the default time of a kernel.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);
/// The two functions are barriers of all threads of the block, and of all threads of the warp.
void wait_for_block();
void wait_for_warp();
/// Returns one word for each lane of the warp.
float* warp_words();
/// Returns the device's clock, which advances with each call.
long long next_cycle();
unsigned lane();

}  // namespace ddl::emulation

// NOLINTBEGIN(*): the names are CUDA's.
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
