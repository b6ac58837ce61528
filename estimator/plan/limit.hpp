#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ddl {

/// A reason why a plan is impossible, with two numbers: the amount that the plan requires, and the amount that is available.
struct Limit {
  enum class Kind {
    batch,             ///< data degree × micro-batches is above the global batch
    no_extents,        ///< a spatial split of a model without spatial extents
    extent,            ///< a spatial degree above the extent of the first split layer
    halo,              ///< a tile narrower than the halo of its neighbors
    filters,           ///< the filter degree is above the smallest number of filters of a layer
    channels,          ///< the channel degree is above the smallest number of channels of a layer
    tensor_units,      ///< tensor degree above the number of units of any pair of layers
    stages,            ///< more stages than layers
    schedule,          ///< fewer samples in a stage than micro-batches
    context,           ///< a context degree that does not divide the model's sequence lengths, or a model without sequences
    heads,             ///< context degree × tensor degree does not divide the heads of attention
    experts,           ///< an expert degree that does not divide the model's experts, or a model without experts
    tokens,            ///< sequence parallelism with a tensor degree that does not divide the sequence between split layers
    stage_blocks,      ///< blocks of the first and last stage that leave no block for other stages
    virtual_stages,    ///< a number of model chunks that does not divide the model's equal blocks
    interleaving,      ///< interleaved stages with a number of micro-batches that is not a multiple of the number of stages
    not_interleaved,   ///< several model chunks on a stage, with a schedule that does not interleave
    filled_bubbles,    ///< a number of micro-batches, or stages, that a bubble-filling schedule does not support
    shard_group,       ///< a shard group with a size that does not divide the data degree
    whole_experts,     ///< expert-tensor-parallel size 1 without sequence parallelism, or with parts of unequal size
    secondary_shards,  ///< secondary shards without ZeRO-3 or `reshard`, or in groups that do not divide the data degree
    recompute_blocks,  ///< a number of blocks to recompute without full recomputation
    /// modules to recompute without selective recomputation, in a model that lacks the modules, or
    /// with software that keeps operators' results
    recompute_modules,
    tables,  ///< tables distributed by a plan with other axes than data, with ZeRO, or with too few tables or columns for
             ///< its ranks
    local_steps,      ///< several local steps of ranks that shard their state, or with a single rank
    allreduce,        ///< a prescribed allreduce of gradients that ZeRO reduces and scatters
    compression,      ///< compressed sums of gradients that ZeRO shards
    synchronization,  ///< workers without a barrier that shard their state, or that other axes of replicas divide
    /// projected gradients (GaLore, APOLLO) of ranks that hold parts of the model. With `item` "updates", updates in
    /// backward of a plan with several micro-batches or stages, or of projected gradients on several replicas
    whole_gradients,
    weight_versions,  ///< older versions of weights with another schedule than 1F1B, ZeRO-3 or offloading
    token_pieces,     ///< tokens that are passed on in pieces, with a schedule other than 1F1B and GPipe, or with virtual
                      ///< stages
    no_host,          ///< offloading to a host that the machine file does not describe
    host_memory,      ///< more than the memory of a host
    segment_choice,   ///< segments of layers together with a choice or an axis that needs one layout; `item` is its name
    segment_ranks,    ///< a segment of layers on another number of ranks
    segment_first,    ///< a segment that begins at no layer, or with `item` "table" at no table, of the model
    segment_meshes,   ///< segments on more different meshes than are supported
    segment_tiles,    ///< a segment with a spatial split that begins at a layer with too small tiles
    devices,          ///< more devices than the machine has
    not_finite,       ///< a time or an amount of memory that a double cannot represent
    memory,           ///< more memory than the device has
  };
  Kind kind = Kind::memory;
  double wanted = 0;
  double available = 0;
  int layer = -1;  ///< the layer that causes the limit; −1: no layer
  /// For a limit of memory, the name of the largest memory item, and its bytes. For a limit of a schedule, the schedule's
  /// name, and the number that must divide stages and micro-batches. For missing modules, the name of one of them.
  std::string_view item{};
  double item_bytes = 0;

  friend bool operator==(const Limit&, const Limit&) = default;
};

/// Up to eight limits, without heap allocation, because a search examines millions of plans. Further limits are dropped.
class Limits {
 public:
  void add(const Limit& limit) {
    if (count_ < items_.size()) items_[count_++] = limit;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const Limit* begin() const { return items_.data(); }
  [[nodiscard]] const Limit* end() const { return items_.data() + count_; }

 private:
  std::array<Limit, 8> items_{};
  std::size_t count_ = 0;
};

}  // namespace ddl
