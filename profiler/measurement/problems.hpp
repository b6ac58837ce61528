#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// The problems of one layer in a training step, as lines; empty for passes that training does not run or that have no work.
struct LayerProblems {
  std::string forward, backward_data, backward_weight, update;
  std::string addition;        ///< addition of two gradients of the layer's output
  int additions = 0;           ///< number of additions that combine the gradients of the output from all readers
  std::string table_addition;  ///< addition of the gradients of a table that an earlier layer owns
};
/// Returns the problems of each layer, in the order of the layers.
[[nodiscard]] std::vector<LayerProblems> layer_problems(const Model& model, std::int64_t samples, Precision precision,
                                                        Optimizer optimizer);

/// Returns every distinct problem of one training step of the whole model on `samples` samples, in the order in which the
/// layers first need them: forward, backward-data if an earlier layer has parameters, backward-weight if the layer has any,
/// the additions that combine the gradients from several readers, the additions for a table that two layers share, and the
/// update. Passes without work (views, the backward-weight of a pooling, gradients passed on unchanged) are omitted.
[[nodiscard]] std::vector<CountedProblem> problems_of(const Model& model, std::int64_t samples, Precision precision,
                                                      Optimizer optimizer);

}  // namespace ddl
