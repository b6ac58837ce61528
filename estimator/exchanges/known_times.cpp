#include "estimator/exchanges/known_times.hpp"

#include <bit>

namespace ddl {

KnownTimes::Place KnownTimes::place(const std::vector<double>& properties) {
  const auto known = places_.find(properties);
  if (known != places_.end()) return known->second;
  // Identifiers of removed placements are not reused.
  if (places_.size() >= kept_places) places_.clear();
  return places_.emplace(properties, ++latest_).first->second;
}

std::size_t KnownTimes::slot_of(const Key& key) {
  const std::uint64_t fields = (std::uint64_t{key.place} << 8U) ^ (static_cast<std::uint64_t>(key.operation) << 4U) ^
                               static_cast<std::uint64_t>(key.kind);
  // Multiplicative hashing; the constant is 2^64 divided by the golden ratio (Knuth, TAOCP 3, section 6.4).
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;
  const std::uint64_t mixed = (fields * golden) ^ std::bit_cast<std::uint64_t>(key.bytes);
  static_assert(std::has_single_bit(kept_times));
  return static_cast<std::size_t>((mixed * golden) >> (64U - std::countr_zero(kept_times)));
}

}  // namespace ddl
