#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "estimator/facts/recompute_modules.hpp"
#include "model_zoo/network/autocast.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// How a layer takes part in a tensor split (the alternation of filter and channel splits of [Nar21]'s tensor parallelism).
enum class TensorSplitRole {
  whole,   ///< every rank computes all of it
  column,  ///< filters are split and the output stays sharded for the partner
  inside,  ///< works on its slice of the channels, between column and row
  row,     ///< input channels are split; its output is summed by an Allreduce
  lone,    ///< a matrix layer without partner: split as filter, its output gathered
  lookup,  ///< an embedding split over its vocabulary; its output is summed
  head,    ///< the last matrix layer, sharded up to the loss
};

/// A layer that reads the weights of another.
struct TiedLayer {
  int reader = -1, owner = -1;
  int previous = -1;  ///< the last layer before it that reads them, the owner itself where there is none between
};

/// A layer that reads a tensor, or makes it.
struct TensorReader {
  int layer = -1;
  bool keeps = false;       ///< its backward needs the tensor
  bool keeps_cast = false;  ///< the same under autocast: who reads it in half precision keeps a copy of its own
};

/// What a compiler of graphs saves where a layer's kernel goes on where that of an input's maker ends: it does not read that
/// input again, and where nobody else reads it, it is never written.
struct Fusion {
  int input = -1;          ///< of the layer's inputs, which; -1: the layer is no part of another kernel
  bool unwritten = false;  ///< nobody else reads it
  friend bool operator==(const Fusion&, const Fusion&) = default;
};

/// What strategies ask about a model, worked out once: who consumes what, what backward keeps, which layers pair up.
struct ModelFacts {
  const Model* model = nullptr;
  std::vector<Divisible> divisible;
  std::vector<Operation::Window> window;
  std::vector<Kept> kept;
  std::vector<bool> output_kept;  ///< layer's output is needed by its own or a consumer's backward
  AutocastTypes autocast;
  std::vector<bool> output_kept_cast;  ///< output_kept under autocast: who reads it in half precision keeps a copy
  /// The layer whose memory the output lies in: its own, or that of the first input where it is a view or written in place;
  /// −1 is the batch.
  std::vector<int> storage;
  /// Of each layer whose output has memory of its own: who makes and who reads what lies there, in order.
  std::vector<std::vector<TensorReader>> readers;
  std::vector<bool> of_sample;             ///< a tensor of the sample, as the model's input is: read, not computed
  std::vector<bool> needs_input_gradient;  ///< false where nothing trained lies between the sample and the inputs
  /// Backward writes a gradient of the layer's input: it has one, and does not just pass its output's on, as add and reshape
  /// do.
  std::vector<bool> makes_input_gradient;
  std::vector<int> gradient_additions;  ///< that make one gradient of the layer's output, of those its readers send
  /// On a branch that starts with the mean of all positions and joins larger tensors again, as squeeze and excitation does:
  /// its tensors have one position, which every rank needs, and so little work that every rank does all of it.
  std::vector<bool> pooled_branch;
  std::vector<TensorSplitRole> tensor_role;
  /// The output lies in parts of its tokens on the ranks of a tensor split with sequence parallelism: what a pair of split
  /// layers sums up, and what works on each token alone behind it.
  std::vector<bool> token_split;
  /// What a tensor degree has to divide, so that all of those tensors have equal parts; 0 where there are none.
  std::int64_t token_units = 0;
  /// Whole units a tensor split of this layer can be cut into (channels, heads); 0 for TensorSplitRole::whole.
  std::vector<std::int64_t> tensor_units;
  /// live_items[i]: items per sample that cross a cut between layers i−1 and i; live_items[0] is the model's input. Other
  /// tensors of the sample cross none: who reads one has it of the data set.
  std::vector<double> live_items;
  std::vector<double> live_split_items;  ///< of those, of tensors that lie in parts with sequence parallelism
  /// Blocks that have like layers, if all have; else 0.
  int like_blocks = 0;
  /// Blocks, if three in four have like layers; else 0.
  int similar_blocks = 0;
  bool has_attention = false;
  std::vector<RecomputeModules> modules;  ///< of each layer, those that it is a part of (module_layers)
  RecomputeModules has_modules;           ///< those that any layer is a part of
  /// Layers that selective recomputation of products computes again: those of a block but attention and the first of each
  /// two matrix products.
  std::vector<bool> again_with_products;
  /// The number that an expert degree has to divide: experts of the layer with fewest; 0 where there are none. And their
  /// parameters.
  std::int64_t experts = 0;
  double expert_parameters = 0;
  std::vector<bool> in_experts;  ///< layers between the dispatch of tokens to experts and their combination
  double trained_expert_parameters = 0;
  /// The last layers of experts with biases, whose output is brought back to tokens: the router weighs their biases, too.
  std::vector<bool> weighs_bias;
  /// What a context degree has to divide, so that all sequences have equal parts of which attention alone needs others; 0
  /// where something else does, or there are no sequences.
  std::int64_t context_units = 0;
  /// The largest number that divides the heads of keys and values of every layer of attention; 0 without attention.
  std::int64_t attention_heads = 0;
  /// A matrix product with weights, but not the one before the loss: what recipes for FP8 convert [NVIDIA, Transformer
  /// Engine documentation, "Using FP8"].
  std::vector<bool> is_linear;
  std::vector<Fusion> fusion;   ///< of each layer
  std::vector<TiedLayer> tied;  ///< layers that read the weights of another, in order
  int batch_keeper = -1;        ///< the layer with which the batch is kept for backward
  std::vector<int> weighted;    ///< layers with weights, in order
  std::vector<int> matrix;      ///< layers whose filters or channels can be split
  int first_matrix = -1, last_matrix = -1;
  std::int64_t smallest_filters = 0;  ///< min F over the matrix layers before the last, and the layer it is in
  int smallest_filters_layer = -1;
  std::int64_t smallest_channels = 0;  ///< min C over the matrix layers after the first
  int smallest_channels_layer = -1;
  std::vector<bool> frozen;  ///< layers whose weights training leaves as they are, those that they share included
  double parameters = 0;
  double trained_parameters = 0;  ///< of those, the ones that have gradients
  double factored_share = 0;      ///< rows and columns of all matrices, and biases, over the parameters
  double sample_items = 0;        ///< of all tensors of the sample
  /// The column of a pair that sends the gradient of an input it shares with other columns of its block (gate and up
  /// projections).
  std::vector<bool> sends_input_gradient;
};

/// The share of a layer's weights and biases that is trained; 1 if it has none.
[[nodiscard]] double trained_share(const Layer& layer);

[[nodiscard]] ModelFacts facts_of(const Model& model);

/// Returns the precision of a layer's kernels in a plan of this precision. With fp8 and nvfp4, only those of linear layers
/// have it.
[[nodiscard]] Precision kernel_precision(const ModelFacts& facts, std::size_t layer, Precision precision);

}  // namespace ddl
