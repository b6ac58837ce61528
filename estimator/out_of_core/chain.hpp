#pragma once

#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// What happens to the activations of a group of layers between the group's forward and its backward. `keep`: the
/// activations stay. `swap`: they are copied to host memory and back. `recompute`: they are dropped and recomputed from the
/// group's input. `both`: they are recomputed, and the group's input is swapped [Wahib et al., "Scaling distributed deep
/// learning workloads beyond the memory capacity with KARMA", SC 2020].
enum class GroupChoice { keep, swap, recompute, both };
template <>
inline constexpr EnumNames<GroupChoice> enum_names<GroupChoice>{"keep", "swap", "recompute", "both"};

/// A group of layers in the step of one micro-batch.
struct ChainGroup {
  Seconds forward{}, backward{};
  Bytes kept{};   ///< memory of the activations that only this group's backward needs
  Bytes input{};  ///< the part of `kept` that is the output of the previous group
  /// The output of the previous group if backward does not need it, else zero. A recomputed group
  /// must keep this output as well.
  Bytes extra_input{};
  /// The maximum memory during the group's forward and backward, if all groups keep their
  /// activations. `again_peak` is the maximum while backward recomputes the group.
  Bytes forward_peak{}, backward_peak{}, again_peak{};
  bool may_recompute = true;  ///< whether the group reads only the output of the previous group

  /// Returns the number of bytes that a choice copies to the host, and later back to the device.
  [[nodiscard]] Bytes moved(GroupChoice choice) const;
  /// Returns the number of bytes that are not on the device because of a choice. With `next_runs`, the bytes are counted
  /// while forward and backward of the next group run, which overlap with the transfers. Otherwise they are counted between
  /// forward and backward of the group after the next group.
  [[nodiscard]] Bytes absent(GroupChoice choice, bool next_runs) const;
};

/// The groups of layers in the order of forward, and the link to the host.
struct Chain {
  std::vector<ChainGroup> groups;
  Bytes elsewhere{};  ///< the maximum memory of the step outside of the groups' passes
  Bandwidth link{};   ///< bandwidth of the link in each direction; zero: nothing can be swapped
};

/// The cost of choices for all groups.
struct ChainCost {
  Seconds time{};   ///< time of forward and backward of one micro-batch
  Seconds again{};  ///< the part of `time` for recomputation of groups
  Seconds waits{};  ///< the part of `time` for waiting for copies
  Bytes peak{};     ///< maximum memory
  Bytes on_host{};
};

/// Returns the cost of the choices. Copies in one direction follow one another, and overlap with compute. The copy of a
/// group to the host must finish before the group after the next group starts its forward, so at most two groups with
/// transfers are on the device. A copy to the device can begin when the next group starts its backward.
[[nodiscard]] ChainCost cost_of(const Chain& chain, const std::vector<GroupChoice>& choices);

/// Returns the fastest choices that need at most `capacity`. Of equally fast choices, it returns choices in which no further
/// group could keep its activations. If no choices fit, it returns the choices with the least memory among those that are
/// equal for all groups. The result is optimal unless more than `most_labels` non-dominated partial schedules have to be
/// stored. In that case, for each range of memory only the fastest partial schedule is kept.
inline constexpr std::size_t most_labels = 600;
[[nodiscard]] std::vector<GroupChoice> shortest_choices(const Chain& chain, Bytes capacity);

}  // namespace ddl
