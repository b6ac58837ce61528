#pragma once

#include <optional>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/strategies/replicated_layers.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// How the ranks of a mesh hold a tensor between layers: the number of its parts by samples, and by positions (tiles, or
/// tokens with context or sequence parallelism). The ranks of the other axes hold copies of a part. Stages hold different
/// layers.
struct TensorParts {
  int samples = 1, positions = 1;
  [[nodiscard]] double all() const { return static_cast<double>(samples) * positions; }
  friend bool operator==(const TensorParts&, const TensorParts&) = default;
};

/// A tensor between a layer and layers on another mesh.
struct Border {
  TensorParts there;        ///< the parts on the other mesh
  Family weight_axes = 0;   ///< the axes of the other mesh whose ranks hold shards of one layer's weights
  double weight_ranks = 1;  ///< the product of their degrees
  bool is_lone = false;     ///< whether one layer alone reads the tensor, as its first input
};

/// The tensors of a layer that layers on other meshes write or read.
struct Borders {
  /// For each input: the border, if a layer on another mesh writes the input, and no layer before on this layer's mesh reads
  /// it.
  std::vector<std::optional<Border>> inputs;
  /// For each input, whether a layer on another mesh writes it; empty if none does.
  std::vector<bool> is_foreign;
  std::optional<Border> output;  ///< the border to the only reader of the output, if the reader is on another mesh

  /// Whether no layer on another mesh writes or reads a tensor of the layer.
  [[nodiscard]] bool is_empty() const;
  /// Whether the layer has exchanges with another mesh.
  [[nodiscard]] bool has_exchanges() const;
};

/// A mesh of a plan, the layers that its spatial split replicates, and whether its tensor split has sequence parallelism.
struct LayoutOfMesh {
  Mesh mesh;
  ReplicatedLayers replicated;
  bool sequence_parallel = false;
};

/// Returns the border to a layer on another mesh, which writes or reads the output of the layer `tensor`.
[[nodiscard]] Border border_to(const ModelFacts& facts, const LayoutOfMesh& there, int layer, int tensor, bool is_lone);
/// Returns the borders of each layer. `layout_of`: the index of the layout of each layer.
[[nodiscard]] std::vector<Borders> borders_of(const ModelFacts& facts, const std::vector<LayoutOfMesh>& layouts,
                                              const std::vector<std::size_t>& layout_of);

/// Returns whether ranks hold a larger part of an input of a layer than the ranks of the mesh that wrote the input.
[[nodiscard]] bool gathers_input(const ShardContext& context, std::size_t input);

/// Replaces exchanges of a shard, and adds exchanges, so that its tensors are laid out as layers on other meshes write and
/// read them. An exchange is the difference of two layouts, forward for the tensor and backward for its gradient.
void lay_out_anew(const ShardContext& context, const Borders& borders, LayerShard& shard);

}  // namespace ddl
