#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "core/quantity.hpp"
#include "estimator/memory/memory.hpp"

namespace ddl {

/// Adds up the memory requests of a step, and records the moment with most memory.
class MemoryTally {
 public:
  /// A handle that frees a request.
  struct Block {
    Bytes bytes{}, allocated{};
    MemoryItem item = MemoryItem::activations;
    bool passing = false;
  };
  using Mark = MemoryState;
  /// Equal repetitions of layers are counted, and not visited one by one.
  static constexpr bool folds = true;

  /// `granule`: requests are rounded up to multiples of this many bytes; 0: no rounding.
  /// `has_peaks`: whether peak() will be asked for.
  explicit MemoryTally(double granule, bool has_peaks = true) : granule_(granule), has_peaks_(has_peaks) {}

  /// Adds `times` requests of `bytes` bytes each.
  [[nodiscard]] Block allocate(Bytes bytes, MemoryItem item, int layer, double times = 1) {
    if (bytes <= Bytes{}) return {};
    const Block block{bytes * times, rounded(bytes) * times, item, item == MemoryItem::workspace && layer >= 0};
    add(block, 1);
    note();
    return block;
  }
  void free(Block& block) {
    add(block, -1);
    block = {};
  }
  void at(StepPhase phase, int /*layer*/) { phase_ = phase; }
  /// Adds memory that the running kernel may need in addition to its requests.
  void may_need(Bytes more) {
    more_ = more;
    note();
  }

  [[nodiscard]] Mark mark() const { return now_; }
  /// Repeats all requests that were made after `since` this many times.
  void repeat(const Mark& since, double times) { now_.add(since, mark(), times); }
  /// Frees all blocks that were allocated between two moments.
  void release(const Mark& from, const Mark& to) { now_.add(from, to, -1); }

  /// The moment with the most memory in the update, and before the update.
  struct Peak {
    MemoryState state;
    Bytes most{};  ///< bytes with the upper bound of kernel scratch memory
  };
  [[nodiscard]] const Peak& peak(bool in_update) const { return peaks_[in_update ? 1 : 0]; }
  [[nodiscard]] const MemoryState& peak() const { return peaks_[is_in_update() ? 1 : 0].state; }
  [[nodiscard]] bool is_in_update() const { return peaks_[1].state.allocated > peaks_[0].state.allocated; }

 private:
  [[nodiscard]] Bytes rounded(Bytes bytes) const {
    // The tolerance for rounding errors when shares add up to a whole.
    constexpr double exact = 1 - 1e-12;
    return granule_ > 0 ? Bytes(std::ceil(bytes.value() / granule_ * exact) * granule_) : bytes;
  }
  void add(const Block& block, double times) {
    now_.items[static_cast<std::size_t>(block.item)] += block.bytes * times;
    now_.allocated += block.allocated * times;
    if (block.passing) now_.passing += block.bytes * times;
  }
  void note() {
    if (!has_peaks_) return;
    Peak& peak = peaks_[phase_ == StepPhase::update ? 1 : 0];
    peak.most = max(peak.most, now_.allocated + more_);
    if (now_.allocated > peak.state.allocated) peak.state = now_;
  }

  double granule_;
  bool has_peaks_;
  MemoryState now_;
  std::array<Peak, 2> peaks_;
  Bytes more_{};
  StepPhase phase_ = StepPhase::setup;
};

}  // namespace ddl
