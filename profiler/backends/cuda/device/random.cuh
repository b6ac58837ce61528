#pragma once

#include "profiler/backends/cuda/device/grid.cuh"

namespace ddl::cuda::device {

/// Four words of Philox 4x32-10 [Salmon et al. 2011, section 3.3] from a counter and a key.
struct Random {
  std::uint32_t word[4];
  __device__ Random(std::uint64_t counter, std::uint64_t key) {
    word[0] = static_cast<std::uint32_t>(counter);
    word[1] = static_cast<std::uint32_t>(counter >> 32U);
    word[2] = 0;
    word[3] = 0;
    auto low = static_cast<std::uint32_t>(key);
    auto high = static_cast<std::uint32_t>(key >> 32U);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t even = std::uint64_t{0xD2511F53U} * word[0];
      const std::uint64_t odd = std::uint64_t{0xCD9E8D57U} * word[2];
      word[0] = static_cast<std::uint32_t>(odd >> 32U) ^ word[1] ^ low;
      word[1] = static_cast<std::uint32_t>(odd);
      word[2] = static_cast<std::uint32_t>(even >> 32U) ^ word[3] ^ high;
      word[3] = static_cast<std::uint32_t>(even);
      low += 0x9E3779B9U;
      high += 0xBB67AE85U;
    }
  }
};

/// drop_threshold(): an element is kept if its random word reaches this threshold. kept_scale(): the factor of kept
/// elements.
inline std::uint32_t drop_threshold(double rate) {
  const double words = rate * 4294967296.0;
  return words >= 4294967295.0 ? 4294967295U : static_cast<std::uint32_t>(words);
}
inline float kept_scale(double rate) { return rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0F; }

}  // namespace ddl::cuda::device
