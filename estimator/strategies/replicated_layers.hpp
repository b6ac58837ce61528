#pragma once

#include <compare>

namespace ddl {

/// The layers [first, last) that a spatial split replicates. Every rank computes all of these layers, after an Allgather of
/// the tiles that they read. All layers before `first` and from `last` on are split. By default, there is no spatial split.
struct ReplicatedLayers {
  int first = -1, last = -1;

  [[nodiscard]] bool contains(int layer) const { return first <= layer && layer < last; }
  /// Returns whether tensors cross a cut before `layer` as tiles. If so, the layer after the cut
  /// gathers the tiles, and a rank that has the whole tensor sends only a tile. Between replicated
  /// layers, all tensors are treated as whole, even tiles that skip over these layers.
  [[nodiscard]] bool has_tiles_before(int layer) const { return layer <= first || layer >= last; }
  auto operator<=>(const ReplicatedLayers&) const = default;
};

}  // namespace ddl
