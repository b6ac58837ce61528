#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_zoo/operations/attribute_values.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

enum class Pass { forward, backward_data, backward_weight, update };
[[nodiscard]] std::string_view to_string(Pass pass);

/// What a kernel is like for the device that runs it: kernels of a kind share the formula of their time and its constants.
enum class KernelKind {
  matrix_product,       ///< GEMM, alone or many of one size
  convolution,          ///< of one group
  grouped_convolution,  ///< of several groups, each a matrix product of its own
  fused_attention,      ///< scores never leave the chip
  chunk_scan,           ///< of a recurrence, the products inside chunks of tokens
  elementwise,          ///< additions, activations, casts, copies, and what has no kind of its own
  layer_norm,           ///< statistics of a position
  batch_norm,           ///< statistics over positions
  softmax,
  dropout,
  lookup,                 ///< rows of a table
  packed_convolution,     ///< of several groups that one tile of a matrix product holds together
  direct_convolution,     ///< of several groups, multiplied by units that know no matrices
  depthwise_convolution,  ///< of as many groups as there are channels
  max_pool
};

/// What one kernel has to do, counted in the source's units; kernel prices turn it into time.
struct Work {
  double flops = 0;             ///< per sample; a multiply-add is two
  double activation_items = 0;  ///< activation items read and written, per sample
  double weight_items = 0;      ///< weight items read or written, once per kernel whatever the batch
  /// The implicit matrix product behind a matrix operation: `batched` names the dimension that grows with the samples
  /// (m and n span the output, k is summed; sizes are per sample for the batched one). All zero when there is none.
  double m = 0, n = 0, k = 0;
  enum class Batched { m, n, k, count } batched = Batched::m;  ///< count: one small product per sample (attention)
  double count = 1;  ///< products of that size, per sample where `batched` says so: heads, experts
  /// Per sample, items over which a cross entropy is taken: frameworks do so in several ways, which differ in traffic.
  double entropy_items = 0;
  /// Of a convolution with a window of 3 × 3 and stride 1, for which there are faster algorithms: the sides of the image
  /// that its kernel computes, in backward-weight of the one that forward computes. 0: another window.
  double square3_rows = 0, square3_columns = 0;
  bool is_strided = false;      ///< of a convolution: its window skips positions
  bool sums_positions = false;  ///< of a convolution: its product's sums run over positions, as in backward-weight
  /// Of a convolution: it moves a window over three dimensions of space, of more than one position.
  bool is_volume = false;
  /// Of a convolution: its groups, the channels that one of them reads, and of several groups those that one writes. m, n
  /// and k are those of all groups side by side.
  double groups = 1, group_inputs = 0, group_outputs = 0;
  /// Of a formula of several operators: there only where each operator is a kernel of its own (CompositeKernels). Not part
  /// of Operation::work().
  bool is_separate = false;
  /// Of a bias of such a layer, which is separate too: its addition, or its gradient, a sum over samples and positions.
  /// There only where the framework has a kernel of its own for it (BiasKernels). A product that runs without a library for
  /// convolutions, such as a depthwise convolution, counts as a linear layer.
  enum class Bias { none, convolution, linear } bias = Bias::none;
  /// Nothing: a matrix product where there is one, else elementwise.
  std::optional<KernelKind> kind{};

  [[nodiscard]] KernelKind kernel_kind() const {
    return kind.value_or(m > 0 ? KernelKind::matrix_product : KernelKind::elementwise);
  }

  [[nodiscard]] bool is_any() const { return flops > 0 || activation_items > 0 || weight_items > 0; }
};

/// The kernel of a bias in a pass, over so many items of the layer's output: forward it is added to them in place, backward
/// their gradients are summed. No work in other passes.
[[nodiscard]] inline Work bias_work(Pass pass, double items, Work::Bias bias) {
  if (pass != Pass::forward && pass != Pass::backward_weight) return {};
  return {.flops = items,
          .activation_items = pass == Pass::forward ? 2 * items : items,
          .is_separate = true,
          .bias = bias,
          .kind = KernelKind::elementwise};
}

/// Which of an operation's dimensions a strategy may divide. A "matrix" operation has weights that mix channels; a
/// channelwise one treats channels apart (pooling, activation, batch norm), so sharded channels pass through it.
struct Divisible {
  bool matrix = false;       ///< has filters (output channels) and input channels that can be split
  bool channelwise = false;  ///< works on a slice of the channels alone
  bool spatial = false;      ///< works on a tile of positions, given its halo
  bool tokens = false;       ///< works on a part of the tokens of a sequence alone
  /// Sums over all positions of a channel, to which the tiles of a sample have to add their parts: one for a mean, two for a
  /// mean and a variance.
  double position_sums = 0;
  std::int64_t channel_units = 0;  ///< whole units a channel split must keep together: heads, groups; 0 = channels
};

/// What backward needs of forward, in items per sample unless said (the finest rule of [Kort22] and of common frameworks).
struct Kept {
  bool input = false;      ///< the input tensor(s)
  bool output = false;     ///< the output tensor
  double mask_items = 0;   ///< one-byte items of its own: dropout mask, pooling index
  double extra_items = 0;  ///< items of its own at the activations' precision: attention scores
  double noise_items = 0;  ///< of the masks, those that a processor keeps as factors of 4 bytes: dropout's
  /// Items of 4 bytes whatever the precision: mean and inverse deviation of a position or of a sample's group of channels.
  double statistics = 0;
  double batch_statistics = 0;  ///< the same, once for all samples of a micro-batch: of a channel, a loss's weight
};

/// The table of an operation that layers may share by naming its owner (`tied`); without rows there is none.
struct SharedTable {
  std::string_view owner;  ///< the type of operation that may own it
  std::int64_t rows = 0, columns = 0;
};

/// One operation of a network with its attributes fixed (kernel, stride, heads, …); immutable and shared between layers.
/// Shapes are those of one sample; a strategy asks about the local slice by passing sliced shapes.
///
/// `infer` throws ddl::Error(message, hint) when the inputs do not fit; the reader places it in the file.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  /// The key of the model file: `convolution`, `fully_connected`, …
  [[nodiscard]] virtual std::string_view type() const = 0;
  /// Stem of the name of a layer that the file leaves unnamed: `conv`, `relu`, `fc`.
  [[nodiscard]] virtual std::string_view short_name() const { return type(); }
  /// The attributes that the model file would say, with their values: what it leaves out is not among them.
  [[nodiscard]] virtual AttributeValues attribute_values() const = 0;
  /// What no split changes of them. Problems that agree in these values differ in sizes alone: between the times of two of
  /// them that of a third can be interpolated.
  [[nodiscard]] virtual AttributeValues lasting_values() const { return attribute_values(); }
  /// The attributes on one line, as the lines of problems have them: `filters=64 kernel=3x3 stride=2`.
  [[nodiscard]] std::string attributes() const { return print_attributes(attribute_values()); }
  /// The same of the lasting ones.
  [[nodiscard]] std::string lasting_attributes() const { return print_attributes(lasting_values()); }
  [[nodiscard]] virtual TensorShape infer(std::span<const TensorShape> inputs) const = 0;
  /// Trainable items: kernels and matrices.
  [[nodiscard]] virtual std::int64_t weights(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Trainable items that do not divide with input channels: biases, scales and shifts of norms.
  [[nodiscard]] virtual std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Of the weights and biases, those that no training changes: a matrix that has an adapter.
  [[nodiscard]] virtual std::int64_t frozen(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Statistics kept but not trained (running mean and variance).
  [[nodiscard]] virtual std::int64_t buffers(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// What `tied` shares: an embedding's vocabulary × features, say.
  [[nodiscard]] virtual SharedTable shared_table(std::span<const TensorShape> /*inputs*/,
                                                 const TensorShape& /*output*/) const {
    return {};
  }
  /// Work of one pass on the given (whole or sliced) shapes; passes an operation does not have are all zero. `update` is
  /// priced from the parameters, not here.
  [[nodiscard]] virtual Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const = 0;
  /// The same by kernels, which run one after the other. As it stands here: one. Their operations and items sum to work()'s,
  /// but for those that are separate.
  [[nodiscard]] virtual std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs,
                                                  const TensorShape& output) const {
    return {work(pass, inputs, output)};
  }
  /// Longest chain of dependent steps of one pass over `samples` samples, at least 1 [BH18, Table 4; what is not there by
  /// its rule: a reduction of n items takes ⌈log2 n⌉]. As it stands here: the sum of the matrix product that work() names,
  /// one step where there is none. An operation that reduces anything else, or is sequential, says so itself.
  [[nodiscard]] virtual double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
                                     double samples) const;
  [[nodiscard]] virtual Divisible divisible() const = 0;
  [[nodiscard]] virtual Kept kept(std::span<const TensorShape> inputs, const TensorShape& output) const = 0;
  /// Extent of the kernel's window along each spatial dimension (dilation included), stride, and padding before: what a tile
  /// needs of its neighbours. 1, 1 and 0 for operations that look at one position. Where the output has more positions than
  /// the input, `spread` for each, the window is that of the output which one position of the input adds to.
  struct Window {
    std::array<std::int64_t, 3> size{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, spread{1, 1, 1};
  };
  [[nodiscard]] virtual Window window() const { return {}; }
  /// What a rank runs that holds these slices of the tensors: an operation of its own, which infers `output` from its
  /// inputs.
  struct Local {
    std::shared_ptr<const Operation> operation;  ///< none where this one already does
    std::vector<TensorShape> inputs;             ///< a tile's with the rows of its neighbours that it reads
  };
  [[nodiscard]] virtual Local local(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const {
    return {.operation = nullptr, .inputs = {inputs.begin(), inputs.end()}};
  }
  /// Backward hands the output's gradient to every input as it is. What is added where a tensor has several readers is no
  /// work of theirs: gradient_additions counts it.
  [[nodiscard]] virtual bool passes_gradient() const { return false; }
  /// Forward writes its output over its input.
  [[nodiscard]] virtual bool in_place() const { return false; }
  /// Tensors of equal size that a pass makes and that are neither outputs nor gradients of inputs and weights, where each
  /// operator of the definition is a kernel of its own, as frameworks run it in eager mode. As it stands here: what forward
  /// keeps of its own, and its gradient.
  struct Inner {
    double items = 0;  ///< per sample, of one of them
    int tensors = 0;
  };
  [[nodiscard]] virtual Inner inner(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const;
  /// The scores of queries and keys, their softmax, its dropout, and the sum over values: what selective recomputation
  /// computes again in backward [Kort22, section 5].
  [[nodiscard]] virtual bool is_attention() const { return false; }
  /// Of fused attention whose softmax has trained sinks: the same with kernels that write the scores, as where no fused
  /// kernel knows of sinks. None elsewhere.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_written_sinks() const { return nullptr; }
  /// Of attention: the same where sequences are packed with documents of so many tokens, which do not see each other. None
  /// elsewhere.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_documents(std::int64_t /*tokens*/) const { return nullptr; }
  /// The output is the first input's memory under another shape.
  [[nodiscard]] virtual bool is_view() const { return false; }
  /// Items per sample of its own that exist only while the pass runs, at the activations' precision: scores before their
  /// softmax, say.
  [[nodiscard]] virtual double scratch_items(Pass /*pass*/, std::span<const TensorShape> /*inputs*/,
                                             const TensorShape& /*output*/) const {
    return 0;
  }
  /// The same with a table of so many rows, as a rank has it that owns a part of them; none where there is no table.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_rows(std::int64_t /*rows*/) const { return nullptr; }
  /// How many experts share the tokens; 1: none.
  [[nodiscard]] virtual std::int64_t experts() const { return 1; }
  /// The same with so many of the experts; none where there are none.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_experts(std::int64_t /*experts*/) const { return nullptr; }
  /// The same with an adapter of low rank, which is trained in the place of the matrix; none where there is no matrix.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_adapter(std::int64_t /*rank*/) const { return nullptr; }
  /// The rank of its adapter; 0: it has none.
  [[nodiscard]] virtual std::int64_t adapter_rank() const { return 0; }
  /// The same as a rank runs it that has one of `parts` equal parts of the tokens, and needs keys and values of all; none
  /// where there are none.
  [[nodiscard]] virtual std::shared_ptr<const Operation> in_contexts(std::int64_t /*parts*/) const { return nullptr; }
  /// The number of those parts; 1: it has all tokens.
  [[nodiscard]] virtual std::int64_t contexts() const { return 1; }
  /// Items of each sample that the others of those ranks need of one: keys and values.
  [[nodiscard]] virtual double context_items(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Multiply-adds of one sample's forward pass in convolutions and matrix products, as published MAC counts count them.
  [[nodiscard]] virtual double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// The same with the pairs of a query and a key that a causal mask hides, whether or not the kernel leaves them out: what
  /// FLOP/s of a training are counted by [Chow22, appendix B]. As it stands here: macs().
  [[nodiscard]] virtual double unmasked_macs(std::span<const TensorShape> inputs, const TensorShape& output) const {
    return macs(inputs, output);
  }
};

}  // namespace ddl
