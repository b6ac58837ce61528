#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr EnumNames<Limit::Kind> limit_codes{"batch",
                                             "no_extents",
                                             "extent",
                                             "halo",
                                             "filters",
                                             "channels",
                                             "tensor_units",
                                             "stages",
                                             "schedule",
                                             "context",
                                             "heads",
                                             "experts",
                                             "tokens",
                                             "stage_blocks",
                                             "virtual_stages",
                                             "interleaving",
                                             "not_interleaved",
                                             "filled_bubbles",
                                             "shard_group",
                                             "whole_experts",
                                             "secondary_shards",
                                             "recompute_blocks",
                                             "recompute_modules",
                                             "tables",
                                             "local_steps",
                                             "allreduce",
                                             "compression",
                                             "synchronization",
                                             "whole_gradients",
                                             "weight_versions",
                                             "token_pieces",
                                             "no_host",
                                             "host_memory",
                                             "segment_choice",
                                             "segment_ranks",
                                             "segment_first",
                                             "segment_meshes",
                                             "segment_tiles",
                                             "devices",
                                             "not_finite",
                                             "memory"};

/// Describes a limit. `layer`: the name of the layer that causes the limit; empty if no layer does.
std::string limit_in_words(const Limit& limit, std::string_view model, std::string_view layer) {
  const std::string where = layer.empty() ? "" : fmt::format(" ({})", layer);
  switch (limit.kind) {
    case Limit::Kind::batch:
      return fmt::format("needs {:.0f} samples per step, but the global batch has {:.0f}", limit.wanted, limit.available);
    case Limit::Kind::no_extents:
      return fmt::format("{} has no spatial extents to split", model);
    case Limit::Kind::extent:
      return fmt::format("spatial degree {:.0f} exceeds the extent {:.0f} of the first split layer{}", limit.wanted,
                         limit.available, where);
    case Limit::Kind::halo:
      return fmt::format("a halo of {:.0f} is wider than the tile of {:.0f}{}", limit.wanted, limit.available, where);
    case Limit::Kind::filters:
      return fmt::format("filter degree {:.0f} exceeds min F = {:.0f}{}", limit.wanted, limit.available, where);
    case Limit::Kind::channels:
      return fmt::format("channel degree {:.0f} exceeds min C = {:.0f}{}", limit.wanted, limit.available, where);
    case Limit::Kind::tensor_units:
      return fmt::format("tensor degree {:.0f} exceeds the {:.0f} parts into which layers can be split{}", limit.wanted,
                         limit.available, where);
    case Limit::Kind::stages:
      return fmt::format("{:.0f} stages, but only {:.0f} layers with weights", limit.wanted, limit.available);
    case Limit::Kind::schedule:
      return fmt::format("{:.0f} micro-batches, but a replica has only {:.0f} samples", limit.wanted, limit.available);
    case Limit::Kind::context:
      if (limit.available == 0) return fmt::format("{} has layers other than attention that mix tokens", model);
      return fmt::format("context degree {:.0f} does not divide {:.0f} tokens into two equal pieces for each rank",
                         limit.wanted, limit.available);
    case Limit::Kind::heads:
      return fmt::format("{:.0f} ranks of context and tensor do not divide {:.0f} key-value heads", limit.wanted,
                         limit.available);
    case Limit::Kind::experts:
      if (limit.available == 0) return fmt::format("{} has no experts", model);
      return fmt::format("expert degree {:.0f} does not divide {:.0f} experts", limit.wanted, limit.available);
    case Limit::Kind::tokens:
      if (limit.available == 0) return fmt::format("{} has no tokens to shard between tensor-parallel layers", model);
      return fmt::format("sequence parallelism needs equal parts: tensor degree {:.0f} does not divide {:.0f} tokens",
                         limit.wanted, limit.available);
    case Limit::Kind::stage_blocks:
      return fmt::format("{:.0f} blocks on the first and last stage do not leave a block of {:.0f} for each other stage",
                         limit.wanted, limit.available);
    case Limit::Kind::virtual_stages:
      if (limit.available == 0)
        return fmt::format("the blocks of {} differ: they cannot be distributed to virtual stages", model);
      return fmt::format("{:.0f} virtual stages in total do not divide {:.0f} identical blocks", limit.wanted,
                         limit.available);
    case Limit::Kind::interleaving:
      return fmt::format(
          "the number of micro-batches of an interleaved pipeline must be a multiple of the stages: {:.0f} is not a "
          "multiple of {:.0f}",
          limit.available, limit.wanted);
    case Limit::Kind::not_interleaved:
      return "only 1F1B supports interleaved virtual stages";
    case Limit::Kind::filled_bubbles:
      return fmt::format("{} needs at least {:.0f} micro-batches{}; there are {:.0f}", limit.item, limit.wanted,
                         limit.item_bytes > 1 ? ", even numbers of micro-batches and stages, and at least 4 stages" : "",
                         limit.available);
    case Limit::Kind::shard_group:
      return fmt::format("shard groups of {:.0f} do not divide {:.0f} data-parallel ranks", limit.wanted, limit.available);
    case Limit::Kind::secondary_shards:
      if (limit.available == 0) {
        return fmt::format(
            "secondary shards in groups of {:.0f} need ZeRO-3 (zero: 3) with reshard_after_forward, sharded among all "
            "data-parallel ranks and without offload",
            limit.wanted);
      }
      return fmt::format("groups of {:.0f} for secondary shards do not divide {:.0f} data-parallel ranks", limit.wanted,
                         limit.available);
    case Limit::Kind::whole_experts:
      if (limit.available == 0) return fmt::format("{} has no experts to distribute to tensor-parallel ranks", model);
      if (limit.wanted == 0) return "whole experts (expert-tensor-parallel size 1) need sequence parallelism";
      return fmt::format("{:.0f} ranks of expert and tensor do not divide {:.0f} experts", limit.wanted, limit.available);
    case Limit::Kind::recompute_blocks:
      return fmt::format("recompute_blocks needs full recomputation (recompute: full); it is {:.0f}", limit.wanted);
    case Limit::Kind::recompute_modules:
      if (limit.available > 0) return "the software recomputes every second matmul, and cannot select modules";
      if (!limit.item.empty()) return fmt::format("{} has no {} to recompute", model, limit.item);
      return "recompute_modules needs selective recomputation (recompute: selective)";
    case Limit::Kind::tables:
      if (limit.available == 0) return fmt::format("{} has no tables to distribute", model);
      if (!limit.item.empty()) return "hybrid tables need one lookup per sample and table, and pure data parallelism";
      if (limit.wanted > limit.available)
        return fmt::format("tables of {:.0f} columns for {:.0f} ranks", limit.available, limit.wanted);
      return "tables are distributed only by data parallelism without ZeRO and offload";
    case Limit::Kind::local_steps:
      return fmt::format(
          "{:.0f} local steps need replicas that no other axis shards: data without ZeRO, or shard groups of ZeRO",
          limit.wanted);
    case Limit::Kind::allreduce:
      return fmt::format("ZeRO-{:.0f} reduces and scatters gradients, so it has no allreduce to prescribe", limit.wanted);
    case Limit::Kind::compression:
      if (limit.available > 0) return fmt::format("ZeRO-{:.0f} cannot shard sparse gradients", limit.wanted);
      return fmt::format(
          "ZeRO-{:.0f} cannot scatter gradients in this compression; fp16, bf16, int8 and int4 can be scattered",
          limit.wanted);
    case Limit::Kind::synchronization:
      return "workers without a barrier are replicas of the model: data without ZeRO, with replicated tables";
    case Limit::Kind::whole_gradients:
      if (limit.item.empty()) return "galore and apollo project whole matrices: they need data parallelism without ZeRO";
      if (limit.wanted > 1) return "an update in backward needs the whole batch: it excludes gradient accumulation";
      if (limit.available > 1) return "an update in backward excludes pipeline stages";
      return "layer-wise updates of galore and apollo run on one replica";
    case Limit::Kind::weight_versions:
      return "older versions of weights need 1F1B, and exclude virtual stages, ZeRO-3 and offloading";
    case Limit::Kind::token_pieces:
      return "stages that pass tokens on in pieces need 1F1B or GPipe, and exclude virtual stages";
    case Limit::Kind::no_host:
      return "the machine file has no bandwidth to host memory (host: bandwidth)";
    case Limit::Kind::host_memory:
      return fmt::format("needs {} of host memory, but a host has {}", humanize(Bytes(limit.wanted)),
                         humanize(Bytes(limit.available)));
    case Limit::Kind::segment_choice:
      return fmt::format("plans whose layers are laid out, recomputed or sharded differently do not support {} yet",
                         limit.item);
    case Limit::Kind::segment_ranks:
      return fmt::format("the layout from layer {:.0f} on has {:.0f} ranks, but the first layers have {:.0f}",
                         limit.item_bytes, limit.wanted, limit.available);
    case Limit::Kind::segment_first:
      if (!limit.item.empty())
        return fmt::format("tables from t{:.0f} on, but the tables of {} are t0 to t{:.0f}", limit.wanted, model,
                           limit.available - 1);
      return fmt::format("a layout begins at layer {:.0f}, but {} has {:.0f} layers", limit.wanted, model, limit.available);
    case Limit::Kind::segment_meshes:
      return fmt::format("the layers have {:.0f} different layouts; at most {:.0f} are supported", limit.wanted,
                         limit.available);
    case Limit::Kind::segment_tiles:
      return fmt::format("a spatial layout cannot begin at a layer with too small tiles{}", where);
    case Limit::Kind::devices:
      return fmt::format("{:.0f} devices, but the machine has {:.0f}", limit.wanted, limit.available);
    case Limit::Kind::not_finite:
      return "the time or memory overflows: a value of the machine, the model or the coefficients is unrealistic";
    case Limit::Kind::memory:
      return fmt::format(
          "needs {} per device, which has {}: {} too much{}", humanize(Bytes(limit.wanted)),
          humanize(Bytes(limit.available)), humanize(Bytes(limit.wanted - limit.available)),
          limit.item.empty() ? "" : fmt::format("; {} of it {}", humanize(Bytes(limit.item_bytes)), limit.item));
  }
  return {};
}

}  // namespace

std::string describe(const Limit& limit, const Model& model) {
  const std::string_view layer =
      limit.layer < 0 ? std::string_view() : model.layers[static_cast<std::size_t>(limit.layer)].name;
  return limit_in_words(limit, model.name, layer);
}

std::string describe(const Limits& limits, const Model& model) {
  std::string text;
  for (const Limit& limit : limits) text += (text.empty() ? "" : "; ") + describe(limit, model);
  return text;
}

std::string describe(const Unpredictable& refusal) {
  if (const auto* words = std::get_if<std::string>(&refusal.reason)) return *words;
  const auto& [limit, model, layer] = std::get<BrokenLimit>(refusal.reason);
  return limit_in_words(limit, model, layer);
}

std::string_view code_of(Limit::Kind kind) { return limit_codes[kind]; }

}  // namespace ddl
