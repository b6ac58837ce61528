#pragma once

#include <string_view>

#include "core/quantity.hpp"

namespace ddl {

/// The plausible range of a quantity, such as a bandwidth. The range extends far beyond all real values, but not so far that
/// a result computed from a plausible value overflows a double. If a reader allows zero, zero is plausible too.
template <class Q>
struct Plausible {
  std::string_view noun;  ///< name of the quantity, with its article
  Q least, most;
};

// Ranges for quantities without a more specific range.
inline constexpr Plausible<Bytes> plausible_size{"a size", Bytes(1), Bytes(1e21)};
inline constexpr Plausible<Seconds> plausible_time{"a time", Seconds(1e-18), Seconds(1e15)};
inline constexpr Plausible<Bandwidth> plausible_bandwidth{"a bandwidth", Bandwidth(1), Bandwidth(1e18)};
inline constexpr Plausible<FlopRate> plausible_flop_rate{"a compute rate", FlopRate(1), FlopRate(1e21)};
// Ranges for machines.
inline constexpr Plausible<Bytes> plausible_memory{"the memory of a device", Bytes(1e3), Bytes(1e14)};
inline constexpr Plausible<Bandwidth> plausible_memory_bandwidth{"a memory bandwidth", Bandwidth(1e6), Bandwidth(1e18)};
inline constexpr Plausible<FlopRate> plausible_peak{"the peak of a device", FlopRate(1e6), FlopRate(1e21)};
inline constexpr Plausible<Seconds> plausible_latency{"a latency", Seconds(1e-12), Seconds(1e3)};

}  // namespace ddl
