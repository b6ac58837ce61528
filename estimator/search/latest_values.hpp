#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddl {

/// A cache of fixed size. Each key has one place, which it shares with other keys; the latest value in a place stays.
/// Keys have at least one number that is not zero. Not thread-safe.
template <class Value, std::size_t numbers>
class LatestValues {
 public:
  using Key = std::array<std::int64_t, numbers>;
  explicit LatestValues(std::size_t places) : places_(places) {}

  /// Returns the value of a key. If it is not in the cache, `make()` computes it.
  template <class Make>
  [[nodiscard]] const Value& of(const Key& key, const Make& make) {
    std::uint64_t mixed = 0;
    for (const std::int64_t each : key) {
      mixed = (mixed ^ static_cast<std::uint64_t>(each)) * 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio
      mixed ^= mixed >> 32U;
    }
    Place& place = places_[mixed % places_.size()];
    if (place.key != key) place = {key, make()};
    return place.value;
  }

 private:
  struct Place {
    Key key{};
    Value value{};
  };
  std::vector<Place> places_;
};

/// Returns a suitable number of places for values that are alike for some of the meshes of a number of devices. Numbers of
/// devices with many divisors have millions of meshes.
[[nodiscard]] constexpr std::size_t places_for(std::size_t divisors) {
  constexpr std::size_t many = 100;
  return std::size_t{1} << (divisors < many ? 11U : 17U);
}

}  // namespace ddl
