#include "estimator/strategies/spatial.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "estimator/strategies/relayout.hpp"

namespace ddl {
namespace {

using Rows = std::array<std::int64_t, 3>;

/// Returns the halo rows that a tile needs from one neighbor to apply the window to its own
/// positions: half of the window's overlap. In a transposed layer, position i of the input
/// contributes to several positions of the output, from s·i − padding on. The halo of a transposed
/// layer consists of the rows before and after the tile that contribute to the tile's output.
Rows input_halo(const Operation::Window& window) {
  Rows rows{};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t spread = window.spread[d];
    rows[d] = spread == 1 ? std::max<std::int64_t>(0, (window.size[d] - window.stride[d] + 1) / 2)
                          : std::max({std::int64_t{0}, (window.size[d] - 1 - window.padding[d]) / spread,
                                      (window.padding[d] - 1 + spread) / spread});
  }
  return rows;
}

/// Returns the halo rows of the output's gradient that a tile needs from one neighbor to compute
/// the gradient of its own input positions.
Rows gradient_halo(const Operation::Window& window) {
  Rows rows = input_halo(window);
  for (std::size_t d = 0; d < 3; ++d) {
    rows[d] = window.spread[d] == 1
                  ? (rows[d] + window.stride[d] - 1) / window.stride[d]
                  : std::max({std::int64_t{0}, window.padding[d], window.size[d] - window.spread[d] - window.padding[d]});
  }
  return rows;
}

int spatial_rank(const ModelFacts& facts) { return facts.model->input.sequence ? 0 : facts.model->input.rank; }

/// Returns whether the layer is an additional image of the sample. Every rank reads its tile of an
/// image, and all of the sample's other tensors.
bool read_in_tiles(const ModelFacts& facts, std::size_t layer) {
  return facts.divisible[layer].spatial && facts.model->layers[layer].output_shape.rank == spatial_rank(facts);
}

/// Returns whether the layer's tensors have a single position, and are therefore not split into tiles.
bool is_pooled(const ModelFacts& facts, int layer) {
  return layer >= 0 && facts.pooled_branch[static_cast<std::size_t>(layer)];
}

bool fits(const ModelFacts& facts, int layer, const std::array<int, 3>& split) {
  const auto index = static_cast<std::size_t>(layer);
  if (facts.of_sample[index]) return true;
  const Layer& at = facts.model->layers[index];
  if (facts.pooled_branch[index] || at.auxiliary) return true;
  if (!facts.divisible[index].spatial) return false;
  const int rank = spatial_rank(facts);
  // A loss sums over the positions of its input.
  const bool is_sum = at.output_shape.rank == 0;
  if ((at.output_shape.rank != rank && !is_sum) || at.input_shapes.front().rank != rank) return false;
  const Rows halo = input_halo(facts.window[index]);
  for (std::size_t d = 0; d < 3; ++d) {
    if (split[d] == 1) continue;
    if (at.output_shape.extent[d] < split[d] && !is_sum) return false;
    if (is_pooled(facts, at.inputs.front())) continue;
    // The narrowest tile must be at least as wide as the halo that its neighbor needs.
    if (at.input_shapes.front().extent[d] / split[d] < std::max<std::int64_t>(1, halo[d])) return false;
  }
  return true;
}

void spatial_limits(const LimitContext& context, Limits& limits) {
  const Plan& plan = context.plan;
  const ModelFacts& facts = context.facts;
  if (plan.mesh[Axis::spatial] == 1) return;
  const int rank = spatial_rank(facts);
  const std::span<const int> divided = context.divided(facts.matrix);
  if (rank == 0 || divided.empty()) {
    limits.add({Limit::Kind::no_extents, static_cast<double>(plan.mesh[Axis::spatial]), 0, -1});
    return;
  }
  const auto first = static_cast<std::size_t>(divided.front());
  const Layer& layer = facts.model->layers[first];
  const Rows halo = input_halo(facts.window[first]);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t extent =
        static_cast<int>(d) < rank ? std::min(layer.output_shape.extent[d], layer.input_shapes.front().extent[d]) : 1;
    const std::int64_t rows_of_tile = layer.input_shapes.front().extent[d] / plan.mesh.tiles()[d];  // in the smallest tile
    if (plan.mesh.tiles()[d] > extent) {
      const Limit limit{Limit::Kind::extent, static_cast<double>(plan.mesh.tiles()[d]), static_cast<double>(extent),
                        divided.front()};
      // Equal dimensions have one limit.
      const bool is_known = std::any_of(limits.begin(), limits.end(), [&](const Limit& each) {
        return each.kind == limit.kind && each.wanted == limit.wanted && each.available == limit.available;
      });
      if (!is_known) limits.add(limit);
    } else if (plan.mesh.tiles()[d] > 1 && rows_of_tile < halo[d]) {
      limits.add({Limit::Kind::halo, static_cast<double>(halo[d]), static_cast<double>(rows_of_tile), divided.front()});
    }
  }
}

/// Returns the number of elements per sample of the tiled tensors that replicated layers read.
double read_by_replicated(const ModelFacts& facts, const ReplicatedLayers& replicated) {
  const auto& layers = facts.model->layers;
  if (replicated.last == static_cast<int>(layers.size()))
    return facts.live_items[static_cast<std::size_t>(replicated.first)];
  std::set<int> read;
  double items = 0;
  for (int layer = replicated.first; layer < replicated.last; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    if (facts.of_sample[index]) continue;
    for (std::size_t i = 0; i < layers[index].inputs.size(); ++i) {
      const int input = layers[index].inputs[i];
      if (input >= replicated.first || (input >= 0 && facts.of_sample[static_cast<std::size_t>(input)])) continue;
      if (read.insert(input).second) items += static_cast<double>(layers[index].input_shapes[i].items());
    }
  }
  return items;
}

void cut(TensorShape& shape, const std::array<int, 3>& split) {
  for (std::size_t d = 0; d < 3; ++d) shape.extent[d] = largest_part(shape.extent[d], split[d]);
}

int split_extents(const std::array<int, 3>& split) {
  return static_cast<int>(std::count_if(split.begin(), split.end(), [](int parts) { return parts > 1; }));
}

/// Returns whether a layer on another mesh writes an input of this layer. The exchange between the meshes then gives each
/// rank its tile, for all layers that read the tensor on this mesh.
bool is_laid_out_anew(const ShardContext& context, std::size_t input) {
  return context.borders != nullptr && input < context.borders->is_foreign.size() && context.borders->is_foreign[input];
}

// Every rank holds a tile of the sample. A window of more than one position needs halo rows of the neighbors' tiles. In
// forward these are rows of the input, in backward rows of the output's gradient, with one message in each direction
// [ParaDL, Table III]. If the tiles become too small, the tensors are gathered and layers are replicated, as in ParaDL's
// implementation. After the replicated layers, each rank takes its tile of the whole tensors, and the gradients of the tiles
// are gathered. Layers that sum over all positions of a sample add up the sums of the sample's tiles. Every rank computes
// all layers with a single position. Auxiliary layers gather their inputs and are also replicated, because they reach a
// single position earlier than the main network.
void spatial_shard(const ShardContext& context, LayerShard& shard) {
  const Plan& plan = context.plan;
  const int parts = plan.mesh[Axis::spatial];
  if (parts == 1) return;
  const Family axes = family_bit(Axis::spatial);
  // Tiles are gathered, and each rank contributes to the gradients of all tiles.
  const auto join_tiles = [&](double items) {
    add_exchange(shard, Spread::positions, Spread::whole, items, axes, Phase::forward, Purpose::halo);
    if (context.facts.needs_input_gradient[context.index()])
      add_exchange(shard, Spread::sums, Spread::positions, items, axes, Phase::backward, Purpose::halo);
  };
  if (context.replicated.contains(context.layer)) {
    if (context.assumptions.linear_kernels) {
      shard.share /= parts;
    } else if (context.layer == context.replicated.first) {
      join_tiles(read_by_replicated(context.facts, context.replicated));
    }
    return;
  }
  if (context.facts.of_sample[context.index()] && !read_in_tiles(context.facts, context.index())) return;
  const Layer& layer = context.at();
  const bool reads_tiles = !layer.inputs.empty() && !is_pooled(context.facts, layer.inputs.front());
  if (context.facts.pooled_branch[context.index()] && !reads_tiles) {
    if (context.assumptions.linear_kernels) shard.share /= parts;
    return;
  }
  if (layer.auxiliary) {
    const bool begins =
        layer.inputs.front() < 0 || !context.facts.model->layers[static_cast<std::size_t>(layer.inputs.front())].auxiliary;
    if (context.assumptions.linear_kernels) {
      shard.share /= parts;
    } else if (begins) {
      join_tiles(static_cast<double>(layer.input_shapes.front().items()));
    }
    return;
  }
  // Extents of 1 stay unchanged.
  for (TensorShape& input : shard.inputs) cut(input, plan.mesh.tiles());
  cut(shard.output, plan.mesh.tiles());
  shard.kept_input = shard.inputs.front();
  shard.kept_output = shard.output;
  shard.share /= parts;

  const auto add_up = [&](double items, Phase phase) {
    add_exchange(shard, Spread::sums, Spread::whole, items, axes, phase, Purpose::halo);
    // The kernel that computes the sums ends before the exchange, and the kernel that uses the sums
    // begins after the exchange.
    shard.exchanges.back().kernels = 1;
  };
  const double sums =
      context.facts.divisible[context.index()].position_sums * static_cast<double>(layer.output_shape.channels);
  if (sums > 0) add_up(sums, Phase::forward);
  // The gradient of a mean is the same for all positions. The gradient of mean and variance needs another sum over the
  // positions.
  if (sums > 0 && !context.facts.pooled_branch[context.index()]) add_up(sums, Phase::backward);
  for (std::size_t input = 0; input < layer.inputs.size(); ++input) {
    if (is_pooled(context.facts, layer.inputs[input]))
      add_up(static_cast<double>(layer.input_shapes[input].items()), Phase::backward);
  }

  const bool needs_gradient = context.facts.needs_input_gradient[context.index()];
  for (std::size_t input = 0; input < layer.inputs.size(); ++input) {
    if (!needs_gradient || context.assumptions.linear_kernels || is_laid_out_anew(context, input) ||
        !takes_tile_of(context.facts, context.replicated, context.layer, layer.inputs[input]))
      continue;
    add_exchange(shard, Spread::positions, Spread::whole, static_cast<double>(layer.input_shapes[input].items()), axes,
                 Phase::backward, Purpose::halo);
  }

  // A single position has no neighbors.
  if (!reads_tiles) return;
  const Operation::Window& window = context.facts.window[context.index()];
  const double forward = halo_items(shard.inputs.front(), input_halo(window), plan.mesh.tiles());
  // A rank with the whole input needs no halos.
  if (forward > 0 && (is_laid_out_anew(context, 0) || !context.replicated.contains(layer.inputs.front()))) {
    shard.exchanges.push_back({Collective::point_to_point, forward, axes, Phase::forward, Purpose::halo, 2});
    shard.exchanges.back().kernels = 2 * split_extents(plan.mesh.tiles());
  }
  const double backward = halo_items(shard.output, gradient_halo(window), plan.mesh.tiles());
  if (backward > 0 && (needs_gradient || context.assumptions.linear_kernels)) {
    shard.exchanges.push_back({Collective::point_to_point, backward, axes, Phase::backward, Purpose::halo, 2});
    shard.exchanges.back().kernels = 3 * split_extents(plan.mesh.tiles());
  }
}

/// Returns the first layer after `first` from which on all layers can be split, if some of these
/// layers have weights. Otherwise returns the layer count.
int split_again_from(const ModelFacts& facts, int first, const std::array<int, 3>& split) {
  const auto count = static_cast<int>(facts.model->layers.size());
  int last = count;
  while (last > first + 1 && fits(facts, last - 1, split)) --last;
  return !facts.weighted.empty() && facts.weighted.back() >= last ? last : count;
}

int stops_after(const Software& software, std::string_view model) {
  for (const auto& [name, layers] : software.spatial_layers) {
    if (name == model) return layers;
  }
  return -1;
}

}  // namespace

double halo_items(const TensorShape& tile, const std::array<std::int64_t, 3>& rows, const std::array<int, 3>& split) {
  double items = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if (split[d] == 1) continue;
    items += static_cast<double>(tile.items()) / static_cast<double>(tile.extent[d]) * static_cast<double>(rows[d]);
  }
  return items;
}

bool is_tiled(const ModelFacts& facts, const ReplicatedLayers& replicated, int layer) {
  const auto index = static_cast<std::size_t>(layer);
  if (replicated.contains(layer) || facts.model->layers[index].auxiliary || facts.pooled_branch[index]) return false;
  return !facts.of_sample[index] || read_in_tiles(facts, index);
}

bool takes_tile_of(const ModelFacts& facts, const ReplicatedLayers& replicated, int layer, int input) {
  if (layer < replicated.last || !replicated.contains(input)) return false;
  for (int other = replicated.last; other < layer; ++other) {
    const std::vector<int>& read = facts.model->layers[static_cast<std::size_t>(other)].inputs;
    if (std::find(read.begin(), read.end(), input) != read.end()) return false;
  }
  return true;
}

bool mirrors_alike(const ModelFacts& facts) {
  const int rank = spatial_rank(facts);
  const auto equal = [&](const std::array<std::int64_t, 3>& extents) {
    return std::all_of(extents.begin(), extents.begin() + rank, [&](std::int64_t extent) { return extent == extents[0]; });
  };
  return equal(facts.model->input.extent) &&
         std::all_of(facts.window.begin(), facts.window.end(), [&](const Operation::Window& window) {
           return equal(window.size) && equal(window.stride) && equal(window.padding) && equal(window.spread);
         });
}

ReplicatedLayers replicated_layers(const ModelFacts& facts, const Plan& plan, const Software& software) {
  if (plan.mesh[Axis::spatial] == 1) return {};
  const int stop = stops_after(software, facts.model->name);
  int weighted = 0;
  const auto count = static_cast<int>(facts.model->layers.size());
  for (int layer = 0; layer < count; ++layer) {
    if (!fits(facts, layer, plan.mesh.tiles())) return {layer, split_again_from(facts, layer, plan.mesh.tiles())};
    if (facts.divisible[static_cast<std::size_t>(layer)].matrix && ++weighted == stop) {
      int end = layer + 1;
      while (end < count && facts.of_sample[static_cast<std::size_t>(end)]) ++end;
      return {end, count};
    }
  }
  return {count, count};
}

const Strategy spatial_strategy{Axis::spatial,
                                "each rank has a tile of every sample, and exchanges halos with its neighbors",
                                spatial_limits, spatial_shard};

}  // namespace ddl
