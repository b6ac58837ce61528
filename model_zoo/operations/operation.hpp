#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "model_zoo/operations/attribute_values.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

enum class Pass { forward, backward_data, backward_weight, update };
template <>
inline constexpr EnumNames<Pass> enum_names<Pass>{"forward", "backward-data", "backward-weight", "update"};

/// The type of a kernel. The times of kernels of one type follow the same formula, with the same constants.
enum class KernelKind {
  matrix_product,       ///< one matrix product (GEMM), or a batch of equal products
  convolution,          ///< convolutions with one group
  grouped_convolution,  ///< convolutions with several groups; each group is a separate matrix product
  fused_attention,      ///< attention with scores that never leave the chip
  chunk_scan,           ///< products inside the token chunks of a recurrence
  elementwise,          ///< additions, activations, casts, copies, and all kernels without a type of their own
  layer_norm,           ///< norms with statistics per position
  batch_norm,           ///< norms with statistics over positions
  softmax,
  dropout,
  lookup,                 ///< lookups of rows of a table
  packed_convolution,     ///< convolutions with several groups, which share a tile of a matrix product
  direct_convolution,     ///< convolutions with several groups that do not use matrix units
  depthwise_convolution,  ///< convolutions with as many groups as channels
  max_pool,
  grouped_product  ///< products of several experts, one GEMM for each
};

/// The work of one kernel. Kernel models predict the kernel's time from the work.
struct Work {
  double flops = 0;             ///< FLOPs per sample; a multiply-add has two FLOPs
  double activation_items = 0;  ///< number of activation elements read and written, per sample
  double weight_items = 0;      ///< number of weight elements read or written once per kernel, for any batch size
  /// The sizes of a matrix operation as a matrix product: m and n are the sides of the output, and
  /// k is summed. `batched` names the dimension that grows with the samples; this dimension is
  /// given per sample. All sizes are zero if there is no matrix product.
  double m = 0, n = 0, k = 0;
  enum class Batched { m, n, k, count } batched = Batched::m;  ///< `count`: one small product per sample (attention)
  double count = 1;  ///< number of products of this size, such as heads or experts; per sample if `batched` is `count`
  /// The number of elements per sample that enter a cross entropy. Frameworks implement cross entropy
  /// in several ways, which differ in traffic.
  double entropy_items = 0;
  /// The sides of the image that the kernel computes, for a convolution with a window of 3 × 3 and stride 1, because such
  /// windows have faster algorithms. For backward-weight, the image is the one that forward computes. 0 for other windows.
  double square3_rows = 0, square3_columns = 0;
  bool is_strided = false;      ///< for a convolution, whether its window skips positions
  bool sums_positions = false;  ///< for a convolution, whether its product sums over positions, as in backward-weight
  /// For a convolution, whether its window has three spatial dimensions and more than one position.
  bool is_volume = false;
  /// For a convolution, the number of groups, the input channels of a group, and, with several
  /// groups, the output channels of a group. m, n and k are the sizes of all groups together.
  double groups = 1, group_inputs = 0, group_outputs = 0;
  /// For the gradients of a layer norm's scale and shift, the number of channels. Each gradient is a sum over the positions
  /// and samples of a channel. 0 for other kernels.
  double summed_channels = 0;
  /// Whether this is one operator of a composite. Such work is used only if each operator is a
  /// separate kernel (CompositeKernels), and is not part of Operation::work().
  bool is_separate = false;
  /// Whether this kernel computes in fp32 in mixed precision. Its elements then have 4 bytes.
  bool is_wide = false;
  /// Set if this kernel adds the bias of a convolution or a linear layer, or sums the bias's gradient over samples and
  /// positions. The kernel is used only if the framework has a separate kernel for the bias (BiasKernels). A product that
  /// runs without a convolution library, such as a depthwise convolution, is treated as a linear layer.
  enum class Bias { none, convolution, linear } bias = Bias::none;
  /// The type of the kernel. If unset, the kernel is a matrix product if it has one, else elementwise.
  std::optional<KernelKind> kind{};

  [[nodiscard]] KernelKind kernel_kind() const {
    return kind.value_or(m > 0 ? KernelKind::matrix_product : KernelKind::elementwise);
  }

  [[nodiscard]] bool is_any() const { return flops > 0 || activation_items > 0 || weight_items > 0; }
};

/// Returns the sum of the FLOPs and elements of kernels.
[[nodiscard]] Work sum_of(std::span<const Work> kernels);

/// Returns the kernel of a bias in a pass, for `items` elements of the layer's output. Forward adds
/// the bias in place, and backward sums the gradients. In all other passes, a bias has no work.
[[nodiscard]] inline Work bias_work(Pass pass, double items, Work::Bias bias) {
  if (pass != Pass::forward && pass != Pass::backward_weight) return {};
  return {.flops = items,
          .activation_items = pass == Pass::forward ? 2 * items : items,
          .is_separate = true,
          .bias = bias,
          .kind = KernelKind::elementwise};
}

/// The dimensions of an operation that a strategy may divide. A `matrix` operation has weights that
/// mix channels. A `channelwise` operation processes channels separately (pooling, activation,
/// batch norm), so its output stays sharded by channels.
struct Divisible {
  bool matrix = false;       ///< whether the operation has filters (output channels) and input channels that can be split
  bool channelwise = false;  ///< whether a slice of the channels is independent of other channels
  bool spatial = false;      ///< whether a tile of positions can be computed, given its halo
  bool tokens = false;       ///< whether some tokens of a sequence can be computed without the other tokens
  /// The number of sums over all positions of a channel. The tiles of a sample must add up these
  /// sums: one for a mean, two for a mean and a variance.
  double position_sums = 0;
  std::int64_t channel_units = 0;  ///< units (heads, groups) that a channel split keeps whole; 0: units are channels
};

/// The tensors of forward that backward needs, in elements per sample unless noted (the finest rule of
/// [Kort22] and of common frameworks).
struct Kept {
  bool input = false;      ///< whether backward needs the input tensors
  bool output = false;     ///< whether backward needs the output tensor
  double mask_items = 0;   ///< elements of one byte, such as a dropout mask or pooling indices
  double extra_items = 0;  ///< elements in the precision of activations, such as attention scores
  double softmax_items =
      0;                   ///< part of `extra_items` that a softmax writes and a matrix product, or dropout before it, reads
  double noise_items = 0;  ///< part of `mask_items` that a CPU stores as factors of 4 bytes, as for dropout
  /// Elements of 4 bytes in any precision, such as mean and inverse deviation of a position, or of a
  /// sample's group of channels.
  double statistics = 0;
  double batch_statistics = 0;  ///< like `statistics`, but once per micro-batch: per channel, or a loss's weight
  /// Additional elements, in the precision of activations, that the operation keeps if it runs operator by operator: inputs
  /// and outputs of its operators.
  double operator_items = 0;
};

/// A kind of low-rank adapters of a matrix W of m × n.
enum class AdapterKind {
  lora,  ///< W·x + B·(A·x)
  /// W + BA, scaled to a trained norm of each row [Liu et al., "DoRA", ICML 2024; huggingface/peft, tuners/lora/dora.py]
  dora,
  loha,  ///< W + (B₁A₁)∘(B₂A₂) [Hyeon-Woo et al., "FedPara", ICLR 2022; huggingface/peft, tuners/loha/layer.py]
  lokr   ///< W + C⊗(BA) [Edalati et al., "KronA", 2022; huggingface/peft, tuners/lokr/layer.py]
};
template <>
inline constexpr EnumNames<AdapterKind> enum_names<AdapterKind>{"lora", "dora", "loha", "lokr"};

/// The adapters of a layer.
struct AdapterForm {
  AdapterKind kind = AdapterKind::lora;
  std::int64_t rank = 0;
  unsigned adapted = 0;  ///< bits of the Operation::modules() with an adapter; 0: one adapter for the joined matrix
  bool drops = false;    ///< whether each adapter reads the input after a dropout of its own
};

/// The table of an operation, with 0 rows if there is none. A layer that names another layer in
/// `tied` shares the table of that layer.
struct SharedTable {
  std::string_view owner;  ///< the type of operation that can own the table
  std::int64_t rows = 0, columns = 0;
};

/// One operation of a network with fixed attributes (kernel, stride, heads, …). An operation is immutable, and layers may
/// share it. Shapes are those of one sample; a strategy passes the sliced shapes of a shard.
///
/// `infer` throws ddl::Error(message, hint) if the inputs do not fit; the reader adds its position in the file.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  /// Returns the key of the operation in model files: `convolution`, `fully_connected`, …
  [[nodiscard]] virtual std::string_view type() const = 0;
  /// Returns the beginning of the generated name of a layer without a name: `conv`, `relu`, `fc`.
  [[nodiscard]] virtual std::string_view short_name() const { return type(); }
  /// Returns the attributes with their values, as in a model file, without attributes that have their default value.
  [[nodiscard]] virtual AttributeValues attribute_values() const { return {}; }
  /// Returns the attributes that no split changes. Problems with equal values of these attributes
  /// differ only in sizes, so times can be interpolated between them.
  [[nodiscard]] virtual AttributeValues lasting_values() const { return attribute_values(); }
  /// Returns the attributes on one line, as in the lines of problems: `filters=64 kernel=3x3 stride=2`.
  [[nodiscard]] std::string attributes() const { return print_attributes(attribute_values()); }
  /// Returns the attributes that no split changes, on one line.
  [[nodiscard]] std::string lasting_attributes() const { return print_attributes(lasting_values()); }
  [[nodiscard]] virtual TensorShape infer(std::span<const TensorShape> inputs) const = 0;
  /// Returns the number of trainable elements of kernels and matrices.
  [[nodiscard]] virtual std::int64_t weights(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Returns the number of trainable elements that a split of input channels does not divide: biases,
  /// scales and shifts of norms.
  [[nodiscard]] virtual std::int64_t biases(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Returns the number of weights and biases that are never trained, such as those of a matrix with an adapter.
  [[nodiscard]] virtual std::int64_t frozen(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Returns the number of statistics that are stored but not trained (running mean and variance).
  [[nodiscard]] virtual std::int64_t buffers(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Returns the table that layers can share through `tied`, such as vocabulary × features of an embedding.
  [[nodiscard]] virtual SharedTable shared_table(std::span<const TensorShape> /*inputs*/,
                                                 const TensorShape& /*output*/) const {
    return {};
  }
  /// Returns the work of one pass on the given (whole or sliced) shapes; all zero for passes that
  /// an operation does not have. The work of `update` follows from the parameters.
  [[nodiscard]] virtual Work work(Pass /*pass*/, std::span<const TensorShape> /*inputs*/,
                                  const TensorShape& /*output*/) const {
    return {};
  }
  /// Returns the work of a pass as a list of kernels, which run one after the other. By default, a pass is one kernel. FLOPs
  /// and elements of all kernels, without separate operators and biases, add up to work().
  [[nodiscard]] virtual std::vector<Work> kernels(Pass pass, std::span<const TensorShape> inputs,
                                                  const TensorShape& output) const {
    return {work(pass, inputs, output)};
  }
  /// Returns the longest chain of dependent steps of one pass over `samples` samples, at least 1
  /// [BH18, Table 4; other operations follow the same rule: a reduction of n elements takes ⌈log2 n⌉].
  /// By default, this is the reduction of the matrix product in work(), or one step without a
  /// product. Operations that have other reductions, or are sequential, override this function.
  [[nodiscard]] virtual double depth(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output,
                                     double samples) const;
  [[nodiscard]] virtual Divisible divisible() const = 0;
  [[nodiscard]] virtual Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return {};
  }
  /// The window of an operation along each spatial dimension: extent (dilation included), stride, and padding before. It
  /// determines the halo of a tile. Operations on single positions have 1, 1 and 0. If the output has `spread` times as many
  /// positions as the input, the window is the part of the output to which one position of the input contributes.
  struct Window {
    std::array<std::int64_t, 3> size{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, spread{1, 1, 1};
  };
  [[nodiscard]] virtual Window window() const { return {}; }
  /// The operation that a rank runs on slices of the tensors. It infers the slice `output` from its `inputs`.
  struct Local {
    std::shared_ptr<const Operation> operation;  ///< null if the operation is not changed by the slicing
    std::vector<TensorShape> inputs;             ///< inputs of the rank, including the halo rows that a tile reads
  };
  [[nodiscard]] virtual Local local(std::span<const TensorShape> inputs, const TensorShape& /*output*/) const {
    return {.operation = nullptr, .inputs = {inputs.begin(), inputs.end()}};
  }
  /// Returns whether backward passes the gradient of the output unchanged to every input. The
  /// function gradient_additions counts additions for a tensor with several readers.
  [[nodiscard]] virtual bool passes_gradient() const { return false; }
  /// Returns whether forward writes its output over its input.
  [[nodiscard]] virtual bool in_place() const { return false; }
  /// The intermediate tensors of a pass if each operator of the definition is a separate kernel, as in eager mode. All
  /// intermediate tensors have the same size. They are neither outputs nor gradients of inputs and weights. By default, a
  /// pass has one intermediate tensor: the additional elements that forward keeps, or the gradient of these elements.
  struct Inner {
    double items = 0;  ///< elements per sample of one of the tensors
    int tensors = 0;
  };
  [[nodiscard]] virtual Inner inner(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const;
  /// Returns whether the operation contains the part of attention that selective recomputation recomputes in backward
  /// [Kort22, section 5]: the scores of queries and keys, their softmax, the softmax's dropout, and the sum over values.
  [[nodiscard]] virtual bool is_attention() const { return false; }
  /// For fused attention with trained sinks in its softmax, returns the same attention with kernels that write the scores,
  /// for libraries whose fused kernels do not support sinks. Null for any other operation.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_written_sinks() const { return nullptr; }
  /// For attention, returns the same attention with a mask that its kernels read, such as one that hides padding: no kernel
  /// skips hidden scores. Null for any other operation.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_mask() const { return nullptr; }
  /// For attention, returns the same attention for sequences that are packed with documents of this
  /// many tokens, without attention between documents. Null for any other operation.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_documents(std::int64_t /*tokens*/) const { return nullptr; }
  /// Returns whether the output is a view of the first input with another shape.
  [[nodiscard]] virtual bool is_view() const { return false; }
  /// Returns whether the output is a part of the first input's memory, which then stays allocated as a whole.
  [[nodiscard]] virtual bool keeps_storage() const { return is_view(); }
  /// Returns the elements per sample that exist only while the pass runs, in the precision of
  /// activations, such as scores before their softmax.
  [[nodiscard]] virtual double scratch_items(Pass /*pass*/, std::span<const TensorShape> /*inputs*/,
                                             const TensorShape& /*output*/) const {
    return 0;
  }
  /// Returns the same operation with a table of this many rows, for a rank that owns a shard of the
  /// rows; null if there is no table.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_rows(std::int64_t /*rows*/) const { return nullptr; }
  /// Returns a lookup in a table of this size whose gradient has only the rows of the tokens. With `pooled`, one kernel
  /// looks up the rows of all tokens of a sample and sums them. Null if there is no table.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_sparse_gradient(std::int64_t /*rows*/,
                                                                              std::int64_t /*columns*/,
                                                                              bool /*pooled*/) const {
    return nullptr;
  }
  /// Returns the number of experts that share the tokens; 1: no experts.
  [[nodiscard]] virtual std::int64_t experts() const { return 1; }
  /// Returns the same operation with this many of the experts; null if there are no experts.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_experts(std::int64_t /*experts*/) const { return nullptr; }
  /// Returns the names of the matrices that the operation joins into one, as other libraries name them: `q_proj`, `k_proj`
  /// and `v_proj`. Empty if the operation is a single matrix, or none.
  [[nodiscard]] virtual std::span<const std::string_view> modules() const { return {}; }
  /// Returns the share of the output that are keys, if queries, keys and values have a matrix each.
  [[nodiscard]] virtual double key_share() const { return 0; }
  /// Returns the same operation with low-rank adapters, which are trained in place of the matrix; null if there is no
  /// matrix.
  [[nodiscard]] virtual std::shared_ptr<const Operation> with_adapter(const AdapterForm& /*form*/) const { return nullptr; }
  /// Returns the number of adapters.
  [[nodiscard]] virtual int adapters() const { return 0; }
  [[nodiscard]] virtual AdapterKind adapter_kind() const { return AdapterKind::lora; }
  /// What adapters compute of a whole matrix in a pass, in elements that do not depend on the samples.
  struct WholeMatrices {
    double all = 0;      ///< elements of the matrices of all adapters
    double largest = 0;  ///< elements of the largest of them
    double columns = 0;  ///< the input channels of a matrix
    double outputs = 0;  ///< output elements of all adapters, per sample
  };
  /// All zero for adapters that compute nothing of the size of a matrix.
  [[nodiscard]] virtual WholeMatrices whole_matrices(std::span<const TensorShape> /*inputs*/,
                                                     const TensorShape& /*output*/) const {
    return {};
  }
  /// Returns whether each adapter has a dropout, so that it keeps an input of its own for backward.
  [[nodiscard]] virtual bool drops_adapter_inputs() const { return false; }
  /// Returns the same operation for a rank of a context split that has one of `parts` equal shards of the tokens, and needs
  /// keys and values of all tokens; null if the operation does not support a context split.
  [[nodiscard]] virtual std::shared_ptr<const Operation> in_contexts(std::int64_t /*parts*/) const { return nullptr; }
  /// Returns the number of context shards of the tokens; 1 if the rank has all tokens.
  [[nodiscard]] virtual std::int64_t contexts() const { return 1; }
  /// Returns the elements of each sample that the other ranks of a context split need from one rank: keys and values.
  [[nodiscard]] virtual double context_items(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Returns the multiply-adds of one sample's forward pass in convolutions and matrix products, by
  /// the convention of published MAC counts.
  [[nodiscard]] virtual double macs(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const {
    return 0;
  }
  /// Returns the multiply-adds including pairs of a query and a key that a causal mask hides, even if the kernel skips these
  /// pairs. This is the convention for the FLOP/s of a training run [Chow22, appendix B]. Default: macs().
  [[nodiscard]] virtual double unmasked_macs(std::span<const TensorShape> inputs, const TensorShape& output) const {
    return macs(inputs, output);
  }
};

}  // namespace ddl
