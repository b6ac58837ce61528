#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// The lines of one layer's problems in a training step; empty where training runs none or the pass has no work.
struct LayerProblems {
  std::string forward, backward_data, backward_weight, update;
  std::string addition;        ///< of two gradients of its output
  int additions = 0;           ///< how many of these make one gradient
  std::string table_addition;  ///< of the gradients of a table that is an earlier layer's, of both layers
};
/// By layer.
[[nodiscard]] std::vector<LayerProblems> layer_problems(const Model& model, std::int64_t samples, Precision precision,
                                                        Optimizer optimizer);

/// Every distinct problem of one training step of the whole model on `samples` samples, in the order in which the layers
/// first need them: forward, backward-data where a layer before has parameters, backward-weight where the layer has any, the
/// additions that make one gradient of what its readers send back, and of a table that two layers share, update. Passes
/// without work (views, the backward-weight of a pooling, gradients passed on as they are) are left out.
[[nodiscard]] std::vector<CountedProblem> problems_of(const Model& model, std::int64_t samples, Precision precision,
                                                      Optimizer optimizer);

}  // namespace ddl
