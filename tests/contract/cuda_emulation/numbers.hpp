#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "profiler/backends/cuda/layout.hpp"
#include "tests/contract/cuda_emulation/device.hpp"

namespace ddl::emulation {

/// Elements of a tensor, as the libraries read and write them.
class Numbers {
 public:
  Numbers(const void* data, Precision precision) : data_(const_cast<void*>(data)), precision_(precision) {}
  [[nodiscard]] double at(std::int64_t item) const {
    const auto i = static_cast<std::size_t>(item);
    if (precision_ == Precision::fp16) return cuda::from_fp16(word(i));
    if (precision_ == Precision::bf16) return cuda::from_bf16(word(i));
    float value = 0;
    std::memcpy(&value, static_cast<const char*>(data_) + i * sizeof value, sizeof value);
    return static_cast<double>(value);
  }
  /// Returns an element as rounded by a product.
  [[nodiscard]] double factor(std::int64_t item) const {
    return precision_ == Precision::fp32 ? static_cast<double>(rounded_for_product(static_cast<float>(at(item)))) : at(item);
  }
  void set(std::int64_t item, double value) const {
    const auto i = static_cast<std::size_t>(item);
    const auto single = static_cast<float>(value);
    if (precision_ == Precision::fp16 || precision_ == Precision::bf16) {
      const std::uint16_t bits = precision_ == Precision::fp16 ? cuda::to_fp16(single) : cuda::to_bf16(single);
      std::memcpy(static_cast<char*>(data_) + i * sizeof bits, &bits, sizeof bits);
    } else {
      std::memcpy(static_cast<char*>(data_) + i * sizeof single, &single, sizeof single);
    }
  }

 private:
  [[nodiscard]] std::uint16_t word(std::size_t i) const {
    std::uint16_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(data_) + i * sizeof bits, sizeof bits);
    return bits;
  }
  void* data_;
  Precision precision_;
};

}  // namespace ddl::emulation
