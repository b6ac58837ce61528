#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// Caches times of exchanges among equally placed groups of ranks. Most plans of a search have the same groups and messages
/// as earlier plans. Not thread-safe.
class KnownTimes {
 public:
  /// The identifier of a placement of groups; 0: unknown.
  using Place = std::uint32_t;
  /// Returns the identifier of groups with these properties. Groups with equal properties must have equal times.
  [[nodiscard]] Place place(const std::vector<double>& properties);

  enum class Kind : std::uint8_t { whole, startup, least };
  struct Key {
    Place place = 0;
    Collective operation = Collective::allreduce;
    Kind kind = Kind::whole;
    double bytes = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// Returns the time of an exchange, which is the result of `compute()` if it is not known.
  template <class Compute>
  [[nodiscard]] Seconds time(const Key& key, const Compute& compute) {
    if (times_.empty()) times_.resize(kept_times);
    Known& known = times_[slot_of(key)];
    if (known.key == key) return known.time;
    // Computing a time may need other times, which may take the same slot.
    const Seconds time = compute();
    known = {key, time};
    return time;
  }

 private:
  struct Known {
    Key key{};
    Seconds time{};
  };
  static constexpr std::size_t kept_times = 1U << 13U, kept_places = 1U << 13U;
  [[nodiscard]] static std::size_t slot_of(const Key& key);

  std::vector<Known> times_;  ///< indexed by a hash of the key; a later exchange replaces an earlier one
  std::map<std::vector<double>, Place> places_;
  Place latest_ = 0;
};

}  // namespace ddl
