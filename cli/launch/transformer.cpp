#include "cli/launch/transformer.hpp"

#include <fmt/format.h>

#include "cli/launch/network_of.hpp"

namespace ddl {

std::optional<Transformer> transformer_of(const Model& model) {
  const bool is_gpt = model.family == "gpt", is_llama = model.family == "llama";
  if (!is_gpt && !is_llama) return std::nullopt;
  if (model.family_parameter("head") != "language_model") return std::nullopt;
  const auto number = [&](std::string_view name) { return family_number(model, name); };
  Transformer all;
  all.is_llama = is_llama;
  all.layers = number("layers");
  all.hidden = number("hidden");
  all.feed_forward = number("feed_forward");
  all.heads = number("heads");
  all.vocabulary = number("vocabulary");
  all.tokens = number("tokens");
  all.positions = is_gpt ? number("positions") : all.tokens;
  all.kv_heads = is_gpt ? all.heads : number("kv_heads");
  all.head_size = is_gpt ? all.hidden / all.heads : number("head_size");
  all.experts = is_gpt ? 1 : number("experts");
  all.active = is_gpt ? 1 : number("active");
  all.window = is_gpt ? 0 : number("window");
  all.is_tied = family_flag(model, "tied");
  all.has_query_key_norm = family_flag(model, "query_key_norm");
  all.has_qkv_bias = family_flag(model, "qkv_bias");
  all.dropout = model.family_parameter("dropout");
  all.attention_dropout = is_gpt ? model.family_parameter("attention_dropout") : all.dropout;
  return all;
}

std::int64_t layers_per_stretch(const Plan& plan, const Transformer& transformer) {
  return transformer.layers / (std::int64_t{plan.mesh[Axis::pipeline]} * plan.virtual_stages);
}

std::optional<CannotLaunch> megatron_refuses(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  constexpr Family run = family_bit(Axis::data) | family_bit(Axis::tensor) | family_bit(Axis::pipeline) |
                         family_bit(Axis::context) | family_bit(Axis::expert);
  if (std::optional<CannotLaunch> lacks = lacks_axes(plan, run)) return lacks;
  const std::optional<Transformer> model = transformer_of(request.study.model());
  if (!model) {
    return CannotLaunch{
        fmt::format("its files support GPT-like and Llama-like decoders, not {}", request.study.model().name)};
  }
  if (std::optional<CannotLaunch> lacks = lacks_frozen_parts(request)) return lacks;
  if (std::optional<CannotLaunch> lacks = lacks_offload(plan, {Offload::optimizer})) return lacks;
  if (plan.precision == Precision::tf32 || plan.precision == Precision::fp32)
    return CannotLaunch{"its files use mixed precision: --precision bf16"};
  if (plan.optimizer != Optimizer::adam && plan.optimizer != Optimizer::adamw && plan.optimizer != Optimizer::sgd &&
      plan.optimizer != Optimizer::momentum) {
    return CannotLaunch{fmt::format("it has Adam and SGD, not {}", to_string(plan.optimizer))};
  }
  if (plan.zero_stage >= 2)
    return CannotLaunch{fmt::format("its distributed optimizer is ZeRO-1, but the plan has ZeRO-{}", plan.zero_stage)};
  if (plan.shard_group != 0) return CannotLaunch{"its distributed optimizer shards among all data-parallel ranks"};
  if (plan.mesh[Axis::pipeline] > 1 && plan.schedule != Schedule::one_forward_one_backward)
    return CannotLaunch{fmt::format("its pipelines run 1F1B, but the plan has {}", to_string(plan.schedule))};
  const std::int64_t stretches = std::int64_t{plan.mesh[Axis::pipeline]} * plan.virtual_stages;
  if (model->layers % stretches != 0) {
    return CannotLaunch{fmt::format("{} layers do not divide into {} equal stages", model->layers, stretches)};
  }
  if (plan.global_batch % (plan.mesh.batch_parts() * plan.micro_batches) != 0)
    return CannotLaunch{"the global batch does not divide into equal micro-batches"};
  return std::nullopt;
}

}  // namespace ddl
