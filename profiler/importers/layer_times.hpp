#pragma once

#include <string>
#include <vector>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Times of one pass of one layer, one per step.
struct PassTimes {
  std::vector<double> seconds;  ///< empty if the pass was not timed
  std::string algorithm;        ///< algorithm that ran, or how the time was obtained
};

/// The measured times of one layer. If the two backward passes were not timed separately, `backward` is their sum.
struct ImportedLayer {
  PassTimes forward, backward_data, backward_weight, backward, update;
  PassTimes addition;        ///< addition of two gradients of the layer's output
  PassTimes table_addition;  ///< addition of two gradients of a table that an earlier layer owns
};

/// Adds the rows of a profile. Each distinct problem of the model has one row, with the mean over its layers, step by step.
/// A `backward` time is divided between the gradients of inputs and of weights in proportion to their FLOPs (or their memory
/// traffic, if neither has any); the column of algorithms notes this. Problems without a time go to `missing`.
void add_rows(ProfileImport& into, const Model& model, const std::vector<ImportedLayer>& times, Optimizer optimizer);

/// Throws Error if the model's tensors for this many samples are too large for 64-bit sizes.
void check_samples(const Model& model, std::int64_t samples);

}  // namespace ddl
