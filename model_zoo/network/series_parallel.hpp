#pragma once

#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// One element of a series of layers: a layer, or several branches and the layer that joins them.
struct SeriesElement {
  /// The layer, or that which joins; -1 where a single branch leaves the way for good.
  int layer = -1;
  /// An empty branch is the tensor where the others start.
  std::vector<std::vector<SeriesElement>> branches;
  /// Producers that the layer reads besides what stands before it: tensors that cross the order of the drawing.
  std::vector<int> from;
};
using Series = std::vector<SeriesElement>;

/// A model's graph as series and branches, each layer once. Graphs that are none (a decoder whose layers all read the
/// encoder) become one by setting the farthest-reaching tensors apart, in `from`.
[[nodiscard]] Series series_of(const Model& model);

}  // namespace ddl
