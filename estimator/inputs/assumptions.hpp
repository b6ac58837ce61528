#pragma once

#include <optional>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"
#include "estimator/inputs/failures.hpp"
#include "model_zoo/network/optimizer_passes.hpp"

namespace ddl {

/// How samples reach the ranks of one split group: a leader reads each sample and sends it to the
/// other ranks, or every rank reads it.
enum class InputMode { leader, every_rank };

/// Precisions of the weights and gradients that mixed precision keeps in memory.
enum class MixedPrecision {
  /// weights and gradients in half precision, plus a 4-byte master copy: 16 bytes a parameter with Adam [Raj20]
  half_gradients,
  full_gradients,  ///< gradients are added up in 4 bytes, as Megatron-LM does: 18 bytes with Adam [Kort22]
  autocast,        ///< PyTorch autocast: weights and gradients have 4 bytes; matrix operations read copies in half precision
  /// Gradients in half precision are added to 4-byte gradients, which are not sharded: 20 bytes per parameter with Adam, 12
  /// of them sharded [DeepSpeed, deepspeed/runtime/bf16_optimizer.py].
  accumulated,
  /// Weights, gradients and the optimizer's state are in half precision, without a master copy, as when PyTorch's optimizer
  /// trains a model in bf16: 8 bytes per parameter with Adam.
  pure,
};

/// Returns whether gradients are summed in 4 bytes while weights are in half precision.
[[nodiscard]] constexpr bool sums_in_full(MixedPrecision mixed) {
  return mixed == MixedPrecision::full_gradients || mixed == MixedPrecision::accumulated;
}

/// The names of the enumerators in options and files, in the order of the enumerators.
inline constexpr EnumNames<MixedPrecision> mixed_precision_names{"half", "full", "autocast", "accumulated", "pure"};

/// The precision in which ranks sum gradients.
enum class GradientSums { half, full };
inline constexpr EnumNames<GradientSums> gradient_sums_names{"half", "full"};

/// The memory layout of images.
enum class MemoryFormat {
  channels_last,  ///< channels-last, the layout that matrix-unit kernels read
  /// PyTorch's default. Kernels of matrix units work on copies: each convolution copies its inputs and outputs once [NVIDIA,
  /// Convolutional Layers User's Guide, section 3.1.1, "Tensor layouts"].
  channels_first,
};
inline constexpr EnumNames<MemoryFormat> memory_format_names{"nhwc", "nchw"};

/// How cross entropy in mixed precision computes the gradient of its input.
enum class CrossEntropy {
  operators,  ///< one operator after the other; keeps the log-softmax of an fp32 copy, and writes the gradients of both
  /// one fp32 copy, overwritten by softmax and gradient [Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py]
  in_place,
  /// compiled functions between the exchanges of tensor parallelism; the second function writes a second fp32 copy
  /// [Megatron-LM, megatron/core/fusions/fused_cross_entropy.py]
  compiled,
  fused,  ///< one kernel each for forward and backward, as torch.compile generates; no fp32 tensor is written
  /// The head and the loss run together in chunks of tokens, in forward. The logits of one chunk exist at a time [Hsu et
  /// al., "Liger Kernel", 2024, section 3.2, FusedLinearCrossEntropy].
  linear,
};

inline constexpr EnumNames<CrossEntropy> cross_entropy_names{"operators", "in-place", "compiled", "fused", "linear"};

/// The kernels that run fused attention. Fused attention never writes its scores. `sdpa`: those that PyTorch chooses for
/// scaled_dot_product_attention. `efficient`: the memory-efficient ones of xFormers, which PyTorch contains.
enum class AttentionKernels { flash1, flash2, flash3, flash4, cudnn, sdpa, efficient };
inline constexpr EnumNames<AttentionKernels> attention_kernel_names{"flash1", "flash2", "flash3",          "flash4",
                                                                    "cudnn",  "sdpa",   "memory-efficient"};

/// The precisions in which elementwise kernels are fused with the kernels before them. `residuals`: only dropout is fused
/// with the addition after it, in forward, as in Megatron-LM's bias_dropout_add_fused_train.
enum class Fusing { none, half, all, residuals };
inline constexpr EnumNames<Fusing> fusing_names{"none", "half", "all", "residuals"};

/// Which products are padded to whole loads of matrix units. `vocabulary`: the head, whose vocabulary is padded. `weights`:
/// all products of weights, but not those of attention.
enum class PaddedProducts { none, vocabulary, weights };
inline constexpr EnumNames<PaddedProducts> padded_products_names{"none", "vocabulary", "weights"};

/// The kernels of norms of positions and of softmaxes in compiled code. A kernel cannot use a sum before it has read all of
/// its terms. Therefore, compilers end a kernel with a sum, or keep its terms in a block.
enum class CompiledSums {
  blocks,         ///< one kernel for the layer
  ampere_blocks,  ///< one kernel since compute capability 8.0, else one for each sum, and one for the result
  separate,       ///< one kernel for each sum, and one for the result
};
inline constexpr EnumNames<CompiledSums> compiled_sums_names{"blocks", "ampere-blocks", "separate"};

/// Which kernels compute formulas of several operators: the scaled and masked softmax of attention that is not fused, and an
/// activation written as a formula.
enum class CompositeKernels {
  fused,      ///< one kernel for the formula
  operators,  ///< one kernel for each operator, as in eager mode
  /// also one kernel for each operator of layer norms, softmaxes and dropouts, which TensorFlow 1 composes
  all_operators,
};
inline constexpr EnumNames<CompositeKernels> composite_names{"fused", "operators", "all-operators"};

/// Which kernels compute fused attention with trained sinks.
enum class SinkKernels {
  fused,      ///< one kernel for the attention
  operators,  ///< kernels that write the scores, because the softmax of fused attention lacks trained sinks
};
inline constexpr EnumNames<SinkKernels> sink_names{"fused", "operators"};

/// Which thread blocks sum the gradients of a layer norm's scale and shift [PyTorch,
/// aten/src/ATen/native/cuda/layer_norm_kernel.cu, GammaBetaBackwardCUDAKernel; pytorch/pytorch#147773].
enum class NormSums {
  device,      ///< blocks for parts of the rows, which fill the device
  blocks,      ///< one block for each 32 channels, as in PyTorch 1.11 to 2.7
  old_blocks,  ///< the slower blocks of PyTorch up to 1.10 [pytorch/pytorch#68238]
};
inline constexpr EnumNames<NormSums> norm_sums_names{"device", "blocks", "old-blocks"};

/// Which kernels add the biases of the last layer of experts. Each bias is multiplied by the router's weight of its token.
enum class ExpertBiases {
  fused,           ///< the neighboring kernel, before or after
  operators,       ///< separate operators, in the precision of training
  fp32_operators,  ///< separate operators in fp32, the precision of the tokens' weights
};
inline constexpr EnumNames<ExpertBiases> expert_bias_names{"fused", "operators", "fp32-operators"};

/// The separate kernels of a bias.
enum class BiasKernels {
  fused,      ///< no separate kernel: the layer's kernels, or kernels fused with these, handle the bias
  gradients,  ///< a kernel that sums the gradient of the bias
  operators,  ///< a kernel that adds the bias, and a kernel that sums the gradient of the bias
};
inline constexpr EnumNames<BiasKernels> bias_kernel_names{"fused", "gradients", "operators"};

/// The precision of the weights of LoRA adapters in mixed precision.
enum class AdapterPrecision {
  half,      ///< as the base
  fp32,      ///< fp32: kernels convert the tensors between an adapter and its base
  autocast,  ///< weights in fp32, and products in half precision under autocast
};
inline constexpr EnumNames<AdapterPrecision> adapter_precision_names{"half", "fp32", "autocast"};

/// What matrix products with quantized weights keep of their inputs for backward, although frozen weights do not need them.
enum class QuantizedInputs {
  none,  ///< nothing
  /// the input, as bitsandbytes up to 0.43.1 does [bitsandbytes/autograd/_functions.py, MatMul4Bit: `ctx.tensors = (A, B)`,
  /// which pull request 1270 removed]
  half,
  /// a copy of its own in fp32, if that version also computes in fp32 [bitsandbytes/nn/modules.py, set_compute_type]
  fp32,
};
inline constexpr EnumNames<QuantizedInputs> quantized_inputs_names{"none", "half", "fp32"};

/// What attention keeps of its inputs for backward.
enum class AttentionInputs {
  own,  ///< queries, keys and values, each in memory of its own
  /// keys and values in a copy for each head of queries [Hugging Face, transformers, models/llama/modeling_llama.py,
  /// repeat_kv; pytorch/torchtitan, models/llama3/model.py, repeat_kv; pytorch/torchtune, modules/attention.py, expand]
  repeated,
  /// with rotary positions, values are a part of one matrix's joined result, so this result is kept, with queries and keys
  /// before their rotation [Lightning-AI/litgpt, litgpt/model.py, CausalSelfAttention; transformers, models/gpt_neox]
  joined,
};
inline constexpr EnumNames<AttentionInputs> attention_inputs_names{"own", "repeated", "joined"};

/// How a router's tokens are spread over experts.
enum class Routing {
  balanced,     ///< each expert gets the same number of tokens, as benchmarks force it
  natural,      ///< a trained router, balanced by an auxiliary loss
  loss_free,    ///< a trained router, balanced by a bias for each expert
  consecutive,  ///< each expert gets the same number of tokens, and the experts of a token are consecutive, without a router
};
inline constexpr EnumNames<Routing> routing_names{"balanced", "natural", "loss-free", "consecutive"};

/// In which formats the weights of fp8 training are in memory.
enum class NarrowWeights {
  copies,   ///< in half precision, and copies in fp8
  primary,  ///< in fp8 alone, as with NeMo's fp8_params and Megatron Core's --fp8-param-gather
};
inline constexpr EnumNames<NarrowWeights> narrow_weights_names{"copies", "primary"};

/// The format of frozen weights of matrix products inside blocks. Kernels read a copy in the precision of the plan, which
/// exists while its layer runs [Dettmers et al., "QLoRA", 2023, section 3].
enum class BaseWeights {
  half,        ///< half precision
  nf4,         ///< 4 bits, and a scale of 4 bytes for 64 weights
  nf4_double,  ///< nf4 with scales of 8 bits, and a scale of 4 bytes for 256 scales: double quantization
  int8,        ///< 8 bits, and a scale for each row [Dettmers et al., "LLM.int8()", NeurIPS 2022]
  fp8,         ///< 8 bits
  mxfp4,       ///< 4 bits, and a scale of 8 bits for 32 weights
};
inline constexpr EnumNames<BaseWeights> base_weights_names{"half", "nf4", "nf4-double", "int8", "fp8", "mxfp4"};

/// The precision of a copy of the weights or of the optimizer's moments in mixed precision.
enum class StatePrecision { fp32, half, fp8, none };
inline constexpr EnumNames<StatePrecision> state_precision_names{"fp32", "half", "fp8", "none"};

/// The layers that selective recomputation recomputes.
enum class SelectiveRecompute {
  attention,  ///< attention between its input and output projections [Kort22, section 5]
  products,   ///< all layers of a block except attention and the first of every two matrix products, as in torchtitan
};
inline constexpr EnumNames<SelectiveRecompute> selective_recompute_names{"attention", "products"};

/// How ranks compress the gradients that they exchange.
enum class Compression { none, fp16, bf16, int8, int4, one_bit, top_k, power_sgd };
inline constexpr EnumNames<Compression> compression_names{"none", "fp16", "bf16", "int8",
                                                          "int4", "1bit", "topk", "powersgd"};

/// Which samples the nodes copy to their disks before the training.
enum class Staging {
  none,    ///< none: samples are read where the machine file says
  whole,   ///< each node copies all samples
  shards,  ///< each node copies the samples of its ranks
};
inline constexpr EnumNames<Staging> staging_names{"none", "whole", "shards"};

/// For whom a data-parallel worker waits before its next step. A worker is a replica of the model.
enum class Synchronization {
  sync,          ///< for all workers, in each step
  stale,         ///< with parameter servers, for workers that are more than `staleness` steps behind [Ho et al., NIPS 2013]
  async,         ///< with parameter servers, for no worker [Dean et al., "Large scale distributed deep networks", NIPS 2012]
  gossip,        ///< for its neighbors on a graph, with which it averages weights [Lian et al., NIPS 2017, D-PSGD]
  async_gossip,  ///< for no worker; it averages weights with one neighbor [Lian et al., ICML 2018, AD-PSGD]
};
inline constexpr EnumNames<Synchronization> synchronization_names{"sync", "stale", "async", "gossip", "async-gossip"};

/// Which effects the estimate takes into account. The defaults are the physical model; ideal_assumptions() is the projection
/// of [ParaDL, Table III].
struct Assumptions {
  bool linear_kernels = false;  ///< a layer split into p parts takes 1/p of its time, even if it is replicated
  bool contention = true;       ///< φ: concurrent flows share the links that they cross
  /// exchanges are predicted through the host if the measured software routes them through the host
  bool host_staging = true;
  bool overlap = true;              ///< gradient communication is overlapped with backward if the software overlaps it
  bool host_launch = true;          ///< the device waits for a host that launches kernels one by one
  bool last_layer_exchange = true;  ///< filter and channel splits also exchange the last layer's output
  bool slot_pipeline = false;       ///< every slot of a pipeline is as long as the longest stage
  bool ring_only = false;           ///< every collective is one flat ring
  bool optimizer_slots = true;      ///< memory counts the optimizer's state
  /// The memory reuse factor γ. If γ is set, memory is [ParaDL]'s 2γδ Σ(B(|x|+|y|)+|w|) bytes. If unset, memory is the sum
  /// of the tensors that are kept for backward.
  std::optional<double> memory_reuse;
  MixedPrecision mixed_precision = MixedPrecision::half_gradients;
  NarrowWeights narrow_weights = NarrowWeights::copies;
  std::optional<BaseWeights> base;  ///< the format of frozen weights; unset: that of trained weights
  /// The precision of the master copy of the weights and of the optimizer's moments; unset: of `mixed_precision` [NVIDIA,
  /// Megatron Core, --use-precision-aware-optimizer, --main-params-dtype, --exp-avg-dtype].
  std::optional<StatePrecision> master_weights, moments;
  /// Whether gated activation functions keep their inputs in fp8 for backward [NVIDIA, Megatron Core,
  /// megatron/core/transformer/transformer_config.py, activation_func_fp8_input_store].
  bool fp8_activation_inputs = false;
  /// Whether the router's weights multiply the inputs of the experts' last product, and not its outputs, so that backward
  /// does not need the outputs [NVIDIA, Megatron Core, commit 2659630721 of April 2025, "Memory efficient token
  /// permutation": megatron/core/transformer/moe/experts.py, weighted_bias_swiglu_impl].
  bool weighs_activations = false;
  /// Whether the allocator's segments grow and shrink [PyTorch, docs, "CUDA semantics", PYTORCH_ALLOC_CONF:
  /// expandable_segments].
  bool expandable_segments = false;
  /// Whether ZeRO-3 gathers whole blocks, as FSDP does: the current block, the next block, and the layers outside blocks
  /// (most_gathered). Otherwise the largest layer is gathered, and the upper bound of the memory has whole blocks.
  bool gathers_units = false;
  /// Whether ranks add up whole gradients of several micro-batches before they exchange them, although ZeRO shards gradients
  /// [PyTorch, torch/distributed/fsdp/fully_sharded_data_parallel.py, no_sync; accelerate, src/accelerate/accelerator.py,
  /// accumulate].
  bool accumulates_whole = false;
  /// Whether the outputs of experts are converted to fp32 before they are multiplied by the router's weights [torchtitan,
  /// torchtitan/models/moe/moe.py, MoE.forward]. This adds memory. The time of the conversions is not counted.
  bool wide_combine = false;
  /// Whether tokens travel to experts, and gradients of the experts' outputs back to them, in 8 bits with a scale of 4 bytes
  /// for 128 elements [DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, section 3.3.3]. The outputs of
  /// experts, and gradients of the tokens, travel in half precision.
  bool fp8_dispatch = false;
  /// Whether backward recomputes elementwise operations and norms from tensors that are kept anyway, as the partitioner of
  /// torch.compile does [Horace He, "Min-cut optimal(*) recomputation with AOTAutograd", PyTorch developer forum, 2022].
  bool recomputes_elementwise = false;
  /// Whether full recomputation leaves out the layers at the end of a block whose results backward does not need
  /// (ModelFacts::spared) [PyTorch, torch/utils/checkpoint.py, set_checkpoint_early_stop; XLA, HloDCE].
  bool recompute_stops_early = false;
  /// Whether tensor-parallel ranks keep a gathered input of a matrix product for backward, instead of the shard that they
  /// gather again [Korthikanti et al., 2022, section 4.2.2, gathers again].
  bool keeps_gathered = false;
  /// Whether ZeRO-3 copies gathered weights to tensors of their own, and gradients to the message of a scatter.
  bool copies_gathered = false;
  /// Whether ranks that keep whole gradients copy them to the message of an Allreduce, and sums back from it.
  bool copies_gradients = false;
  std::optional<GradientSums> gradient_sums;  ///< unset: the precision in which gradients are stored
  CrossEntropy cross_entropy = CrossEntropy::operators;
  /// Whether `operators` of cross entropy run on parts of the vocabulary with tensor parallelism, and keep one fp32 tensor
  /// more [PyTorch, torch/distributed/tensor/parallel/loss.py, loss_parallel].
  bool loss_parallel = false;
  MemoryFormat memory_format = MemoryFormat::channels_last;
  Fusing fusing = Fusing::none;
  CompiledSums compiled_sums = CompiledSums::blocks;
  PaddedProducts padded_products = PaddedProducts::none;
  CompositeKernels composites = CompositeKernels::fused;
  SinkKernels sinks = SinkKernels::fused;
  /// Whether attention reads a mask, as if a sample has padding, instead of hiding later tokens by their position.
  bool reads_mask = false;
  /// Whether the softmax of attention that writes its scores runs in fp32, and a kernel converts its result, as in decoders
  /// of Hugging Face [transformers, models/llama/modeling_llama.py, eager_attention_forward]. Autocast always does so.
  bool wide_softmax = false;
  /// If tensors are channels-last, 3D convolutions in fp32 and tf32 transpose their inputs and outputs [TensorFlow,
  /// tensorflow/core/kernels/conv_ops_3d.cc and conv_grad_ops_3d.cc: NHWCToNCHW, NCHWToNHWC], in addition to the copies of
  /// `memory_format`.
  bool copies_volumes = false;
  /// Batch norms with half-precision weights run the framework's own kernels, which move as many elements per second as in
  /// fp32 [PyTorch, aten/src/ATen/native/Normalization.cpp: cuDNN's kernels run if the weights are in fp32].
  bool own_half_norms = false;
  NormSums norm_sums = NormSums::device;
  BiasKernels convolution_biases = BiasKernels::fused;
  BiasKernels linear_biases = BiasKernels::fused;  ///< biases of linear layers and of depthwise convolutions
  /// The kernels of the biases of the last layer of experts. The router's weights multiply these biases and the products.
  ExpertBiases expert_biases = ExpertBiases::fused;
  AdapterPrecision adapters = AdapterPrecision::half;
  QuantizedInputs quantized_inputs = QuantizedInputs::none;
  AttentionInputs attention_inputs = AttentionInputs::own;
  SelectiveRecompute selective = SelectiveRecompute::attention;
  std::optional<AttentionKernels> attention;  ///< unset: the kernels that the device's coefficients were fitted to
  /// How the framework runs the optimizer's step. The update of a part of the model is assumed to take the same share of the
  /// update time of the whole model.
  UpdateImplementation update = UpdateImplementation::layer;
  /// In mixed precision, the bytes per parameter that are moved in addition to the optimizer's kernel: by unscaling
  /// gradients, their norm, clipping, and copies to half precision.
  double extra_update_bytes = 0;
  /// Whether the software is PyTorch before 2.0 with CUDA before 11.7. If so, gradients are filled with zeros after the
  /// update and keep their memory (`set_to_none` was off [PyTorch docs, torch.optim.Optimizer.zero_grad, 1.12 and 2.0]). All
  /// kernels of the libraries are loaded at once (CUDA 11.7 brought lazy loading [CUDA C++ programming guide, "Lazy
  /// Loading"]).
  bool older_framework = false;
  /// The number of communicators that a framework creates but a plan does not use: for unused groups, and for groups of one
  /// rank.
  int idle_communicators = 0;
  /// Bytes of other models on each device, which the step only reads: frozen text encoders of a diffusion model, a reference
  /// or reward model.
  double other_models = 0;
  /// Whether each rank of FSDP gathers all weights on its device when it saves them [PyTorch docs, FullStateDictConfig:
  /// without offload_to_cpu, each parameter is cloned on the device].
  bool saves_whole = false;
  /// Whether backward updates each weight as soon as its gradient exists, and frees the gradient [Lv et al., "Full parameter
  /// fine-tuning for large language models with limited resources", 2023; PyTorch tutorials, "How to save memory by fusing
  /// the optimizer step into the backward pass"].
  bool updates_in_backward = false;
  /// Tiles of tokens in which backward recomputes an MLP, and forward computes it [Bekman et al., "Arctic long sequence
  /// training", 2025, section 3.1, TiledMLP]. 0: as many as make a tile as long as the hidden size. Unset: no tiles.
  std::optional<double> mlp_tiles{};
  /// Whether the update consists of operators of a graph, whose executor runs each operator as soon as its inputs exist
  /// (early_update_bytes).
  bool graph_update = false;
  /// Whether the allocator takes the device's memory at the start, except a share that is left to libraries (context_bytes).
  bool takes_device = false;
  /// Before the update of ZeRO-1 and -2 in half precision, a rank concatenates the gradients of its shard into one tensor,
  /// and copies this tensor to fp32 [DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py, step].
  bool flat_gradients = false;
  /// Whether a stage of a pipeline keeps activations after sending them to the next stage, until the backward of their
  /// micro-batch [DeepSpeed, deepspeed/runtime/pipe/engine.py].
  bool keeps_sent = false;
  /// Whether the engine creates communicators in addition to those of the axes: for all ranks, for the ranks of one replica,
  /// for neighboring stages, and for the first and the last stage [DeepSpeed, deepspeed/runtime/pipe/engine.py, topology.py
  /// and p2p.py].
  bool engine_groups = false;
  /// The algorithm of all gradient exchanges; unset if the user has not set it.
  std::optional<AllreduceAlgorithm> allreduce;
  double parameter_servers = 1;  ///< number of parameter servers s
  double sparse_density = 0.01;  ///< share of the gradients that a sparse Allreduce sends
  /// Exchange times are predicted at this number of standard deviations above their median. Congestion coefficients and
  /// repeated measurements give the standard deviation. Unset: the median of a job that is alone.
  std::optional<double> congestion_quantile;
  /// Whether gradients of embeddings have only the rows that a step looked up, also where every rank has the whole table
  /// [PyTorch docs, torch.nn.Embedding, `sparse`; TensorFlow, tf.IndexedSlices].
  bool sparse_gradients = false;
  /// Whether one kernel looks up the rows of all tables that a rank holds parts of, and one kernel adds up their gradients
  /// [FBGEMM, "Table batched embedding", fbgemm_gpu/split_table_batched_embeddings_ops_training.py; HugeCTR,
  /// HybridSparseEmbedding].
  bool batched_lookups = false;
  /// Whether the exchanges of tables overlap with layers that precede the tables' readers and read no table: HugeCTR has a
  /// separate stream for these exchanges [NVIDIA, HugeCTR, pybind/model_pipeline, `train_intra_iteration_overlap`].
  bool overlaps_table_exchanges = false;
  /// The share of lookups that read the most frequent hundredth of a table's rows, which are as frequent as a Zipf
  /// distribution says; 0: all rows are equally frequent.
  double frequent_lookups = 0;
  /// Whether the stages of a pipeline start the next step without waiting for each other. They keep an older version of
  /// their weights for the micro-batches in flight [Narayanan et al., "PipeDream", SOSP 2019, section 3.3, weight stashing;
  /// "Memory-efficient pipeline-parallel DNN training", ICML 2021, section 3.1, PipeDream-2BW].
  bool weight_versions = false;
  /// The number of pieces in which the stages of a pipeline pass on the tokens of a sample (layers/token_pieces.hpp).
  double token_pieces = 1;
  /// The number of steps that ranks, or shard groups, run alone between two exchanges: local SGD [Stich, ICLR 2019] and
  /// DiLoCo [Douillard et al., arXiv 2311.08105].
  double local_steps = 1;
  /// Parts of the weights that local steps exchange one after the other, and the steps of compute that hide the exchange of
  /// one part: Streaming DiLoCo [Douillard et al., arXiv 2501.18512, sections 2.1 and 2.2].
  double local_fragments = 1, local_overlap = 0;
  Compression compression = Compression::none;
  double compression_density = 0.001;  ///< share of the gradients that `top_k` sends
  double compression_rank = 4;         ///< rank of the factors of `power_sgd`
  Synchronization synchronization = Synchronization::sync;
  double staleness = 1;  ///< steps that a worker may be ahead of the slowest one with `stale`
  double neighbors = 2;  ///< workers with which a worker averages its weights with `gossip`; 2: a ring
  /// Number of tokens of the busiest rank of an expert split, divided by the mean over ranks; unset: that of `routing`.
  std::optional<double> expert_imbalance;
  std::optional<Routing> routing;  ///< unset: balanced, and intervals include `natural`
  /// The largest number of tokens of an expert, divided by the mean. Further tokens are dropped. Unset: no token is dropped.
  std::optional<double> capacity_factor;
  bool padded_experts = false;  ///< whether each expert computes as many tokens as its capacity
  /// Kernel time of the slowest device, divided by the kernel time of the devices that wait for it;
  /// 1 if all are equally fast.
  double straggler = 1;
  SecondsPerByte add{};       ///< time to add one byte into a partial sum
  bool learned = true;        ///< uses factors that are fitted to measured runs of the software
  bool include_input = true;  ///< includes reading and staging of samples
  bool input_overlapped = true;
  /// Whether samples are images that hosts decode while they train; else they were decoded before, or devices decode them.
  bool decodes_images = false;
  InputMode input_mode = InputMode::every_rank;
  Staging staging = Staging::none;
  double exchanged_samples = 0;  ///< with `shards`: share of its samples that a rank exchanges in each epoch
  /// Steps between two decompositions of K-FAC, Shampoo, SOAP or GaLore; 0: the optimizer's default.
  double precondition_every = 0;
  double projection_rank = 128;         ///< rank of the projections of GaLore and APOLLO [jiaweizzhao/GaLore, README]
  Recovery recovery{};                  ///< failures and checkpoints of a whole training
  std::optional<double> power_limit{};  ///< power limit of each device in watts that the user sets; unset: the datasheet's
  double overhead_power = 1;            ///< PUE: power of the data center, divided by the power of its nodes
  std::optional<double> carbon{};       ///< grams of CO2 per kWh; unset if the user has not set it
};

/// Sets the kind of mixed precision, and the cross entropy that usually comes with it.
[[nodiscard]] inline Assumptions with_mixed_precision(Assumptions assumptions, MixedPrecision mixed) {
  assumptions.mixed_precision = mixed;
  if (sums_in_full(mixed)) assumptions.cross_entropy = CrossEntropy::in_place;
  return assumptions;
}

/// Returns the assumptions of [ParaDL, Table III]: one α/β level at a time, linear kernels, no overlap, no penalties.
[[nodiscard]] inline Assumptions ideal_assumptions() {
  Assumptions ideal;
  ideal.linear_kernels = true;
  ideal.contention = false;
  ideal.host_staging = false;
  ideal.overlap = false;
  ideal.host_launch = false;
  ideal.last_layer_exchange = false;
  ideal.slot_pipeline = true;
  ideal.ring_only = true;
  ideal.optimizer_slots = false;
  ideal.memory_reuse = 1.0;
  ideal.learned = false;
  ideal.include_input = false;
  return ideal;
}

}  // namespace ddl
