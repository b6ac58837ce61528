#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/network/optimizer.hpp"
#include "model_zoo/values/precision.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// What the user says of times that were measured elsewhere; what is left out is taken from the file, or is an Error where
/// the file does not say it.
struct ProfileImportOptions {
  std::optional<std::int64_t> samples{};  ///< of a step, or of one of its micro-batches
  std::optional<Precision> precision{};
  std::optional<Optimizer> optimizer{};
  std::string device{};
};

/// An operator, or several of one name and shapes, whose time went to no layer.
struct UnmatchedOperator {
  std::string name, shapes;  ///< shapes: `4,64,56,56 64,64,3,3`; empty where nobody knows
  double calls = 0;          ///< in a step
  Seconds time{};            ///< in a step
};

/// A profile made of somebody else's times, and how much of them is in it.
struct ProfileImport {
  Profile profile;
  std::int64_t samples = 0;
  Precision precision = Precision::fp32;
  std::vector<std::string> missing;   ///< problems of the model that nobody timed
  std::vector<std::string> warnings;  ///< each one line
  /// Of a trace: steps in it, the median one's time, and that of the operators in it that are layers'. On a device, times
  /// are those of kernels.
  int steps = 0;
  Seconds step{}, matched{};
  bool of_device = false;
  std::vector<UnmatchedOperator> unmatched;  ///< the longest first
};

}  // namespace ddl
