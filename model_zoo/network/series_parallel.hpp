#pragma once

#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// One element of a series of layers: a layer, or several branches and the layer that joins them.
struct SeriesElement {
  /// The layer, or the layer that joins the branches; -1 if the element is one branch that no layer joins.
  int layer = -1;
  /// The branches of the element. An empty branch is the tensor at which the other branches start.
  std::vector<std::vector<SeriesElement>> branches;
  /// Producers that the layer reads in addition to the previous element, because their tensors do not fit the nesting.
  std::vector<int> from;
};
using Series = std::vector<SeriesElement>;

/// Returns a model's graph as a nested series of branches that contains each layer once. If a graph is not series-parallel,
/// such as a decoder whose layers all read the encoder, the tensors with the farthest readers are moved to `from`.
[[nodiscard]] Series series_of(const Model& model);

}  // namespace ddl
