#pragma once

#include <optional>

#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

struct LayerShard;

/// The layout of a tensor over the ranks of an axis.
enum class Spread {
  whole,      ///< every rank has all of the tensor
  channels,   ///< each rank has a part of the tensor's channels
  positions,  ///< each rank has a part of the tensor's extents, or of its tokens
  sums,       ///< each rank has the whole tensor, but only a partial sum
};

/// Returns the collective that changes a tensor from one layout to another; empty if each rank already has the items that it
/// needs.
[[nodiscard]] std::optional<Collective> difference(Spread from, Spread to);

/// The layouts of a layer's first input and of its output along one axis: between layers (`input`, `output`), and as the
/// rank's kernels read and write them (`read`, `written`). Gradients have the layout of their tensors. The gradient of a
/// tensor with partial sums is replicated on all ranks.
struct AxisLayout {
  Spread input = Spread::whole, read = Spread::whole;
  Spread written = Spread::whole, output = Spread::whole;

  /// Returns whether a rank computes only a part of the layer: a part of its output, or a partial sum of it.
  [[nodiscard]] bool is_split() const { return written != Spread::whole; }
};

/// The number of items of a layer's unsplit tensors, per sample; 0 for an input without a gradient.
struct LayerTensors {
  double input = 0, output = 0, input_gradient = 0;
};

/// Adds the exchange between two layouts, if one is needed. `items`: of the full vector, per sample.
void add_exchange(LayerShard& shard, Spread from, Spread to, double items, Family axes, Phase phase, Purpose purpose,
                  Subject subject = Subject::other);
/// Sets the layout in the shard, and adds the exchanges that it requires. In forward, the input changes from its layout
/// between layers to the one that kernels read, and the output from the one that kernels write to its layout between layers.
/// In backward, the same holds for gradients. A rank that reads all of an input but computes only a part of the layer gets a
/// partial sum of that input's gradient.
void set_layout(LayerShard& shard, Axis axis, const AxisLayout& layout, const LayerTensors& tensors);

}  // namespace ddl
