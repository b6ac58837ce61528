#include "estimator/strategies/shard_memory.hpp"

#include "estimator/inputs/base_weights.hpp"
#include "estimator/inputs/fusing.hpp"
#include "estimator/strategies/relayout.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

bool casts(const Plan& plan, const Assumptions& assumptions) {
  return is_mixed(plan.precision) && assumptions.mixed_precision == MixedPrecision::autocast;
}

double tensor_item_bytes(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions, int tensor) {
  constexpr double wide_bytes = 4;
  const bool is_wide = tensor < 0 || facts.autocast.is_wide[static_cast<std::size_t>(tensor)];
  return casts(plan, assumptions) && is_wide ? wide_bytes : item_bytes(plan.precision);
}

bool has_narrow_copies(Precision precision) { return is_narrow(precision) && precision != Precision::int8; }

double narrow_item_bytes(Precision precision) { return narrow_bits(precision) / 8.0 + 1.0 / scaled_items(precision); }

KeptForm kept_form(const Plan& plan, const Assumptions& assumptions) {
  if (casts(plan, assumptions)) return KeptForm::autocast;
  if (assumptions.recomputes_elementwise && !assumptions.memory_reuse) return KeptForm::compiled;
  if (assumptions.memory_reuse || !is_mixed(plan.precision)) return KeptForm::computed;
  if (has_narrow_copies(plan.precision)) return assumptions.fp8_activation_inputs ? KeptForm::stored : KeptForm::narrow;
  // Software that fuses additions after dropout also has a kernel for gated activations.
  const bool fuses = assumptions.fusing == Fusing::residuals || assumptions.fusing == Fusing::all;
  return fuses ? KeptForm::fused : KeptForm::computed;
}

bool is_mean_square_norm(const Operation& operation) {
  return operation.type() == "query_key_norm" ||
         (operation.type() == "norm" && operation.attribute_values().text("kind") == "rms");
}

KeptRules kept_rules(const Plan& plan, const Assumptions& assumptions) {
  return {kept_form(plan, assumptions), assumptions.weighs_activations};
}

namespace {

/// Copies that autocast makes of a layer's parameters and inputs, and that backward needs.
Bytes autocast_copies(const ShardContext& context, const LayerShard& shard) {
  constexpr double wide_bytes = 4;
  const double item = item_bytes(context.plan.precision);
  const AutocastTypes& types = context.facts.autocast;
  const bool reads_half = types.reads_half[context.index()];
  if (!reads_half && !types.reads_wide[context.index()]) return {};
  Bytes copies;
  if (reads_half) {
    // Frozen weights in a format of their own are in half precision, or are converted again for backward.
    const bool has_base = context.assumptions.base && context.facts.is_linear[context.index()] && context.at().block >= 0;
    copies = Bytes((shard.weights + shard.biases) * item * (has_base ? shard.trained_share : 1.0));
  }
  const double copied = reads_half ? item : wide_bytes;
  const Layer& layer = context.at();
  for (std::size_t i = 0; context.facts.kept[context.index()].input && i < layer.inputs.size(); ++i) {
    // The batch is in fp32.
    const bool is_copied =
        layer.inputs[i] < 0 ? reads_half : types.copies(context.index(), static_cast<std::size_t>(layer.inputs[i]));
    if (!is_copied) continue;
    const TensorShape& shape = i == 0 ? shard.kept_input : shard.inputs[i];
    copies += Bytes(static_cast<double>(shape.items()) * copied * shard.samples);
  }
  return copies;
}

Bytes copies_for_backward(const ShardContext& context, const LayerShard& shard) {
  switch (kept_form(context.plan, context.assumptions)) {
    case KeptForm::autocast:
      return autocast_copies(context, shard);
    case KeptForm::stored:
      // The kernel of an activation and a multiplication keeps an element of each of its two inputs.
      if (context.facts.is_gated[context.index()])
        return Bytes(static_cast<double>(shard.inputs.front().items()) * shard.samples);
      [[fallthrough]];
    case KeptForm::narrow:
      if (!context.facts.narrow_copies[context.index()]) return {};
      return Bytes(static_cast<double>(shard.kept_input.items()) * narrow_item_bytes(context.plan.precision) *
                   shard.samples);
    case KeptForm::computed:
    case KeptForm::compiled:
    case KeptForm::fused:
      break;
  }
  return {};
}

/// The additional memory that a layer keeps for backward if it runs operator by operator: inputs and outputs of its
/// operators [PyTorch, tools/autograd/derivatives.yaml]. A root-mean-square norm keeps the normalized input, to train its
/// weight. In half precision, it keeps its input in fp32 in place of half precision [Hugging Face, transformers,
/// modeling_llama.py, LlamaRMSNorm].
Bytes kept_by_operators(const ShardContext& context, const LayerShard& shard, const Kept& local) {
  const bool by_operators = context.assumptions.composites != CompositeKernels::fused &&
                            !fuses_elementwise(context.assumptions.fusing, is_mixed(context.plan.precision)) &&
                            kept_form(context.plan, context.assumptions) == KeptForm::computed;
  if (!by_operators || !context.facts.kept[context.index()].input) return {};
  const Operation& operation = *context.operation(shard);
  constexpr double half = 2;
  const double item = item_bytes(context.plan.precision);
  const bool is_norm = is_mean_square_norm(operation);
  const double kept = is_norm && shard.trained_share <= 0 ? 0 : local.operator_items * item;
  const double wider = is_norm && is_mixed(context.plan.precision) ? local.operator_items * half : 0;
  return Bytes((kept + wider) * shard.samples);
}

/// Whether adapters compute in fp32 in mixed precision.
bool computes_adapters_wide(const ShardContext& context) {
  return is_mixed(context.plan.precision) && context.assumptions.adapters == AdapterPrecision::fp32 &&
         !casts(context.plan, context.assumptions);
}

/// The additional memory that adapters in fp32 or with dropout keep for backward. Each adapter keeps the result of its first
/// product in fp32, and a copy of the input: in fp32, or in half precision if autocast converts it back for the product
/// [Hugging Face, PEFT, peft/tuners/lora/layer.py, Linear.forward, _cast_input_dtype]. The frozen base does not need the
/// input itself.
Bytes copies_of_adapters(const ShardContext& context, const LayerShard& shard, const Kept& local) {
  constexpr double wide = 4, half = 2;
  const Operation& operation = *context.operation(shard);
  const int adapters = operation.adapters();
  const bool drops = operation.drops_adapter_inputs(), is_half = is_mixed(context.plan.precision);
  const bool is_wide = is_half && context.assumptions.adapters != AdapterPrecision::half;
  if (adapters == 0 || (!is_wide && !drops)) return {};
  const bool is_autocast =
      casts(context.plan, context.assumptions) || context.assumptions.adapters == AdapterPrecision::autocast;
  const double each = !is_half ? item_bytes(context.plan.precision) : is_wide && !is_autocast ? wide : half;
  // Without dropout, the input that backward needs anyway is one of the copies.
  const double copies = static_cast<double>(shard.inputs.front().items()) * (adapters * each - (drops ? 0 : half));
  // DoRA keeps the result of the frozen matrix as it is, unless it multiplies the input after its dropout.
  const bool keeps_result = operation.adapter_kind() == AdapterKind::dora && !drops;
  const double widened =
      local.extra_items - (keeps_result ? operation.whole_matrices(shard.inputs, shard.output).outputs : 0);
  return Bytes((copies + (is_wide && !is_autocast ? widened * (wide - half) : 0)) * shard.samples);
}

/// The number of frozen weights of a shard in a format that kernels do not read.
double weights_to_convert(const ShardContext& context, const LayerShard& shard) {
  const std::optional<BaseWeights>& base = context.assumptions.base;
  const bool is_read = base == BaseWeights::half && is_mixed(context.plan.precision);
  const bool converts = base && !is_read && context.facts.is_linear[context.index()] && context.at().block >= 0;
  return converts ? shard.weights * (1 - shard.trained_share) : 0;
}

/// Adds the matrices of the size of W that adapters compute from their weights: DoRA the sum whose norm it takes, which it
/// frees, LoHa and LoKr a matrix that backward needs [huggingface/peft, tuners/lora/dora.py, loha/layer.py, lokr/layer.py].
void add_whole_matrices(const ShardContext& context, const LayerShard& shard, ShardMemory& memory) {
  const Operation& operation = *context.operation(shard);
  const Operation::WholeMatrices whole = operation.whole_matrices(shard.inputs, shard.output);
  if (whole.all <= 0) return;
  constexpr double wide_bytes = 4;
  const bool is_wide = computes_adapters_wide(context), is_needed = context.facts.needs_input_gradient[context.index()];
  const double each = is_wide ? wide_bytes : item_bytes(context.plan.precision);
  if (operation.adapter_kind() == AdapterKind::dora) {
    // A frozen matrix is copied if it is quantized, or if the adapters' input is in fp32.
    const double copy = is_wide || weights_to_convert(context, shard) > 0 ? 1 : 0;
    constexpr double of_norm = 3, of_results = 3;
    const double unit = whole.columns * whole.columns;
    const double results = of_results * whole.outputs / operation.adapters() * shard.samples;
    const double passing = std::max((of_norm - 1) * whole.largest, results);
    memory.scratch_forward += Bytes((unit + (1 + copy) * whole.largest + passing) * each);
    memory.scratch_backward += Bytes(results * each);
    if (operation.drops_adapter_inputs() && is_needed) memory.own += Bytes(copy * whole.all * each);
    return;
  }
  const bool is_product = operation.adapter_kind() == AdapterKind::loha;
  // The gradient of the input needs the matrix; the first layer's input has none if the embedding is frozen.
  if (is_needed) memory.own += Bytes(whole.all * each);
  memory.scratch_forward += Bytes((is_product ? 3 : 1) * whole.largest * each);
  memory.scratch_backward += Bytes((is_product ? 4 : 3) * whole.largest * each);
}

/// The inputs that products with quantized weights keep in addition (QuantizedInputs).
Bytes inputs_of_quantized(const ShardContext& context, const LayerShard& shard) {
  const QuantizedInputs kept = context.assumptions.quantized_inputs;
  if (kept == QuantizedInputs::none || !is_quantized(context.assumptions.base) || weights_to_convert(context, shard) <= 0)
    return {};
  // bitsandbytes keeps the input itself, which adapters in half precision keep anyway. A tensor that two products read, such
  // as the input of gate and up projections, counts twice. If counted once, the peak of LitGPT's Llama 2 7B is predicted 7 %
  // too low.
  const Operation& operation = *context.operation(shard);
  const bool is_kept = operation.adapters() > 0 && !operation.drops_adapter_inputs() &&
                       context.assumptions.adapters == AdapterPrecision::half;
  if (kept == QuantizedInputs::half && is_kept) return {};
  constexpr double wide = 4;
  const double each = kept == QuantizedInputs::fp32 ? wide : item_bytes(context.plan.precision);
  return Bytes(static_cast<double>(shard.inputs.front().items()) * each * shard.samples);
}

/// What backward of fused attention in half precision needs in addition: a sum of the gradients of queries in fp32 and, if
/// several heads share keys, gradients of keys and values for each head [Dao-AILab/flash-attention,
/// csrc/flash_attn/flash_api.cpp, mha_bwd: dq_accum, dk_expanded, dv_expanded; PyTorch,
/// aten/src/ATen/native/transformers/cuda/ flash_attn/flash_api.cpp, mha_bwd].
Bytes sums_of_attention(const ShardContext& context, const LayerShard& shard, bool on_processor) {
  const Operation& operation = *context.operation(shard);
  // Only fused attention keeps its output.
  if (on_processor || !is_mixed(context.plan.precision) || !operation.is_attention()) return {};
  if (!context.facts.kept[context.index()].output) return {};
  const AttributeValues values = operation.attribute_values();
  const std::int64_t heads = std::max<std::int64_t>(1, values.integer("heads", 1)), keys = values.integer("kv_heads", heads);
  const TensorShape& last = shard.inputs.back();
  const double value_size = static_cast<double>(shard.output.channels) / static_cast<double>(heads);
  // Queries have the head size of keys, which may differ from that of values. They may be a tensor of their own.
  const bool is_joined = shard.inputs.size() == 1;
  const double queries = is_joined ? (static_cast<double>(last.channels) - static_cast<double>(keys) * value_size) /
                                         static_cast<double>(heads + keys) * static_cast<double>(heads)
                                   : static_cast<double>(shard.inputs.front().channels);
  constexpr double wide = 4;
  const double sums = wide * queries * static_cast<double>(shard.output.positions());
  const double expanded = keys < heads ? static_cast<double>(last.positions()) *
                                             (queries + static_cast<double>(shard.output.channels)) *
                                             item_bytes(context.plan.precision)
                                       : 0;
  return Bytes((sums + expanded) * shard.samples);
}

/// What attention keeps of its inputs in addition to queries, keys and values (AttentionInputs).
Bytes more_attention_inputs(const ShardContext& context, const LayerShard& shard) {
  const AttentionInputs kind = context.assumptions.attention_inputs;
  // Recomputation of products saves the results of attention, and recomputes its inputs.
  const bool is_recomputed =
      context.plan.recompute == Recompute::selective && context.assumptions.selective == SelectiveRecompute::products;
  if (kind == AttentionInputs::own || is_recomputed) return {};
  const Operation& operation = *context.operation(shard);
  const bool is_rotary = operation.type() == "rotary_embedding", is_repeated = kind == AttentionInputs::repeated;
  if (is_repeated ? !operation.is_attention() : !is_rotary) return {};
  const std::vector<int>& inputs = context.at().inputs;
  const auto reads_matrix = [&] {
    return inputs.front() >= 0 && context.facts.is_linear[static_cast<std::size_t>(inputs.front())];
  };
  if (!is_repeated && !reads_matrix()) return {};
  const AttributeValues values = operation.attribute_values();
  const double heads = static_cast<double>(values.integer("heads", 0));
  const double keys = static_cast<double>(values.integer("kv_heads", 0));
  const double all = heads + 2 * (keys > 0 ? keys : heads);
  const double more = is_repeated ? 2 * (keys > 0 ? heads - keys : 0) : all - (keys > 0 ? keys : heads);
  if (heads <= 0 || more <= 0) return {};
  const double item = item_bytes(context.plan.precision);
  return Bytes(static_cast<double>(shard.inputs.front().items()) * more / all * item * shard.samples);
}

/// Changes the memory of a loss in half precision to that of the framework's cross entropy. `widening`: bytes of an element
/// in fp32, divided by its bytes in half precision.
void add_wide_loss(const ShardContext& context, double widening, ShardMemory& memory) {
  const Bytes wide = memory.scratch_backward * widening;
  switch (context.assumptions.cross_entropy) {
    case CrossEntropy::operators:
      if (!context.facts.widens_logits && !casts(context.plan, context.assumptions)) {
        memory.own -= wide - memory.scratch_backward;
        break;
      }
      // Forward copies the input to fp32. Backward converts the second of two fp32 gradients.
      memory.scratch_forward = wide;
      memory.scratch_backward = wide * 2.0;
      // Operators on parts of the vocabulary keep one tensor more: the shifted logits in forward, and a sum in backward
      // [PyTorch, torch/distributed/tensor/parallel/loss.py, _log_softmax, _nll_loss_and_log_softmax_backward].
      if (context.assumptions.loss_parallel && context.plan.mesh[Axis::tensor] > 1) {
        memory.scratch_forward += wide;
        memory.scratch_backward += wide;
      }
      break;
    case CrossEntropy::in_place:
      memory.scratch_forward = memory.scratch_backward = Bytes{};
      break;
    case CrossEntropy::compiled:
      memory.scratch_forward = wide;
      memory.scratch_backward = Bytes{};
      break;
    case CrossEntropy::fused:
      // The loss keeps its input in the input's precision, and does not keep the softmax in fp32.
    case CrossEntropy::linear:
      memory.own -= wide - memory.scratch_backward;
      memory.scratch_forward = memory.scratch_backward = Bytes{};
      break;
  }
}

}  // namespace

double converted_bytes(const ShardContext& context, const LayerShard& shard) {
  const double weights = weights_to_convert(context, shard);
  return weights > 0 ? weights * (base_item_bytes(*context.assumptions.base) + item_bytes(context.plan.precision)) : 0;
}

ShardMemory shard_memory(const ShardContext& context, const LayerShard& shard, bool on_processor) {
  constexpr double statistic_bytes = 4, noise_bytes = 4, wide_bytes = 4;
  ShardMemory memory;
  const Operation& operation = *context.operation(shard);
  const double item = item_bytes(context.plan.precision);
  const Kept& whole = context.facts.kept[context.index()];
  if (whole.mask_items > 0 || whole.extra_items > 0 || whole.operator_items > 0 || whole.statistics > 0 ||
      whole.batch_statistics > 0 || operation.adapters() > 0) {
    const Kept local = operation.kept(shard.inputs, shard.output);
    const double masks = local.mask_items + (on_processor ? (noise_bytes - 1) * local.noise_items : 0.0);
    // A softmax in fp32 writes fp32, and the following matrix product reads a copy. With dropout between both, the copy is
    // what dropout writes, which is among the extra elements.
    const bool is_wide =
        casts(context.plan, context.assumptions) || (context.assumptions.wide_softmax && is_mixed(context.plan.precision));
    const double softmax = is_wide ? local.softmax_items : 0;
    const double converted = local.noise_items > 0 ? softmax : 0;
    memory.own = Bytes((masks + (local.extra_items - converted) * item + softmax * wide_bytes) * shard.samples);
    memory.own += kept_by_operators(context, shard, local) + copies_of_adapters(context, shard, local);
    memory.statistics = Bytes((local.statistics * shard.samples + local.batch_statistics) * statistic_bytes);
  }
  memory.own += inputs_of_quantized(context, shard) + more_attention_inputs(context, shard);
  memory.copies = copies_for_backward(context, shard);
  const auto scratch = [&](Pass pass) {
    return Bytes(operation.scratch_items(pass, shard.inputs, shard.output) * item * shard.samples);
  };
  memory.scratch_forward = scratch(Pass::forward);
  memory.scratch_backward = scratch(Pass::backward_data);
  memory.scratch_backward += sums_of_attention(context, shard, on_processor);
  if (is_mixed(context.plan.precision) && operation.type() == "loss") add_wide_loss(context, wide_bytes / item, memory);
  if (context.assumptions.wide_combine && is_mixed(context.plan.precision) && operation.type() == "combine") {
    // Forward keeps an fp32 copy instead of the half-precision output, and writes their product with the weights. Backward
    // has the fp32 gradient of this product, and its products with the weights and with the copy.
    const Bytes routed(static_cast<double>(shard.inputs.front().items()) * shard.samples);
    memory.own += routed * (wide_bytes - item);
    memory.scratch_forward += routed * wide_bytes;
    memory.scratch_backward += routed * (3 * wide_bytes);
  }
  const Bytes converted(weights_to_convert(context, shard) * item);
  memory.scratch_forward += converted;
  memory.scratch_backward += converted;
  add_whole_matrices(context, shard, memory);
  for (const Exchange& exchange : shard.exchanges) {
    const Bytes exchanged(exchange.items * static_cast<double>(exchange.messages) * item * shard.samples);
    const bool forward = exchange.phase == Phase::forward;
    if (exchange.purpose == Purpose::halo) {
      if (exchange.operation == Collective::point_to_point) {
        // A tile is copied together with its halo.
        if (!forward) {
          memory.scratch_backward += exchanged;
        } else {
          (whole.input ? memory.gathered : memory.scratch_forward) += exchanged;
        }
      } else if (exchange.operation == Collective::allgather && forward) {
        (whole.input ? memory.gathered : memory.scratch_forward) += exchanged;
      }
    } else if (exchange.operation == Collective::allgather && exchange.subject != Subject::other) {
      // The whole tensor and the rank's slice are separate. One of the two may already be included.
      const auto bytes = [&](const TensorShape& shape) {
        return Bytes(static_cast<double>(shape.items()) * item * shard.samples);
      };
      const bool of_output = exchange.subject == Subject::output;
      // A gathered input that stays is the kept input of the layer.
      const bool stays =
          forward && !of_output && whole.input &&
          (context.assumptions.keeps_gathered || (context.borders != nullptr && context.borders->has_exchanges()));
      if (!stays)
        (forward ? memory.scratch_forward : memory.scratch_backward) +=
            bytes(of_output ? shard.output : shard.inputs.front());
    }
  }
  // An input that is gathered from another mesh is a tensor of its own.
  for (std::size_t i = 0; i < shard.inputs.size(); ++i) {
    if (!gathers_input(context, i)) continue;
    const Bytes bytes(static_cast<double>(shard.inputs[i].items()) * item * shard.samples);
    const bool stays = whole.input || operation.is_view() || operation.in_place();
    (stays ? memory.gathered : memory.scratch_forward) += bytes;
  }
  return memory;
}

}  // namespace ddl
