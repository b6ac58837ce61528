#pragma once

#include <compare>

namespace ddl {

/// The layers [first, last) that a spatial split leaves whole: every rank computes all of them, behind an Allgather of the
/// tiles that they read. Layers before and behind them are split. As constructed: of a plan without a spatial split.
struct ReplicatedLayers {
  int first = -1, last = -1;

  [[nodiscard]] bool contains(int layer) const { return first <= layer && layer < last; }
  /// Returns whether what crosses a cut before that layer lies in tiles: it is the layer behind the cut that gathers them,
  /// and who has a whole tensor sends the tile that is read.
  /// Between replicated layers everything counts as whole, also what skips over them in tiles.
  [[nodiscard]] bool has_tiles_before(int layer) const { return layer <= first || layer >= last; }
  auto operator<=>(const ReplicatedLayers&) const = default;
};

}  // namespace ddl
