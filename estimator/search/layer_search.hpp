#pragma once

#include <optional>
#include <vector>

#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A place between two layers that one tensor alone crosses.
struct LayerCut {
  int layer = 0;          ///< the first layer behind the cut
  int tensor = 0;         ///< the layer that writes the tensor
  int reader = 0;         ///< the first layer behind the cut that reads the tensor
  std::size_t input = 0;  ///< the place of the tensor among the inputs of this layer
  bool is_lone = false;   ///< whether no other layer reads the tensor
};
/// Returns the cuts before layers with weights, before blocks and after the last matrix layer. Branches that join again are
/// between two cuts.
[[nodiscard]] std::vector<LayerCut> layer_cuts(const ModelFacts& facts);

/// Searches a mesh for each segment of layers. Dynamic programming over the cuts of the model finds assignments that take
/// least time if nothing overlaps, or if gradient exchanges overlap with compute, and the estimator predicts these plans.
/// `alike`: the plan whose choices other than meshes are kept. Returns the fastest plan with several meshes that fits.
[[nodiscard]] std::optional<Estimate> best_by_layer(const Estimator& estimator, const SearchOptions& options,
                                                    const Plan& alike);

}  // namespace ddl
