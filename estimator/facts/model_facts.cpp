#include "estimator/facts/model_facts.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "estimator/facts/passes.hpp"
#include "estimator/facts/preconditioners.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/network/input_gradient.hpp"

namespace ddl {
namespace {

std::vector<std::vector<int>> consumers_of(const Model& model) {
  std::vector<std::vector<int>> consumers(model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (const int input : model.layers[i].inputs) {
      if (input >= 0) consumers[static_cast<std::size_t>(input)].push_back(static_cast<int>(i));
    }
  }
  return consumers;
}

std::int64_t filter_units(const Layer& layer) {
  const std::int64_t units = layer.operation->divisible().channel_units;
  return units > 0 ? units : layer.output_shape.channels;
}

/// Finds layers that a tensor strategy can split as a pair of column and row. The search walks back from a matrix layer
/// through layers that work on a slice of the channels, up to the preceding matrix layers. These matrix layers become
/// columns, the layers between stay sharded, and the layer at the start of the walk becomes the row. There is no pair if a
/// layer outside the pair reads a tensor inside, or if a matrix layer already has a role.
class Pairing {
 public:
  Pairing(const Model& model, ModelFacts& facts, const std::vector<std::vector<int>>& consumers)
      : model_(model), facts_(facts), consumers_(consumers), met_by_(model.layers.size(), -1) {}

  void try_row(int row) {
    if (!collect(row)) return;
    for (const auto* members : {&columns_, &inside_}) {
      for (const int member : *members) {
        for (const int consumer : consumers_[static_cast<std::size_t>(member)]) {
          if (consumer != row && !(met_by_[static_cast<std::size_t>(consumer)] == row && can_be_inside(consumer))) return;
        }
      }
    }
    std::int64_t units = model_.layers[static_cast<std::size_t>(row)].input_shapes.front().channels;
    for (const int column : columns_) units = std::min(units, filter_units(model_.layers[static_cast<std::size_t>(column)]));
    for (const int between : inside_) {
      const std::int64_t own = facts_.divisible[static_cast<std::size_t>(between)].channel_units;
      if (own > 0) units = std::min(units, own);
    }
    for (const int column : columns_) assign(column, TensorSplitRole::column, units);
    for (const int between : inside_) assign(between, TensorSplitRole::inside, units);
    assign(row, TensorSplitRole::row, units);
  }

 private:
  [[nodiscard]] bool can_be_inside(int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    const Divisible& divisible = facts_.divisible[index];
    return !facts_.pooled_branch[index] && divisible.channelwise && !divisible.matrix;
  }

  /// Collects the columns before the row and all layers between columns and row. Returns false if there is no pair. The walk
  /// ends at a layer that is also read by a layer that cannot be in a pair, so a model of n blocks takes n steps, not n².
  bool collect(int row) {
    columns_.clear();
    inside_.clear();
    open_ = model_.layers[static_cast<std::size_t>(row)].inputs;
    while (!open_.empty()) {
      const int layer = open_.back();
      open_.pop_back();
      if (layer < 0) return false;
      const auto index = static_cast<std::size_t>(layer);
      if (facts_.pooled_branch[index]) return false;
      if (met_by_[index] == row) continue;
      met_by_[index] = row;
      if (facts_.divisible[index].matrix) {
        if (facts_.tensor_role[index] != TensorSplitRole::lone) return false;
        columns_.push_back(layer);
        continue;
      }
      if (!can_be_inside(layer)) return false;
      for (const int consumer : consumers_[index]) {
        if (consumer != row && !can_be_inside(consumer)) return false;
      }
      inside_.push_back(layer);
      const std::vector<int>& inputs = model_.layers[index].inputs;
      open_.insert(open_.end(), inputs.begin(), inputs.end());
    }
    return true;
  }

  void assign(int layer, TensorSplitRole role, std::int64_t units) {
    facts_.tensor_role[static_cast<std::size_t>(layer)] = role;
    facts_.tensor_units[static_cast<std::size_t>(layer)] = units;
  }

  const Model& model_;
  ModelFacts& facts_;
  const std::vector<std::vector<int>>& consumers_;
  std::vector<int> columns_, inside_;
  std::vector<int> open_;    ///< layers to be examined
  std::vector<int> met_by_;  ///< for each layer, the row that was last paired when the walk visited the layer
};

void assign_tensor_roles(const Model& model, ModelFacts& facts, const std::vector<std::vector<int>>& consumers) {
  facts.tensor_role.assign(model.layers.size(), TensorSplitRole::whole);
  facts.tensor_units.assign(model.layers.size(), 0);
  for (const int layer : facts.matrix) {
    const auto index = static_cast<std::size_t>(layer);
    const bool lookup = model.layers[index].operation->type() == "embedding";
    facts.tensor_role[index] = lookup ? TensorSplitRole::lookup : TensorSplitRole::lone;
    // A tensor split divides an embedding table by rows.
    const Layer& at = model.layers[index];
    facts.tensor_units[index] =
        lookup ? at.operation->shared_table(at.input_shapes, at.output_shape).rows : filter_units(at);
  }
  // If only the loss reads the head's output, the output stays sharded up to the loss.
  if (facts.last_matrix >= 0) {
    const auto head = static_cast<std::size_t>(facts.last_matrix);
    const auto feeds_loss = [&] {
      return facts.tensor_role[head] == TensorSplitRole::lone && consumers[head].size() == 1 &&
             model.layers[static_cast<std::size_t>(consumers[head].front())].operation->type() == "loss";
    };
    if (feeds_loss() && model.layers[head].output_shape.sequence) facts.tensor_role[head] = TensorSplitRole::head;
  }
  Pairing pairing(model, facts, consumers);
  for (const int layer : facts.matrix) {
    if (facts.tensor_role[static_cast<std::size_t>(layer)] == TensorSplitRole::lone) pairing.try_row(layer);
  }
}

/// A token-wise layer is sharded by tokens if all sequences that it reads are sharded by tokens.
void find_token_splits(const Model& model, ModelFacts& facts) {
  facts.token_split.assign(model.layers.size(), false);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (!layer.output_shape.sequence) continue;
    const auto is_split = [&](int input) { return input >= 0 && facts.token_split[static_cast<std::size_t>(input)]; };
    switch (facts.tensor_role[i]) {
      case TensorSplitRole::row:
      case TensorSplitRole::lookup:
        facts.token_split[i] = true;
        break;
      case TensorSplitRole::whole:
        facts.token_split[i] = facts.divisible[i].tokens && !layer.inputs.empty() &&
                               std::all_of(layer.inputs.begin(), layer.inputs.end(), is_split);
        break;
      default:
        break;
    }
    if (facts.token_split[i]) facts.token_units = std::gcd(facts.token_units, layer.output_shape.extent[0]);
  }
}

std::int64_t context_units(const Model& model, const ModelFacts& facts) {
  std::int64_t units = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const bool is_loss = layer.operation->type() == "loss";
    if (!layer.output_shape.sequence && !is_loss) return 0;
    if (layer.output_shape.sequence) units = std::gcd(units, layer.output_shape.extent[0]);
    const bool is_alone = facts.divisible[i].tokens || facts.divisible[i].matrix || is_loss;
    if (!is_alone && layer.operation->in_contexts(2) == nullptr) return 0;
  }
  return units;
}

struct BlocksOfLayers {
  int all = 0, alike = 0;  ///< number of blocks, and number of blocks with the most common layer shapes
};

BlocksOfLayers blocks_of(const Model& model) {
  std::map<std::vector<int>, int> kinds;
  BlocksOfLayers blocks;
  std::vector<int> own;
  int block = -1;
  const auto end = [&] {
    if (block < 0) return;
    ++blocks.all;
    blocks.alike = std::max(blocks.alike, ++kinds[own]);
  };
  for (const Layer& layer : model.layers) {
    if (layer.block != block) {
      end();
      block = layer.block;
      own.clear();
    }
    own.push_back(layer.shape_class);
  }
  end();
  return blocks;
}

std::vector<bool> pooled_branches(const Model& model, const std::vector<std::vector<int>>& consumers) {
  const std::size_t count = model.layers.size();
  std::vector<bool> pooled(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const Layer& layer = model.layers[i];
    if (layer.output_shape.rank == 0 || layer.output_shape.sequence || layer.output_shape.positions() > 1) continue;
    const bool starts = layer.input_shapes.front().positions() > 1 && layer.operation->divisible().position_sums > 0;
    const auto is_pooled = [&pooled](int input) { return input >= 0 && pooled[static_cast<std::size_t>(input)]; };
    pooled[i] = starts || std::all_of(layer.inputs.begin(), layer.inputs.end(), is_pooled);
  }
  for (std::size_t i = count; i-- > 0;) {
    if (!pooled[i]) continue;
    pooled[i] = std::any_of(consumers[i].begin(), consumers[i].end(), [&](int reader) {
      const auto index = static_cast<std::size_t>(reader);
      return pooled[index] || model.layers[index].output_shape.positions() > 1;
    });
  }
  return pooled;
}

std::vector<bool> again_with_products(const Model& model) {
  std::vector<bool> again;
  int block = -1, products = 0;
  for (const Layer& layer : model.layers) {
    if (layer.block != block) block = layer.block, products = 0;
    const bool is_product = layer.operation->divisible().matrix && layer.operation->experts() <= 1;
    if (is_product) ++products;
    again.push_back(block >= 0 && !layer.operation->is_attention() && (!is_product || products % 2 == 0));
  }
  return again;
}

/// Returns which tensors of a layer must be kept for backward. For a frozen matrix, the gradient of the input needs only the
/// matrix. Layers before the first trained layer have no backward. `is_part_frozen`: whether any layer is frozen.
Kept kept_of(const ModelFacts& facts, bool is_part_frozen, std::size_t index) {
  const Layer& layer = facts.model->layers[index];
  Kept kept = layer.operation->kept(layer.input_shapes, layer.output_shape);
  if (facts.frozen[index] && facts.divisible[index].matrix) kept.input = false;
  const bool has_none = !facts.needs_input_gradient[index] && (facts.frozen[index] || layer.trained() == 0);
  return has_none && is_part_frozen ? Kept{} : kept;
}

/// Tensors in the same storage are kept only once.
void count_storages_once(const ModelFacts& facts, std::vector<bool>& kept) {
  std::vector<bool> counted(kept.size(), false);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    if (facts.storage[i] < 0) {
      kept[i] = facts.batch_keeper < 0;
      continue;
    }
    const auto owner = static_cast<std::size_t>(facts.storage[i]);
    if (counted[owner]) kept[i] = false;
    counted[owner] = true;
  }
}

/// Returns whether the layer is elementwise, without reductions.
bool is_elementwise(std::string_view type) {
  constexpr std::array<std::string_view, 5> types{"activation", "add", "multiply", "scale", "dropout"};
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// Returns the fusion of each layer with a producer. Compilers fuse elementwise kernels with each
/// other and with preceding norms [XLA, "Operator fusion"; Ansel et al., PyTorch 2, ASPLOS 2024,
/// section 4.3], and a norm over each position's channels with preceding elementwise kernels.
std::vector<Fusion> fusions(const Model& model, const std::vector<std::vector<int>>& consumers) {
  std::vector<Fusion> all;
  for (const Layer& layer : model.layers) {
    Fusion& fusion = all.emplace_back();
    const std::string_view type = layer.operation->type();
    const bool is_norm = type == "norm" && layer.operation->attribute_values().text("kind") != "batch";
    if (layer.inputs.empty() || (!is_elementwise(type) && !is_norm)) continue;
    // If a layer has several inputs, it can be fused with the producer of the input that was computed last.
    const auto last = std::max_element(layer.inputs.begin(), layer.inputs.end());
    if (*last < 0) continue;
    const auto maker = static_cast<std::size_t>(*last);
    const std::string_view before = model.layers[maker].operation->type();
    if (!is_elementwise(before) && (is_norm || before != "norm")) continue;
    fusion = {static_cast<int>(last - layer.inputs.begin()), consumers[maker].size() == 1};
  }
  return all;
}

}  // namespace

Precision kernel_precision(const ModelFacts& facts, std::size_t layer, Precision precision) {
  return is_narrow(precision) && !facts.is_linear[layer] ? Precision::bf16 : precision;
}

double trained_share(const Layer& layer) {
  const std::int64_t parameters = layer.parameters();
  return parameters > 0 ? static_cast<double>(layer.trained()) / static_cast<double>(parameters) : 1.0;
}

int layer_of_fewest_units(const ModelFacts& facts, std::span<const int> layers) {
  int fewest = -1;
  const auto consider = [&](int layer) {
    const auto units = [&](int each) { return facts.tensor_units[static_cast<std::size_t>(each)]; };
    if (fewest < 0 || units(layer) < units(fewest)) fewest = layer;
  };
  for (const int layer : layers) {
    const bool lookup = facts.tensor_role[static_cast<std::size_t>(layer)] == TensorSplitRole::lookup;
    if (!lookup && (layer != facts.last_matrix || layers.size() == 1)) consider(layer);
  }
  if (fewest < 0) std::for_each(layers.begin(), layers.end(), consider);
  return fewest;
}

ModelFacts facts_of(const Model& model) {
  ModelFacts facts;
  facts.model = &model;
  const std::size_t count = model.layers.size();
  const std::vector<std::vector<int>> consumers = consumers_of(model);

  facts.pooled_branch = pooled_branches(model, consumers);
  facts.readers.resize(count);
  facts.output_kept.assign(count, false);
  facts.output_kept_cast.assign(count, false);
  facts.autocast = autocast_types(model);
  facts.needs_input_gradient = needs_input_gradient(model);
  facts.gradient_additions = gradient_additions(model);
  facts.fusion = fusions(model, consumers);
  std::map<int, int> last_readers;  // for each owner of shared weights, the last reader so far
  for (const Layer& layer : model.layers) facts.frozen.push_back(is_frozen(model, layer));
  const bool is_part_frozen = std::find(facts.frozen.begin(), facts.frozen.end(), true) != facts.frozen.end();
  facts.of_sample.assign(count, false);
  facts.sample_items = static_cast<double>(model.input.items());
  for (std::size_t i = 0; i < count; ++i) {
    const Layer& layer = model.layers[i];
    facts.of_sample[i] = layer.operation->type() == "input";
    if (facts.of_sample[i]) facts.sample_items += static_cast<double>(layer.output_shape.items());
    facts.divisible.push_back(layer.operation->divisible());
    if (facts.pooled_branch[i]) facts.divisible.back().matrix = false;
    facts.window.push_back(layer.operation->window());
    facts.kept.push_back(kept_of(facts, is_part_frozen, i));
    const Kept& kept = facts.kept.back();
    // If a layer overwrites its input and also keeps it for backward, frameworks copy the input.
    const bool overwrites = layer.operation->in_place() && !kept.input;
    const bool shares = !layer.inputs.empty() && (layer.operation->keeps_storage() || overwrites);
    const int producer = shares ? layer.inputs.front() : static_cast<int>(i);
    facts.storage.push_back(shares && producer >= 0 ? facts.storage[static_cast<std::size_t>(producer)] : producer);
    if (kept.output) facts.output_kept[i] = facts.output_kept_cast[i] = true;
    const auto reads = [&](int tensor, bool keeps, bool keeps_cast) {
      const int owner = tensor < 0 ? -1 : facts.storage[static_cast<std::size_t>(tensor)];
      if (owner < 0) return;
      std::vector<TensorReader>& readers = facts.readers[static_cast<std::size_t>(owner)];
      if (readers.empty() || readers.back().layer != static_cast<int>(i)) readers.push_back({static_cast<int>(i)});
      readers.back().keeps = readers.back().keeps || keeps;
      readers.back().keeps_cast = readers.back().keeps_cast || keeps_cast;
    };
    reads(static_cast<int>(i), kept.output, kept.output);
    for (const int input : layer.inputs) {
      reads(input, kept.input, kept.input && input >= 0 && !facts.autocast.copies(i, static_cast<std::size_t>(input)));
    }
    for (const int input : layer.inputs) {
      if (input < 0 || !kept.input) continue;
      const auto producer_at = static_cast<std::size_t>(input);
      facts.output_kept[producer_at] = true;
      if (!facts.autocast.copies(i, producer_at)) facts.output_kept_cast[producer_at] = true;
    }
    const Work backward = layer.operation->work(Pass::backward_data, layer.input_shapes, layer.output_shape);
    facts.makes_input_gradient.push_back(facts.needs_input_gradient[i] && backward.activation_items > 0);
    facts.parameters += static_cast<double>(layer.parameters());
    facts.trained_parameters += static_cast<double>(layer.trained());
    if (layer.weights > 0) {
      const auto rows = static_cast<double>(layer.output_shape.channels);
      facts.factored_share += rows + static_cast<double>(layer.weights) / rows;
    }
    facts.factored_share += static_cast<double>(layer.biases);
    if (layer.tied_to >= 0) {
      int& previous = last_readers.try_emplace(layer.tied_to, layer.tied_to).first->second;
      facts.tied.push_back({static_cast<int>(i), layer.tied_to, previous});
      previous = static_cast<int>(i);
    }
    if (facts.batch_keeper < 0 && kept.input && layer.inputs.front() < 0) facts.batch_keeper = static_cast<int>(i);
    const bool shares_matrix = layer.tied_to >= 0 && facts.divisible.back().matrix;
    if (layer.weights > 0 || shares_matrix) facts.weighted.push_back(static_cast<int>(i));
    if (facts.divisible.back().matrix) facts.matrix.push_back(static_cast<int>(i));
  }
  facts.factored_share = facts.parameters > 0 ? std::min(1.0, facts.factored_share / facts.parameters) : 0.0;
  if (!facts.matrix.empty()) {
    facts.first_matrix = facts.matrix.front();
    facts.last_matrix = facts.matrix.back();
  }
  for (const int layer : facts.matrix) {
    const Layer& at = model.layers[static_cast<std::size_t>(layer)];
    if (layer != facts.last_matrix || facts.matrix.size() == 1) {
      if (facts.smallest_filters_layer < 0 || filter_units(at) < facts.smallest_filters) {
        facts.smallest_filters = filter_units(at);
        facts.smallest_filters_layer = layer;
      }
    }
    if (layer != facts.first_matrix || facts.matrix.size() == 1) {
      const std::int64_t units = at.operation->divisible().channel_units;
      const std::int64_t channels = units > 0 ? units : at.input_shapes.front().channels;
      if (at.operation->type() != "embedding" && (facts.smallest_channels_layer < 0 || channels < facts.smallest_channels)) {
        facts.smallest_channels = channels;
        facts.smallest_channels_layer = layer;
      }
    }
  }

  assign_tensor_roles(model, facts, consumers);
  facts.fewest_units_layer = layer_of_fewest_units(facts, facts.matrix);
  find_token_splits(model, facts);
  find_experts(model, facts);
  facts.context_units = context_units(model, facts);
  for (std::size_t i = 0; i < count; ++i) {
    if (model.layers[i].operation->is_attention()) {
      facts.attention_heads = std::gcd(facts.attention_heads, facts.divisible[i].channel_units);
      facts.repeats_keys = facts.repeats_keys || model.layers[i].operation->attribute_values().integer("kv_heads", 0) > 0;
    }
    facts.is_linear.push_back(model.layers[i].operation->type() == "fully_connected" &&
                              facts.tensor_role[i] != TensorSplitRole::head && static_cast<int>(i) != facts.last_matrix);
  }
  find_narrow_copies(model, facts);
  find_recomputed_tensors(model, facts);
  find_gated_activations(model, consumers, facts);
  count_base_parameters(model, facts);
  count_preconditioners(model, facts);
  find_tables(model, consumers, facts);
  for (std::vector<bool>* kept : {&facts.output_kept, &facts.output_kept_cast, &facts.output_kept_narrow,
                                  &facts.output_kept_compiled, &facts.output_kept_fused, &facts.output_kept_stored})
    count_storages_once(facts, *kept);
  const BlocksOfLayers blocks = blocks_of(model);
  if (blocks.alike == blocks.all) facts.like_blocks = blocks.all;
  if (blocks.alike * 4 >= blocks.all * 3) facts.similar_blocks = blocks.all;
  facts.blocks_before.assign(1, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const int block = model.layers[i].block;
    const bool starts = block >= 0 && (i == 0 || model.layers[i - 1].block != block);
    facts.blocks_before.push_back(facts.blocks_before.back() + (starts ? 1 : 0));
  }
  facts.again_with_products = again_with_products(model);
  find_spared_layers(model, consumers, facts);
  facts.modules = module_layers(model, facts);
  for (const RecomputeModules each : facts.modules) facts.has_modules.add(each);
  for (const Layer& layer : model.layers) facts.has_attention = facts.has_attention || layer.operation->is_attention();
  for (const Layer& layer : model.layers) facts.attends = facts.attends || attends(*layer.operation);
  for (const Layer& layer : model.layers) {
    if (layer.operation->is_attention()) facts.widens_logits = layer.operation->attribute_values().flag("causal", false);
  }
  facts.kind = network_kind(model, facts.experts > 1);
  const bool is_unique = model.family.empty() && find_in_catalogue(model) != nullptr;
  facts.family = is_unique ? find_in_catalogue(model)->name : model.family;

  // A tensor is live across a cut if the tensor was produced before the cut and is read after the cut.
  facts.live_items.assign(count + 1, 0.0);
  facts.live_split_items.assign(count + 1, 0.0);
  const auto live_between = [&](int producer, int last_reader) {
    if (producer >= 0 && facts.of_sample[static_cast<std::size_t>(producer)]) return;
    const auto items = static_cast<double>(shape_of(model, producer).items());
    const bool is_split = producer >= 0 && facts.token_split[static_cast<std::size_t>(producer)];
    // A tensor changes the number of live elements only at the first cut that it crosses, and after
    // the last. Both changes are recorded here, and summed up later.
    if (last_reader <= producer) return;
    const auto first = static_cast<std::size_t>(std::int64_t{producer} + 1);
    const auto behind = static_cast<std::size_t>(last_reader) + 1;
    for (std::vector<double>* live : {&facts.live_items, &facts.live_split_items}) {
      if (live == &facts.live_split_items && !is_split) continue;
      (*live)[first] += items;
      if (behind < live->size()) (*live)[behind] -= items;
    }
  };
  int input_reader = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& inputs = model.layers[i].inputs;
    if (!facts.of_sample[i] && std::find(inputs.begin(), inputs.end(), -1) != inputs.end())
      input_reader = static_cast<int>(i);
  }
  live_between(-1, input_reader);
  for (std::size_t i = 0; i < count; ++i) {
    if (consumers[i].empty()) continue;
    live_between(static_cast<int>(i), *std::max_element(consumers[i].begin(), consumers[i].end()));
  }
  for (std::vector<double>* live : {&facts.live_items, &facts.live_split_items})
    std::partial_sum(live->begin(), live->end(), live->begin());

  facts.sends_input_gradient.assign(count, false);
  std::set<std::pair<std::vector<int>, int>> read_by_columns;  // inputs and block of columns that were already seen
  for (std::size_t i = 0; i < count; ++i) {
    const Layer& layer = model.layers[i];
    const bool shared =
        facts.tensor_role[i] == TensorSplitRole::column && !read_by_columns.emplace(layer.inputs, layer.block).second;
    facts.sends_input_gradient[i] = facts.needs_input_gradient[i] && !shared;
  }
  return facts;
}

}  // namespace ddl
