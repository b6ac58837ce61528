#pragma once

#include <optional>

#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Searches a mesh for each segment of layers. Dynamic programming over the units of the model (unit_graph) finds
/// assignments that take least time if nothing overlaps, or if gradient exchanges overlap with compute, and the estimator
/// predicts these plans. `alike`: the plan whose choices other than meshes are kept. Returns the fastest plan with several
/// meshes that fits.
[[nodiscard]] std::optional<Estimate> best_by_layer(const Estimator& estimator, const SearchOptions& options,
                                                    const Plan& alike);

}  // namespace ddl
