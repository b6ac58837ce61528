#include "estimator/strategies/relayout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimator/strategies/layout.hpp"
#include "estimator/strategies/spatial.hpp"

namespace ddl {
namespace {

/// Returns whether a context split divides a layer's output.
bool is_sequence(const ModelFacts& facts, int tensor) {
  return tensor >= 0 && facts.model->layers[static_cast<std::size_t>(tensor)].output_shape.sequence;
}

/// Returns whether the ranks of a tensor split hold shards of the tokens of a layer's output.
bool has_token_parts(const ModelFacts& facts, const LayoutOfMesh& layout, int tensor) {
  return layout.sequence_parallel && layout.mesh[Axis::tensor] > 1 && tensor >= 0 &&
         facts.token_split[static_cast<std::size_t>(tensor)];
}

/// Returns the parts of the output of the layer `tensor`, which `layer` writes or reads.
TensorParts parts_of(const ModelFacts& facts, const LayoutOfMesh& layout, int layer, int tensor) {
  const int tiles = layout.mesh[Axis::spatial];
  const int shards = has_token_parts(facts, layout, tensor) ? layout.mesh[Axis::tensor] : 1;
  const int tokens = shards * (is_sequence(facts, tensor) ? layout.mesh[Axis::context] : 1);
  return {static_cast<int>(layout.mesh.batch_parts()),
          (tiles > 1 && is_tiled(facts, layout.replicated, layer) ? tiles : 1) * tokens};
}

LayoutOfMesh layout_of(const ShardContext& context) {
  return {context.plan.mesh, context.replicated, context.plan.sequence_parallel};
}

Family weight_axes_of(const Mesh& mesh) { return mesh.family() & weight_axes; }

bool is_one_axis(Family family) { return family != 0 && (family & (family - 1)) == 0; }

/// Returns whether each part in `coarse` consists of whole parts in `fine`.
bool divides(const TensorParts& coarse, const TensorParts& fine) {
  return fine.samples % coarse.samples == 0 && fine.positions % coarse.positions == 0;
}

/// Returns whether the other mesh divides the part of each rank into one part for each rank of this weight axis. The
/// exchanges of a layer along this axis then start or end with these smaller parts.
bool joins_parts(const TensorParts& here, Family axes, double ranks, const Border& border) {
  return border.is_lone && border.weight_axes == 0 && is_one_axis(axes) && here != border.there &&
         divides(here, border.there) && border.there.all() == here.all() * ranks;
}

enum class Side { input, output };

/// Changes the layout of the first input or of the output of a shard along an axis, and its exchanges.
void set_side(LayerShard& shard, Axis axis, Side side, Spread spread, double items, double ranks, bool has_gradient) {
  const Subject subject = side == Side::input ? Subject::input : Subject::output;
  std::erase_if(shard.exchanges, [&](const Exchange& each) {
    return each.axes == family_bit(axis) && each.purpose == Purpose::layer && each.subject == subject;
  });
  AxisLayout layout = shard.layouts[static_cast<std::size_t>(axis)];
  AxisLayout other = layout;
  LayerTensors tensors;
  if (side == Side::input) {
    layout.input = spread;
    tensors = {items, 0, has_gradient ? items : 0.0};
  } else {
    layout.output = spread;
    tensors = {0, items, 0};
  }
  const std::size_t known = shard.exchanges.size();
  set_layout(shard, axis, layout, tensors);
  for (std::size_t i = known; i < shard.exchanges.size(); ++i) {
    // A rank sends its own part of the vector in an All-to-all.
    if (shard.exchanges[i].operation == Collective::all_to_all) shard.exchanges[i].items /= ranks;
  }
  (side == Side::input ? other.input : other.output) = spread;
  shard.layouts[static_cast<std::size_t>(axis)] = other;
}

/// The additional exchange that changes the parts of a tensor from `from` to `to`. No operation if each rank has its part.
struct Move {
  std::optional<Collective> operation;
  double share =
      0;  ///< the elements of the exchange, divided by the elements of the tensor for all samples of a micro-batch
};
Move move_of(const TensorParts& from, const TensorParts& to, double ranks) {
  if (ranks <= 1) return {};
  const double both = static_cast<double>(std::lcm(from.samples, to.samples)) * std::lcm(from.positions, to.positions);
  const double lacking = 1 / to.all() - 1 / both;
  if (lacking <= 0) return {};
  return {divides(to, from) ? Collective::allgather : Collective::all_to_all, lacking / (1 - 1 / ranks)};
}

/// Returns the axes of this mesh whose ranks must exchange data. Together, these ranks hold the same data as some ranks of
/// the other mesh.
Family moving_axes(const Mesh& mesh, const TensorParts& here, const TensorParts& there) {
  Family axes = weight_axes_of(mesh);
  const int samples = std::gcd(here.samples, there.samples), positions = std::gcd(here.positions, there.positions);
  for (const Axis axis : {Axis::spatial, Axis::context}) axes |= mesh[axis] > positions ? family_bit(axis) : 0;
  const int data = mesh[Axis::data], group = here.samples / samples;
  if (group <= 1) return axes;
  if (group < data && data % group == 0) return shard_axes(axes, group);
  if (group >= data) axes |= family_bit(Axis::data);
  if (group != data) axes |= family_bit(Axis::expert);
  return axes;
}

double ranks_of(const Mesh& mesh, Family axes) {
  const double own = mesh.product(axes & ((1U << axis_count) - 1));
  return (axes & in_shard_group) != 0 ? own * static_cast<double>(axes >> shard_group_shift) : own;
}

}  // namespace

bool Borders::is_empty() const { return !output && is_foreign.empty(); }

bool Borders::has_exchanges() const {
  return output || std::any_of(inputs.begin(), inputs.end(), [](const auto& each) { return each.has_value(); });
}

Border border_to(const ModelFacts& facts, const LayoutOfMesh& there, int layer, int tensor, bool is_lone) {
  return {parts_of(facts, there, layer, tensor), weight_axes_of(there.mesh), there.mesh.product(weight_axes), is_lone};
}

std::vector<Borders> borders_of(const ModelFacts& facts, const std::vector<LayoutOfMesh>& layouts,
                                const std::vector<std::size_t>& layout_of) {
  const auto& layers = facts.model->layers;
  const auto index = [](int layer) { return static_cast<std::size_t>(layer); };
  std::vector<std::vector<int>> readers(layers.size());
  for (std::size_t reader = 0; reader < layers.size(); ++reader) {
    for (const int tensor : layers[reader].inputs) {
      if (tensor < 0 || facts.of_sample[index(tensor)]) continue;
      if (std::vector<int>& known = readers[index(tensor)]; known.empty() || known.back() != static_cast<int>(reader))
        known.push_back(static_cast<int>(reader));
    }
  }
  std::vector<Borders> borders(layers.size());
  const auto border_of = [&](int other, int tensor, bool is_lone) {
    return border_to(facts, layouts[layout_of[index(other)]], other, tensor, is_lone);
  };
  for (std::size_t tensor = 0; tensor < layers.size(); ++tensor) {
    const int writer = static_cast<int>(tensor);
    const bool is_lone = readers[tensor].size() == 1 && layers[index(readers[tensor].front())].inputs.front() == writer;
    std::vector<std::size_t> received;
    for (const int reader : readers[tensor]) {
      const std::size_t layout = layout_of[index(reader)];
      if (layout == layout_of[tensor]) continue;
      const std::vector<int>& inputs = layers[index(reader)].inputs;
      const auto place = static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), writer) - inputs.begin());
      Borders& own = borders[index(reader)];
      own.is_foreign.resize(inputs.size());
      own.is_foreign[place] = true;
      if (std::find(received.begin(), received.end(), layout) != received.end()) continue;
      received.push_back(layout);
      own.inputs.resize(inputs.size());
      own.inputs[place] = border_of(writer, writer, is_lone);
      if (!borders[tensor].output) borders[tensor].output = border_of(reader, writer, is_lone);
    }
  }
  return borders;
}

bool gathers_input(const ShardContext& context, std::size_t input) {
  if (context.borders == nullptr || input >= context.borders->inputs.size() || !context.borders->inputs[input]) return false;
  const TensorParts here = parts_of(context.facts, layout_of(context), context.layer, context.at().inputs[input]);
  return here.all() < context.borders->inputs[input]->there.all();
}

void lay_out_anew(const ShardContext& context, const Borders& borders, LayerShard& shard) {
  const Mesh& mesh = context.plan.mesh;
  const Layer& layer = context.at();
  const Family axes = weight_axes_of(mesh);
  const double ranks = mesh.product(axes);
  // Between meshes, the ranks of a weight axis have the whole tensor, or its parts on the other mesh. Shards of tokens are
  // exchanged as parts.
  const auto set_sides = [&](Side side, int tensor, const TensorParts& here, bool joins, double whole, bool has_gradient) {
    for (const Axis axis : all_axes) {
      if ((axes & family_bit(axis)) == 0) continue;
      if (axis == Axis::tensor && has_token_parts(context.facts, layout_of(context), tensor)) continue;
      const AxisLayout& layout = shard.layouts[static_cast<std::size_t>(axis)];
      if (joins || (side == Side::input ? layout.input : layout.output) != Spread::whole)
        set_side(shard, axis, side, joins ? Spread::positions : Spread::whole, whole / here.positions, ranks, has_gradient);
    }
  };
  if (borders.output) {
    const TensorParts here = parts_of(context.facts, layout_of(context), context.layer, context.layer);
    const bool joins = joins_parts(here, axes, ranks, *borders.output);
    set_sides(Side::output, context.layer, here, joins, static_cast<double>(layer.output_shape.items()), true);
  }
  const bool has_gradient = context.facts.needs_input_gradient[context.index()];
  for (std::size_t i = 0; i < borders.inputs.size(); ++i) {
    if (!borders.inputs[i]) continue;
    const Border& border = *borders.inputs[i];
    const int tensor = layer.inputs[i];
    const TensorParts here = parts_of(context.facts, layout_of(context), context.layer, tensor);
    const auto whole = static_cast<double>(layer.input_shapes[i].items());
    const bool joins = i == 0 && joins_parts(here, axes, ranks, border);
    if (i == 0) set_sides(Side::input, tensor, here, joins, whole, has_gradient);
    // The layer that writes the tensor has exchanged the parts already.
    const Border back{here, axes, ranks, border.is_lone};
    if (joins || joins_parts(border.there, border.weight_axes, border.weight_ranks, back)) continue;
    const Family moving = moving_axes(mesh, here, border.there);
    const double moving_ranks = ranks_of(mesh, moving);
    const auto add = [&](const Move& move, Phase phase) {
      if (!move.operation) return;
      // The elements of an exchange are per sample of this rank, which has 1 / `here.samples` of the samples.
      shard.exchanges.push_back(
          {*move.operation, whole * move.share * here.samples, moving, phase, Purpose::layer, 1, Subject::other});
    };
    add(move_of(border.there, here, moving_ranks), Phase::forward);
    if (has_gradient) add(move_of(here, border.there, moving_ranks), Phase::backward);
  }
}

}  // namespace ddl
