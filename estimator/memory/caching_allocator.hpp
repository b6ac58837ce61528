#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/quantity.hpp"

namespace ddl {

/// PyTorch's caching allocator for CUDA devices with its default settings: how much memory a sequence of requests holds, and
/// how much of the device's it takes for that. Sizes are rounded to 512 bytes; requests of up to 1 MiB share segments of 2
/// MiB, others of less than 10 MiB segments of 20 MiB, larger ones have a segment of a multiple of 2 MiB; the smallest free
/// block that is large enough is taken, and split where more than 512 bytes (of the large: more than 1 MiB) are left; free
/// neighbours of a segment are joined. [PyTorch, c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer,
/// kMinLargeAlloc, kLargeBuffer, kRoundLarge, should_split; its docs, "CUDA semantics", Memory management.]
class CachingAllocator {
 public:
  /// Requests are rounded up to multiples of so many bytes; 0 for none.
  [[nodiscard]] static double granule(bool on_processor) { return on_processor ? 0.0 : 512.0; }

  /// How requests become memory: as on a CUDA device, or as they are, as PyTorch does on a processor.
  enum class Rounding { cuda, none };

  /// With a capacity, segments that are wholly free go back to the device where there is no room for a new one.
  explicit CachingAllocator(Rounding rounding, std::optional<Bytes> capacity = std::nullopt);

  /// A block of at least so many bytes, by its number; numbers of freed blocks come again.
  [[nodiscard]] std::size_t allocate(Bytes bytes);
  void free(std::size_t block);

  [[nodiscard]] Bytes allocated() const { return Bytes(allocated_); }
  [[nodiscard]] Bytes reserved() const { return Bytes(reserved_); }
  [[nodiscard]] Bytes peak_allocated() const { return Bytes(peak_allocated_); }
  [[nodiscard]] Bytes peak_reserved() const { return Bytes(peak_reserved_); }
  /// Whether every request found room within the capacity; one that did not is counted all the same.
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] Bytes size_of(std::size_t block) const { return Bytes(blocks_[block].size); }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Block {
    double address = 0, size = 0;
    std::size_t before = none, after = none;  ///< neighbours in the segment
    bool is_free = false, is_small = false;
  };
  /// Free blocks by size, then address.
  using Free = std::set<std::pair<std::pair<double, double>, std::size_t>>;

  [[nodiscard]] std::size_t add(const Block& block);
  [[nodiscard]] std::size_t new_segment(double size, bool is_small);
  void release_segments();
  [[nodiscard]] Free& pool(bool is_small) { return is_small ? small_ : large_; }
  [[nodiscard]] std::pair<std::pair<double, double>, std::size_t> entry(std::size_t block) const;
  void join(std::size_t block, std::size_t neighbour);

  Rounding rounding_;
  std::optional<Bytes> capacity_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> unused_;  ///< numbers to give again
  Free small_, large_;
  double next_address_ = 0;
  double allocated_ = 0, reserved_ = 0, peak_allocated_ = 0, peak_reserved_ = 0;
  bool fits_ = true;
};

}  // namespace ddl
