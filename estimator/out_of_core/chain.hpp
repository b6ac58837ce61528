#pragma once

#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// What happens to the activations of a group of layers between the group's forward and its backward: keep them; swap them
/// to host memory and back; drop them and recompute them from the group's input; or recompute them and also swap that input
/// [Wahib et al., "Scaling distributed deep learning workloads beyond the memory capacity with KARMA", SC 2020].
enum class GroupChoice { keep, swap, recompute, both };
template <>
inline constexpr EnumNames<GroupChoice> enum_names<GroupChoice>{"keep", "swap", "recompute", "both"};

/// A group of layers in the step of one micro-batch.
struct ChainGroup {
  Seconds forward{}, backward{};
  Bytes kept{};   ///< memory that only this group's backward needs
  Bytes input{};  ///< the part of `kept` that is the output of the previous group
  /// The output of the previous group if backward does not need it. If the group is recomputed, this output must be kept as
  /// well.
  Bytes extra_input{};
  /// The maximum memory during the group's passes, if all groups keep their activations. `again_peak` is the maximum while
  /// backward recomputes the group.
  Bytes forward_peak{}, backward_peak{}, again_peak{};
  bool may_recompute = true;  ///< whether the group reads only the output of the previous group

  /// Returns the number of bytes that a choice copies to the host, and back again.
  [[nodiscard]] Bytes moved(GroupChoice choice) const;
  /// Returns the number of bytes that a choice keeps away from the device: with `next_runs`, while forward and backward of
  /// the next group run, which overlap with the transfers; otherwise between forward and backward of the group after the
  /// next.
  [[nodiscard]] Bytes absent(GroupChoice choice, bool next_runs) const;
};

/// The groups in the order of forward, and the link to the host.
struct Chain {
  std::vector<ChainGroup> groups;
  Bytes elsewhere{};  ///< the maximum memory outside of these passes
  Bandwidth link{};   ///< bandwidth in each direction; zero: nothing can be moved
};

/// The cost of a list of choices, one for each group.
struct ChainCost {
  Seconds time{};   ///< forward and backward of one micro-batch
  Seconds again{};  ///< of this, the recomputation of groups
  Seconds waits{};  ///< of this, waiting for copies
  Bytes peak{};     ///< maximum memory
  Bytes on_host{};
};

/// Returns the cost of choices. Copies in one direction follow one another and overlap with compute. When the group after
/// the next starts its forward, the copy of a group has finished. So at most two groups with transfers are on the device. A
/// copy to the device can begin when the next group starts its backward.
[[nodiscard]] ChainCost cost_of(const Chain& chain, const std::vector<GroupChoice>& choices);

/// Returns the fastest choices that need at most `capacity`. Of equally fast choices, it returns those in which no further
/// group could keep its activations. If no choices fit, it returns those with the least memory among the choices that are
/// the same for all groups. The result is optimal unless more than `most_labels` non-dominated partial schedules have to be
/// stored. In that case, only the fastest one for each range of memory is kept.
inline constexpr std::size_t most_labels = 600;
[[nodiscard]] std::vector<GroupChoice> shortest_choices(const Chain& chain, Bytes capacity);

}  // namespace ddl
