#pragma once

#include <string>
#include <vector>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Times of one pass of one layer, one a step.
struct PassTimes {
  std::vector<double> seconds;  ///< empty where nobody timed it
  std::string algorithm;        ///< what ran, or how the time was come by
};

/// What somebody measured of one layer. `backward` is that of inputs and weights together, where they were not told apart.
struct ImportedLayer {
  PassTimes forward, backward_data, backward_weight, backward, update;
  PassTimes addition;        ///< of two gradients of its output
  PassTimes table_addition;  ///< of two gradients of a table that is an earlier layer's
};

/// Adds the rows of a profile: each distinct problem of the model once, with the mean of the layers that have it, step by
/// step. A `backward` is divided between the gradients of inputs and of weights in proportion to their FLOPs (or their
/// memory traffic, where neither has any), which the column of algorithms says. Problems without a time go to `missing`.
void add_rows(ProfileImport& into, const Model& model, const std::vector<ImportedLayer>& times, Optimizer optimizer);

/// An Error where the model's tensors of so many samples are too large to be counted.
void check_samples(const Model& model, std::int64_t samples);

}  // namespace ddl
