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

/// The user's information about times that were measured elsewhere. Values that the user does not set come from the file. If
/// the file lacks them, an Error is thrown.
struct ProfileImportOptions {
  std::optional<std::int64_t> samples{};  ///< samples of a step, or of one of its micro-batches
  std::optional<Precision> precision{};
  std::optional<Optimizer> optimizer{};
  std::string device{};
  std::string model{};                ///< the user's name of the model, for hints; empty for the model's own name
  std::vector<std::string> others{};  ///< other models to compare the trace with, if the trace does not fit the model
};

/// An operator, or several operators with the same name and shapes, that the import assigned to no layer.
struct UnmatchedOperator {
  std::string name, shapes;  ///< shapes: `4,64,56,56 64,64,3,3`; empty if unknown
  double calls = 0;          ///< calls in a step
  Seconds time{};            ///< time in a step
};

/// A profile made from external times, and the coverage of the import.
struct ProfileImport {
  Profile profile;
  std::int64_t samples = 0;
  Precision precision = Precision::fp32;
  std::vector<std::string> missing;   ///< problems of the model without a time
  std::vector<std::string> warnings;  ///< one line per warning
  /// For a trace: the number of steps, the time of the median step (`step`), and the time of those operators of this step
  /// that belong to layers (`matched`). For a GPU, these times are kernel times.
  int steps = 0;
  Seconds step{}, matched{};
  bool of_device = false;
  std::vector<UnmatchedOperator> unmatched;  ///< longest first
};

}  // namespace ddl
