#pragma once

#include <optional>

#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

struct LayerShard;

/// The layout of a tensor over the ranks of an axis.
enum class Spread {
  whole,      ///< every rank has all of the tensor
  channels,   ///< each rank has a shard of the tensor's channels
  positions,  ///< each rank has a shard of the tensor's positions or tokens
  sums,       ///< each rank has a partial sum of the whole tensor
};

/// Returns the collective that changes a tensor from one layout to another; empty if each rank
/// already has all elements of the new layout.
[[nodiscard]] std::optional<Collective> difference(Spread from, Spread to);

/// The layouts of a layer's first input and of its output along one axis: between layers (`input`,
/// `output`), and in the rank's kernels (`read`, `written`). A gradient has the layout of its
/// tensor, but the gradient of a tensor with partial sums is replicated on all ranks.
struct AxisLayout {
  Spread input = Spread::whole, read = Spread::whole;
  Spread written = Spread::whole, output = Spread::whole;

  /// Returns whether a rank computes only a shard or a partial sum of the layer's output.
  [[nodiscard]] bool is_split() const { return written != Spread::whole; }
};

/// The number of elements of a layer's unsplit tensors, per sample; 0 for an input without a gradient.
struct LayerTensors {
  double input = 0, output = 0, input_gradient = 0;
};

/// Adds the exchange between two layouts, if an exchange is needed. `items`: number of elements of the full vector, per
/// sample.
void add_exchange(LayerShard& shard, Spread from, Spread to, double items, Family axes, Phase phase, Purpose purpose,
                  Subject subject = Subject::other);
/// Sets the layout in the shard, and adds the exchanges that the layout requires. In forward, the input changes from its
/// layout between layers to the layout that kernels read, and the output changes from the layout that kernels write to its
/// layout between layers. In backward, the same holds for gradients. A rank that reads all of an input but computes only a
/// part of the layer gets a partial sum of the input's gradient.
void set_layout(LayerShard& shard, Axis axis, const AxisLayout& layout, const LayerTensors& tensors);

}  // namespace ddl
