#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// A named axis of the mesh of ranks. The order of the enumerators is the default placement, innermost first.
enum class Axis { tensor, channel, filter, context, spatial, expert, data, pipeline };
inline constexpr std::size_t axis_count = 8;

/// An alias of an axis for parsing, and the ZeRO stage that it implies, if any.
struct AxisAlias {
  std::string_view word{};
  std::optional<int> zero_stage{};
};

/// The properties of an axis that code outside of the strategies uses.
struct AxisRow {
  Axis axis;
  std::string_view name;
  std::array<AxisAlias, 6> aliases;  ///< aliases of the axis; unused elements are empty
  int spoken;                        ///< position of the axis in the names of hybrids, such as `data+pipeline`
  std::size_t extents;               ///< number of mesh dimensions; the spatial axis has one for each extent of a sample
  bool replicates_weights;           ///< ranks hold replicas of the weights (not of experts) and exchange their gradients
  bool divides_batch;                ///< ranks of the axis process different samples
  bool divides_weights;              ///< ranks of the axis hold shards of one layer's weights
  /// whether the axis is an alternative to the other axes that shard weights; a search does not combine them
  bool alternates;
};

/// The table of all axes. FSDP is PyTorch's ZeRO-3 [Zhao et al., VLDB 2023]. PyTorch's DDP shards nothing. ParaDL (HPDC
/// 2021) calls pipeline `layer`. `hmodel` is a published name of tensor parallelism.
inline constexpr std::array<AxisRow, axis_count> axis_table{{
    {Axis::tensor, "tensor", {{{"tp"}, {"hmodel"}}}, 7, 1, false, false, true, true},
    {Axis::channel, "channel", {}, 6, 1, false, false, true, false},
    {Axis::filter, "filter", {}, 5, 1, false, false, true, false},
    {Axis::context, "context", {{{"cp"}}}, 3, 1, true, false, false, false},
    {Axis::spatial, "spatial", {}, 2, 3, true, false, false, false},
    {Axis::expert, "expert", {{{"ep"}}}, 1, 1, true, true, false, false},
    {Axis::data,
     "data",
     {{{"dp"}, {"ddp", 0}, {"fsdp", 3}, {"zero1", 1}, {"zero2", 2}, {"zero3", 3}}},
     0,
     1,
     true,
     true,
     false,
     false},
    {Axis::pipeline, "pipeline", {{{"pp"}, {"layer"}}}, 4, 1, false, false, false, false},
}};
[[nodiscard]] constexpr const AxisRow& row_of(Axis axis) { return axis_table[static_cast<std::size_t>(axis)]; }

/// Returns the index of the first mesh dimension of an axis. The dimensions of the axis are consecutive.
[[nodiscard]] constexpr std::size_t first_dimension_of(Axis axis) {
  constexpr std::array<std::size_t, axis_count> firsts = [] {
    std::array<std::size_t, axis_count> of_axes{};
    std::size_t first = 0;
    for (const AxisRow& row : axis_table) {
      of_axes[static_cast<std::size_t>(row.axis)] = first;
      first += row.extents;
    }
    return of_axes;
  }();
  return firsts[static_cast<std::size_t>(axis)];
}
inline constexpr std::size_t mesh_dimensions = first_dimension_of(axis_table.back().axis) + axis_table.back().extents;

/// Every axis, in the order of the default placement.
inline constexpr std::array<Axis, axis_count> all_axes = [] {
  std::array<Axis, axis_count> axes{};
  for (std::size_t i = 0; i < axis_count; ++i) axes[i] = axis_table[i].axis;
  return axes;
}();
/// Every axis, in the usual order of the parts of a hybrid's name.
inline constexpr std::array<Axis, axis_count> spoken_axes = [] {
  std::array<Axis, axis_count> axes{};
  for (const AxisRow& row : axis_table) axes[static_cast<std::size_t>(row.spoken)] = row.axis;
  return axes;
}();

[[nodiscard]] constexpr std::string_view to_string(Axis axis) { return row_of(axis).name; }
/// Returns the axis of this name or alias; empty if there is none.
[[nodiscard]] std::optional<Axis> parse_axis(std::string_view text);
[[nodiscard]] std::vector<std::string_view> axis_names();

/// A set of axes: the family that a plan belongs to, such as `data+filter`.
using Family = unsigned;
[[nodiscard]] constexpr Family family_bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
/// Returns the name of a family: `data+spatial+pipeline`, or `serial`.
[[nodiscard]] std::string family_name(Family family);
/// Parses `data+filter`. Returns empty if a part is unknown or repeated.
[[nodiscard]] std::optional<Family> parse_family(std::string_view text);
/// Returns the ZeRO stage that the shorthand of a family implies, such as `fsdp+tp`; empty if it implies none.
[[nodiscard]] std::optional<int> zero_stage_in(std::string_view family);

/// The axes with ranks that hold replicas of the weights, and the axes with ranks that hold shards of a layer's weights.
inline constexpr Family replica_axes = [] {
  Family family = 0;
  for (const AxisRow& row : axis_table) family |= row.replicates_weights ? family_bit(row.axis) : 0;
  return family;
}();
/// The axes with ranks that process different samples.
inline constexpr Family batch_axes = [] {
  Family family = 0;
  for (const AxisRow& row : axis_table) family |= row.divides_batch ? family_bit(row.axis) : 0;
  return family;
}();
inline constexpr Family weight_axes = [] {
  Family family = 0;
  for (const AxisRow& row : axis_table) family |= row.divides_weights ? family_bit(row.axis) : 0;
  return family;
}();
/// Bits of a Family for a data axis that is divided into shard groups. One bit stands for the neighboring ranks of one
/// group, another bit for the ranks at the same position in each group. The bits from `shard_group_shift` on are the size of
/// a group. Only exchanges use these bits.
inline constexpr unsigned shard_group_shift = 16;
inline constexpr Family in_shard_group = 1U << 14U, across_shard_groups = 1U << 15U;
/// Returns these axes with the data axis replaced by shard groups of `size` ranks.
[[nodiscard]] constexpr Family shard_axes(Family axes, int size) {
  return (axes & ~family_bit(Axis::data)) | in_shard_group | (static_cast<Family>(size) << shard_group_shift);
}
/// Returns the axis of the ranks at the same position in each shard group of `size` ranks.
[[nodiscard]] constexpr Family copy_axes(int size) {
  return across_shard_groups | (static_cast<Family>(size) << shard_group_shift);
}
/// Returns whether a search considers plans of this family.
[[nodiscard]] constexpr bool is_meaningful(Family family) {
  const Family weights = family & weight_axes;
  for (const AxisRow& row : axis_table) {
    if (row.alternates && (weights & family_bit(row.axis)) != 0 && weights != family_bit(row.axis)) return false;
  }
  return true;
}

/// A family as the user wrote it, such as `fsdp+tp`, with the ZeRO stage that it implies. If the stage is unset, any stage
/// is allowed.
struct NamedFamily {
  Family family = 0;
  std::optional<int> zero_stage{};
};

}  // namespace ddl
