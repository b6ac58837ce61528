#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/quantity.hpp"

namespace ddl {

/// A model of PyTorch's caching allocator for CUDA devices with its default settings. For a sequence of requests, the model
/// computes the allocated memory, and the device memory that is reserved. Sizes are rounded to 512 bytes. Requests of up to
/// 1 MiB share segments of 2 MiB. Larger requests of less than 10 MiB share segments of 20 MiB. Each request of 10 MiB or
/// more has its own segment of a multiple of 2 MiB. A request gets the smallest free block that is large enough. The block
/// is split if more than 512 bytes (for large blocks: more than 1 MiB) are left. Free neighbors in a segment are merged.
/// [PyTorch, c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer, kMinLargeAlloc, kLargeBuffer,
/// kRoundLarge, should_split; its docs, "CUDA semantics", Memory management.]
class CachingAllocator {
 public:
  /// Returns the number of bytes to whose multiples requests are rounded up; 0 if requests are not rounded.
  [[nodiscard]] static double granule(bool on_processor) { return on_processor ? 0.0 : 512.0; }

  /// How requests are rounded: `cuda` as on a CUDA device; `none` not at all, as in PyTorch on a CPU.
  enum class Rounding { cuda, none };

  /// With a `capacity`, completely free segments are returned to the device if a new segment does not fit.
  explicit CachingAllocator(Rounding rounding, std::optional<Bytes> capacity = std::nullopt);

  /// Returns the id of a block of at least `bytes` bytes. Ids of freed blocks are reused.
  [[nodiscard]] std::size_t allocate(Bytes bytes);
  void free(std::size_t block);

  [[nodiscard]] Bytes allocated() const { return Bytes(allocated_); }
  [[nodiscard]] Bytes reserved() const { return Bytes(reserved_); }
  [[nodiscard]] Bytes peak_allocated() const { return Bytes(peak_allocated_); }
  [[nodiscard]] Bytes peak_reserved() const { return Bytes(peak_reserved_); }
  /// The contents of peak_reserved() at the moment of the peak.
  struct Reserved {
    Bytes allocated{};
    Bytes pieces{};    ///< free blocks in segments that also have allocated blocks
    Bytes segments{};  ///< completely free segments, which are cached for later requests, and returned if memory runs out
  };
  [[nodiscard]] Reserved at_peak_reserved() const { return at_peak_reserved_; }
  /// Returns whether every request fitted into the capacity. Requests that did not fit are still
  /// included in the model's sums.
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] Bytes size_of(std::size_t block) const { return Bytes(blocks_[block].size); }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Block {
    double address = 0, size = 0;
    std::size_t before = none, after = none;  ///< neighbors in the segment
    bool is_free = false, is_small = false;
  };
  /// Free blocks, ordered by size and then by address.
  using Free = std::set<std::pair<std::pair<double, double>, std::size_t>>;

  [[nodiscard]] std::size_t add(const Block& block);
  [[nodiscard]] std::size_t new_segment(double size, bool is_small);
  void release_segments();
  [[nodiscard]] Reserved reserved_now() const;
  [[nodiscard]] Free& pool(bool is_small) { return is_small ? small_ : large_; }
  [[nodiscard]] std::pair<std::pair<double, double>, std::size_t> entry(std::size_t block) const;
  void join(std::size_t block, std::size_t neighbour);

  Rounding rounding_;
  std::optional<Bytes> capacity_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> unused_;  ///< ids that can be reused
  Free small_, large_;
  double next_address_ = 0;
  Reserved at_peak_reserved_;
  double allocated_ = 0, reserved_ = 0, peak_allocated_ = 0, peak_reserved_ = 0;
  bool fits_ = true;
};

}  // namespace ddl
