#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/facts/recompute_modules.hpp"
#include "estimator/plan/mesh.hpp"
#include "estimator/schedules/schedule.hpp"
#include "model_zoo/network/optimizer.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// The activations that backward recomputes: none, the activations of some modules of each block,
/// or all activations inside each block.
enum class Recompute { none, selective, full };
template <>
inline constexpr EnumNames<Recompute> enum_names<Recompute>{"none", "selective", "full"};

/// How the ranks of a context split exchange the inputs of attention. `ring`: keys and values are passed round in a ring
/// [Liu24]. `ulysses`: each rank gathers all tokens of some heads, and redistributes the results [Jac23].
enum class ContextExchange { ring, ulysses };
template <>
inline constexpr EnumNames<ContextExchange> enum_names<ContextExchange>{"ring", "ulysses"};

/// How data-parallel ranks hold the tables of a recommendation model. `replicated`: every rank has all tables. `whole`: each
/// table is on one rank. `rows`, `columns`: each rank has some rows or columns of every table [Mudigere et al.,
/// "Software-hardware co-design for fast and scalable training of deep learning recommendation models", ISCA 2022, section
/// 4.2: table-wise, row-wise, column-wise and data-parallel sharding]. `hybrid`: every rank has the frequent rows of every
/// table, and some of the other rows [NVIDIA, HugeCTR, HybridEmbeddingParam].
enum class Tables { replicated, whole, rows, columns, hybrid };
template <>
inline constexpr EnumNames<Tables> enum_names<Tables>{"replicated", "whole", "rows", "columns", "hybrid"};

/// What is offloaded to host memory. `optimizer`: the optimizer state, which CPUs update [Ren et al., "ZeRO-Offload:
/// democratizing billion-scale model training", USENIX ATC 2021]. `weights`: also the weights, which are fetched for each
/// use [Rajbhandari et al., "ZeRO-Infinity", SC 2021].
enum class Offload { none, optimizer, weights };
template <>
inline constexpr EnumNames<Offload> enum_names<Offload>{"none", "optimizer", "weights"};

/// The axes in the order in which ranks are numbered along them, innermost first. Ranks along the first axes are neighbors
/// inside a node.
using Placement = std::array<Axis, axis_count>;

/// A segment of layers that are laid out on a mesh of their own, over the same ranks: the layers from `first` on, up to the
/// next segment.
struct LayerSegment {
  int first = 0;
  Mesh mesh;

  friend bool operator==(const LayerSegment&, const LayerSegment&) = default;
  friend auto operator<=>(const LayerSegment&, const LayerSegment&) = default;
};

/// The way to hold the tables of a recommendation model from the table `first` on, up to the next segment.
struct TableSegment {
  int first = 0;
  Tables tables = Tables::replicated;

  friend bool operator==(const TableSegment&, const TableSegment&) = default;
  friend auto operator<=>(const TableSegment&, const TableSegment&) = default;
};

/// Blocks of layers that keep or recompute their activations: those from the layer `first` on, up to the next segment.
struct RecomputeSegment {
  int first = 0;
  bool again = false;  ///< whether backward recomputes the blocks

  friend bool operator==(const RecomputeSegment&, const RecomputeSegment&) = default;
  friend auto operator<=>(const RecomputeSegment&, const RecomputeSegment&) = default;
};

/// Layers whose parameters ZeRO shards with a stage of their own: those from the layer `first` on, up to the next segment.
struct ZeroSegment {
  int first = 0;
  int stage = 0;  ///< as Plan::zero_stage

  friend bool operator==(const ZeroSegment&, const ZeroSegment&) = default;
  friend auto operator<=>(const ZeroSegment&, const ZeroSegment&) = default;
};

/// One way to train a model: the mesh of ranks and all other choices. A plan is a point in the
/// search space. An Estimate contains the cost of a plan.
struct Plan {
  Mesh mesh;
  std::int64_t global_batch = 1;   ///< global batch B, in samples per step
  std::int64_t micro_batches = 1;  ///< number S of micro-batches that a rank divides its samples of the global batch into
  Schedule schedule = Schedule::one_forward_one_backward;
  Placement placement = all_axes;
  int zero_stage = 0;  ///< what ZeRO shards: 0 nothing, 1 optimizer state, 2 also gradients, 3 also weights
  /// The number of data ranks among which ZeRO shards; 0: all data ranks. Smaller groups hold copies of equal shards (HSDP).
  int shard_group = 0;
  /// Whether the weights that ZeRO-3 gathers for forward are freed after forward, and gathered again for backward [PyTorch,
  /// fully_shard, `reshard_after_forward`]. Otherwise the weights stay in memory until backward has used them.
  bool reshard = true;
  /// The number of data ranks among which ZeRO-3 holds secondary shards of the weights (hpZ); 0 or
  /// 1: no secondary shards. After the first gather of a step, weights are gathered from secondary
  /// shards, among the ranks of a node [Wang et al., "ZeRO++", arXiv 2306.10209, section 3.2].
  int secondary_shards = 0;
  Recompute recompute = Recompute::none;
  /// With full recomputation, the number of recomputed blocks at the beginning of each model chunk
  /// of a stage; 0: all blocks. The other blocks keep what backward needs [NVIDIA, Megatron-LM,
  /// `--recompute-method block`, `--recompute-num-layers`].
  int recompute_blocks = 0;
  /// With selective recomputation, the modules that are recomputed.
  RecomputeModules recompute_modules{RecomputeModule::core_attn};
  Offload offload = Offload::none;
  bool offload_activations = false;  ///< whether activations kept for backward are offloaded to host memory
  /// Whether each rank of a tensor split has a shard of the tokens between the pairs of split
  /// layers, and not replicas of all tokens [Kort22, section 4.2].
  bool sequence_parallel = false;
  ContextExchange context_exchange = ContextExchange::ring;
  /// Whether a tensor split distributes whole experts over its ranks, each of which has a shard of the tokens. Otherwise the
  /// tensor split divides each expert [NVIDIA, Megatron-LM, `--expert-tensor-parallel-size`].
  bool whole_experts = false;
  Tables tables = Tables::replicated;  ///< how data-parallel ranks hold the tables of a recommendation model
  /// The number v of model chunks (virtual stages) of each pipeline stage. With several chunks,
  /// 1F1B is interleaved [Nar21, section 2.2].
  int virtual_stages = 1;
  /// The number of the model's blocks on the first and on the last pipeline stage; 0: as the software cuts stages. Stages
  /// between them get equal shares of the other blocks [NVIDIA, Megatron-LM, `--decoder-first-pipeline-num-layers`].
  int first_stage_blocks = 0, last_stage_blocks = 0;
  Optimizer optimizer = Optimizer::sgd;
  Precision precision = Precision::fp32;
  /// The segments of layers that are laid out on other meshes than the first layers, in the order of their layers. Empty if
  /// all layers are laid out on `mesh`, which is usual.
  std::vector<LayerSegment> segments{};
  /// The segments of tables that are held in another way than the first tables, in the order of the tables. Empty if all
  /// tables are held in the way `tables`.
  std::vector<TableSegment> table_segments{};
  /// With full recomputation, the segments of layers whose blocks are recomputed or not, in the order of their layers.
  /// Blocks before the first segment are recomputed. Empty if one rule holds for the blocks of all stages.
  std::vector<RecomputeSegment> recompute_segments{};
  /// The segments of layers with another ZeRO stage than the layers before, in the order of their layers. Layers before the
  /// first segment have `zero_stage`. Empty if all layers have it.
  std::vector<ZeroSegment> zero_segments{};

  /// Returns the number of groups of ranks that each hold all shards.
  [[nodiscard]] double shard_copies() const {
    const int data = mesh[Axis::data];
    const int copies = zero_stage == 0 || shard_group == 0 || data % shard_group != 0 ? 1 : data / shard_group;
    return copies;
  }
  /// Returns the number of ranks among which ZeRO shards the parameters that all replicas hold.
  [[nodiscard]] double shards() const { return mesh.replicas() / shard_copies(); }
  /// Returns whether a plan with these choices may have secondary shards. This requires that
  /// weights are gathered among all ranks for forward, and again for backward.
  [[nodiscard]] bool may_have_second_copy() const {
    return zero_stage == 3 && reshard && shard_group == 0 && offload != Offload::weights;
  }
  /// Returns the number of ranks that hold one set of secondary shards; 0: no secondary shards.
  [[nodiscard]] double second_shards() const {
    const int data = mesh[Axis::data];
    const bool has_copy = may_have_second_copy() && secondary_shards > 1 && data % secondary_shards == 0;
    return has_copy ? mesh.replicas() / data * secondary_shards : 0.0;
  }

  friend bool operator==(const Plan&, const Plan&) = default;
  friend auto operator<=>(const Plan&, const Plan&) = default;
};

/// Returns the number of samples of one micro-batch on one rank, which is the largest number if the
/// global batch does not divide evenly.
[[nodiscard]] double samples_per_micro_batch(const Plan& plan);
/// Returns the mesh on which a layer is laid out.
[[nodiscard]] const Mesh& mesh_of(const Plan& plan, int layer);
/// Returns the different meshes of a plan, the mesh of the first layers first.
[[nodiscard]] std::vector<Mesh> meshes_of(const Plan& plan);
/// Returns the plan with all layers on one of its meshes.
[[nodiscard]] Plan on_mesh(const Plan& plan, const Mesh& mesh);
/// Merges segments that have the same mesh as the layers before, so that equal layouts are equal plans.
void join_segments(Plan& plan);
/// Returns the way in which a plan holds a table.
[[nodiscard]] Tables tables_of(const Plan& plan, std::size_t table);
/// Returns whether any table of a plan is not replicated.
[[nodiscard]] bool holds_parts_of_tables(const Plan& plan);
/// Returns whether layers or tables of a plan differ in their layout, their recomputation or their ZeRO stage.
[[nodiscard]] inline bool has_layouts(const Plan& plan) {
  return !plan.segments.empty() || !plan.table_segments.empty() || !plan.recompute_segments.empty() ||
         !plan.zero_segments.empty();
}
/// Merges segments of tables that are held in the same way as the tables before.
void join_table_segments(Plan& plan);
/// Returns whether the recompute segments of a plan recompute a block whose first layer in its stage is `layer`.
[[nodiscard]] bool recomputes_from(const Plan& plan, int layer);
/// Merges equal adjacent recompute segments. If no segment is recomputed, the plan recomputes nothing.
void join_recompute_segments(Plan& plan);
/// Returns the notation of the recompute segments, `from14:keep from20:ac`; empty if there are none.
[[nodiscard]] std::string recompute_segments_text(const Plan& plan);
/// Parses one segment of this notation; empty if `part` is not a segment.
[[nodiscard]] std::optional<RecomputeSegment> parse_recompute_segment(std::string_view part);
/// Returns the ZeRO stage of a layer.
[[nodiscard]] int zero_stage_of(const Plan& plan, int layer);
/// Returns the different ZeRO stages of a plan, that of the first layers first.
[[nodiscard]] std::vector<int> zero_stages_of(const Plan& plan);
/// Returns the plan with one ZeRO stage for all layers.
[[nodiscard]] Plan with_zero_stage(const Plan& plan, int stage);
/// Joins ZeRO segments that have the stage of the layers before.
void join_zero_segments(Plan& plan);
/// Returns the notation of the ZeRO segments, `from7:z3 from20:z2`; empty if there are none.
[[nodiscard]] std::string zero_segments_text(const Plan& plan);
/// Reads a part of such a text; empty if it is none.
[[nodiscard]] std::optional<ZeroSegment> parse_zero_segment(std::string_view part);
/// Returns the axes with a degree above one as text, innermost first: `filter,data`.
[[nodiscard]] std::string placement_text(const Plan& plan);

}  // namespace ddl
