#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/facts/recompute_modules.hpp"
#include "model_zoo/network/autocast.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// The role of a layer in a tensor split (alternating column and row splits of [Nar21]'s tensor parallelism).
enum class TensorSplitRole {
  whole,   ///< every rank computes all of the layer
  column,  ///< filters are split and the output stays sharded for the paired layer
  inside,  ///< the layer works on its slice of the channels, between column and row
  row,     ///< input channels are split; an Allreduce sums the layer's output
  lone,    ///< a matrix layer without a pair: filters are split and the output is gathered
  lookup,  ///< an embedding that is split over its vocabulary; the embedding's output is summed
  head,    ///< the last matrix layer, which stays sharded up to the loss
};

/// A layer that reads the weights of another layer, and the layers that read these weights before it.
struct TiedLayer {
  int reader = -1, owner = -1;
  int previous = -1;  ///< the previous layer that reads the same weights; if there is none, the owner
};

/// A table whose rows of a sample become one vector, as in recommendation models, and the layers from the lookup up to this
/// vector.
struct LookupTable {
  int layer = -1, last = -1;  ///< the lookup, and the layer whose output is the vector
  double rows = 0, columns = 0;
  double lookups = 0;  ///< number of rows that a sample looks up
  [[nodiscard]] double parameters() const { return rows * columns; }
};

/// The form in which matrix products keep their inputs for backward.
enum class KeptForm {
  computed,  ///< the tensor that the producer has written
  autocast,  ///< a copy in half precision, if the producer has written fp32
  narrow,    ///< a copy in fp8 or nvfp4, which one product makes for all products that read the tensor
  compiled,  ///< nothing, if a compiler recomputes the tensor in backward from other kept tensors
  fused,     ///< the tensor, except for activations that one kernel multiplies with another tensor
  stored,    ///< as `narrow`, and the inputs of these kernels are kept in fp8
};

/// The rules by which a plan keeps tensors for backward.
struct KeptRules {
  KeptForm form = KeptForm::computed;
  bool weighs_activations = false;  ///< as Assumptions::weighs_activations
};

/// A layer that produces or reads a tensor, and whether its backward needs the tensor.
struct TensorReader {
  int layer = -1;
  bool keeps = false;           ///< backward of the reading layer needs the tensor
  bool keeps_cast = false;      ///< the same under autocast, except for readers that keep copies of their own
  bool keeps_narrow = false;    ///< the same with fp8 and nvfp4, except for readers that keep low-precision copies
  bool keeps_compiled = false;  ///< the same in compiled code, except for tensors that backward recomputes
  bool keeps_fused = false;     ///< the same with fused gated activations
  bool keeps_stored = false;    ///< the same with gated activations that keep their inputs in fp8
  bool only_weighs = false;     ///< the reader needs the tensor only for the gradient of the router's weights
  [[nodiscard]] bool keeps_as(const KeptRules& rules) const {
    if (rules.weighs_activations && only_weighs) return false;
    switch (rules.form) {
      case KeptForm::autocast:
        return keeps_cast;
      case KeptForm::narrow:
        return keeps_narrow;
      case KeptForm::compiled:
        return keeps_compiled;
      case KeptForm::fused:
        return keeps_fused;
      case KeptForm::stored:
        return keeps_stored;
      case KeptForm::computed:
        break;
    }
    return keeps;
  }
};

/// Kernel fusion with a producer by a graph compiler. The fused input is not read back, and it is not written at all if no
/// other layer reads it.
struct Fusion {
  int input = -1;          ///< index of the layer's input; -1: not fused with a producer
  bool unwritten = false;  ///< no other layer reads the fused input
  friend bool operator==(const Fusion&, const Fusion&) = default;
};

/// The properties of a model that strategies need, computed once: consumers, tensors that backward keeps, paired layers.
struct ModelFacts {
  const Model* model = nullptr;
  std::vector<Divisible> divisible;
  std::vector<Operation::Window> window;
  std::vector<Kept> kept;
  std::vector<bool> output_kept;  ///< whether the layer's output is needed by its own backward or by a consumer's backward
  AutocastTypes autocast;
  std::vector<bool> output_kept_cast;    ///< output_kept under autocast: readers in half precision keep copies of their own
  std::vector<bool> output_kept_narrow;  ///< output_kept with fp8 and nvfp4, where linear layers keep low-precision copies
  std::vector<bool> narrow_copies;       ///< the layer makes a copy of its first input in fp8 or nvfp4 for backward
  std::vector<bool> output_kept_compiled;  ///< output_kept in compiled code
  std::vector<bool> output_kept_fused;     ///< output_kept with fused gated activations
  std::vector<bool> output_kept_stored;    ///< output_kept_narrow with inputs of gated activations in fp8
  /// For an activation whose output is only multiplied with another tensor, and for that multiplication: whether one kernel
  /// can compute both, as in SwiGLU.
  std::vector<bool> is_gated;
  /// Whether backward needs the output of experts only for the gradient of the router's weights.
  std::vector<bool> only_weighed;
  [[nodiscard]] bool keeps_output(std::size_t layer, const KeptRules& rules) const {
    if (rules.weighs_activations && only_weighed[layer]) return false;
    const KeptForm form = rules.form;
    return form == KeptForm::autocast   ? output_kept_cast[layer]
           : form == KeptForm::narrow   ? output_kept_narrow[layer]
           : form == KeptForm::compiled ? output_kept_compiled[layer]
           : form == KeptForm::fused    ? output_kept_fused[layer]
           : form == KeptForm::stored   ? output_kept_stored[layer]
                                        : output_kept[layer];
  }
  /// For each layer, the layer that holds the memory of the output: the layer itself or, if the output is a view or written
  /// in place, the layer that holds the memory of the first input. −1 is the batch.
  std::vector<int> storage;
  /// For each layer whose output has memory of its own: the producers and readers of the tensors in this memory, in order.
  std::vector<std::vector<TensorReader>> readers;
  std::vector<bool> of_sample;             ///< whether the layer is a tensor of the sample, which is read, not computed
  std::vector<bool> needs_input_gradient;  ///< whether there is a trained layer between the sample and the layer's inputs
  /// Whether backward writes a gradient of the layer's input. False if the input needs no gradient, or if the layer only
  /// passes on the gradient of its output, as add and reshape do.
  std::vector<bool> makes_input_gradient;
  std::vector<int> gradient_additions;  ///< additions that combine the readers' gradients of the layer's output
  /// Whether the layer is on a branch that starts with a global average pooling and later joins larger tensors, as in
  /// squeeze and excitation. The branch's tensors have one position, and every rank needs all of them. Every rank computes
  /// the branch, because its work is small.
  std::vector<bool> pooled_branch;
  std::vector<TensorSplitRole> tensor_role;
  /// Whether the output is sharded by tokens over tensor-parallel ranks with sequence parallelism. This holds for the summed
  /// output of a pair of split layers, and for the outputs of the token-wise layers after the pair.
  std::vector<bool> token_split;
  /// The tensor degree has to divide this number, so that tensors sharded by tokens have equal shards; 0 without such
  /// tensors.
  std::int64_t token_units = 0;
  /// For each layer, the number of units that a tensor split can distribute (channels, heads); 0 for TensorSplitRole::whole.
  std::vector<std::int64_t> tensor_units;
  /// live_items[i]: elements per sample that cross a cut between layers i−1 and i; live_items[0] is the model's input. Other
  /// tensors of the sample cross no cut, because their readers load them from the data set.
  std::vector<double> live_items;
  std::vector<double> live_split_items;  ///< the part of live_items that is sharded with sequence parallelism
  /// The number of blocks if all blocks have equal layers, else 0.
  int like_blocks = 0;
  /// The number of blocks if at least three quarters of the blocks have equal layers, else 0.
  int similar_blocks = 0;
  std::vector<double> blocks_before;  ///< for each layer, and after the last one: the number of blocks that start before
  bool repeats_keys = false;          ///< whether an attention has fewer heads of keys than of queries
  bool has_attention = false;         ///< whether a layer has the attention that selective recomputation repeats
  bool attends = false;               ///< whether any layer has attention, also within windows of an image
  /// Whether the model's code converts the logits to fp32 for the loss, as transformers does for decoders alone
  /// [transformers/loss/loss_utils.py, ForCausalLMLoss; modeling_bert.py and modeling_t5.py pass them as they are].
  /// The rule: the last attention is causal. Encoders have no causal attention, and a decoder after an encoder ends with
  /// cross-attention. Models without attention are assumed to convert.
  bool widens_logits = true;
  std::string kind, family;               ///< result of network_kind(); the family, or the name of a bundled model without a
                                          ///< family
  std::vector<RecomputeModules> modules;  ///< for each layer, the modules that the layer belongs to (module_layers)
  RecomputeModules has_modules;           ///< the modules that any layer belongs to
  /// Whether selective recomputation of products recomputes the layer. Recomputation of products
  /// includes all layers of a block, except attention and the first of every two matrix products that are not of experts
  /// [torchtitan, torchtitan/distributed/activation_checkpoint.py: it saves aten.mm, but not aten._grouped_mm].
  std::vector<bool> again_with_products;
  /// Whether backward of the layer's block needs no result of this layer and of all later layers of the block
  /// (find_spared_layers).
  std::vector<bool> spared;
  /// The expert degree has to divide this number, the smallest number of experts of any layer; 0 without experts.
  std::int64_t experts = 0;
  /// If routers first choose groups of experts: the groups, and the groups whose experts a token may use. 0: no groups.
  std::int64_t expert_groups = 0, active_groups = 0;
  double expert_parameters = 0;
  std::vector<bool> in_experts;  ///< whether the layer is between the dispatch of tokens to experts and the combine
  double trained_expert_parameters = 0;
  /// Whether the layer has biases and is the last layer of experts, before outputs are combined
  /// into tokens. The router's weights of such a layer also multiply the biases.
  std::vector<bool> weighs_bias;
  /// The context degree has to divide this number, so that all ranks have equally many tokens. It
  /// is 0 without sequences, or if a layer other than attention needs tokens of several ranks.
  std::int64_t context_units = 0;
  /// The greatest common divisor of the numbers of key and value heads of all attention layers; 0 without attention.
  std::int64_t attention_heads = 0;
  /// Whether the layer is a matrix product with weights and is not the last one before the loss.
  /// FP8 recipes convert these layers [NVIDIA, Transformer Engine documentation, "Using FP8"].
  std::vector<bool> is_linear;
  std::vector<Fusion> fusion;       ///< fusion of each layer with a producer
  std::vector<TiedLayer> tied;      ///< layers that read the weights of another layer, in order
  std::vector<LookupTable> tables;  ///< the tables of a recommendation model, in order
  std::vector<int> of_table;        ///< for each layer, the index of its table; −1: none; empty if the model has no tables
  double table_parameters = 0;      ///< number of parameters of these tables
  double lookup_parameters = 0;     ///< number of trained parameters of all embeddings
  [[nodiscard]] bool is_of_table(std::size_t layer) const { return !of_table.empty() && of_table[layer] >= 0; }
  /// Returns whether the layer is the last layer of all tables, after which all vectors of a sample exist.
  [[nodiscard]] bool ends_tables(int layer) const { return !tables.empty() && tables.back().last == layer; }
  int batch_keeper = -1;      ///< the layer that keeps the batch for backward
  std::vector<int> weighted;  ///< layers with weights, in order
  std::vector<int> matrix;    ///< layers with filters or channels that can be split
  int first_matrix = -1, last_matrix = -1;
  std::int64_t smallest_filters = 0;  ///< the smallest number of filters of a matrix layer, without the last one
  int smallest_filters_layer = -1;
  int fewest_units_layer = -1;         ///< the layer that limits tensor splits of all layers (layer_of_fewest_units)
  std::int64_t smallest_channels = 0;  ///< the smallest number of channels of a matrix layer, without the first one
  int smallest_channels_layer = -1;
  std::vector<bool> frozen;  ///< whether the weights of the layer, own or shared, are not trained
  double parameters = 0;
  double trained_parameters = 0;  ///< number of parameters that have gradients
  /// the number of rows and columns of all matrices and of biases, divided by the number of parameters
  double factored_share = 0;
  /// the number of rows of tables and of all other parameters, divided by the number of parameters
  double rowwise_share = 1;
  double base_parameters = 0;  ///< frozen parameters of matrix products inside blocks, which BaseWeights describes
  /// The number of trained parameters that are not matrices of products inside blocks, divided by the trained parameters
  double muon_share = 0;
  /// The elements of the matrices of K-FAC, Shampoo and SOAP, divided by the trained parameters (preconditioner_items)
  double kfac_items = 0, shampoo_items = 0, soap_items = 0;
  /// Trained matrices of products inside blocks, with the number of equal ones. Queries, keys and values count apart.
  struct Matrices {
    double rows = 0, columns = 0, count = 0;
  };
  std::vector<Matrices> block_matrices;
  double sample_items = 0;  ///< elements of all tensors of a sample
  /// Whether tensor-parallel ranks exchange the gradient of the layer's input. If several column layers of a block share an
  /// input (gate and up projections), only one of them exchanges the gradient.
  std::vector<bool> sends_input_gradient;
};

/// Returns the trained share of a layer's weights and biases; 1 for a layer without weights and biases.
[[nodiscard]] double trained_share(const Layer& layer);

[[nodiscard]] ModelFacts facts_of(const Model& model);
/// Returns the layer that limits a tensor split of these matrix layers: the first of those with the fewest units. Embedding
/// tables and the last matrix layer of the model limit it only if there are no other layers. −1 without layers.
[[nodiscard]] int layer_of_fewest_units(const ModelFacts& facts, std::span<const int> layers);

/// Returns the number of blocks that start in layers [first, last).
[[nodiscard]] inline double blocks_between(const ModelFacts& facts, int first, int last) {
  return facts.blocks_before[static_cast<std::size_t>(last)] - facts.blocks_before[static_cast<std::size_t>(first)];
}

/// Returns the precision of a layer's kernels in a plan of this precision. With fp8 and nvfp4, only kernels of linear layers
/// have that precision.
[[nodiscard]] Precision kernel_precision(const ModelFacts& facts, std::size_t layer, Precision precision);

}  // namespace ddl
