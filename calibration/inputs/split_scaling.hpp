#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// How well a split divides the time of layers. The time on one rank, forward and backward, is
/// compared with 1/p of the unsplit time.
struct SplitScaling {
  std::string axis;          ///< `filter`, `channel`, `tensor` or `spatial`
  std::string degree;        ///< degree of the split: `4`, or tiles such as `2x2`
  int parts = 1;             ///< p, number of parts
  std::int64_t samples = 1;  ///< samples of a micro-batch
  int layers = 0;            ///< number of divided layers
  Seconds whole{}, split{};

  /// The time on one rank (`split`), divided by 1/p of the unsplit time (`whole`); 1 if splitting is perfect.
  [[nodiscard]] double over_linear() const { return split * static_cast<double>(parts) / whole; }
};

/// Returns all splits in powers of two up to 64 for which every problem was measured. Times are at full speed
/// (at_full_speed).
[[nodiscard]] std::vector<SplitScaling> split_scalings(const Profile& profile, const Model& model);

}  // namespace ddl
