#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// What the layers that a split divides take on one rank, forward and backward, relative to a p-th of their unsplit time.
struct SplitScaling {
  std::string axis;          ///< `filter`, `channel`, `tensor` or `spatial`
  std::string degree;        ///< `4`, tiles as `2x2`
  int parts = 1;             ///< p
  std::int64_t samples = 1;  ///< of a micro-batch
  int layers = 0;            ///< that are divided
  Seconds whole{}, split{};

  /// Time of a rank over a p-th of the whole: 1 where splitting is free.
  [[nodiscard]] double over_linear() const { return split * static_cast<double>(parts) / whole; }
};

/// Every split of the model whose problems were all measured, in powers of two up to 64, at full speed (at_full_speed).
[[nodiscard]] std::vector<SplitScaling> split_scalings(const Profile& profile, const Model& model);

}  // namespace ddl
