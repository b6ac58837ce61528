#pragma once

#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// The treatment of the activations of a group of layers between its forward and its backward, which needs them: keep them;
/// swap them to host memory and back; drop them and recompute them from the group's input; or recompute them and swap that
/// input as well [Wahib et al., "Scaling distributed deep learning workloads beyond the memory capacity with KARMA", SC
/// 2020].
enum class GroupChoice { keep, swap, recompute, both };
template <>
inline constexpr EnumNames<GroupChoice> enum_names<GroupChoice>{"keep", "swap", "recompute", "both"};

/// A group of layers in the step of one micro-batch.
struct ChainGroup {
  Seconds forward{}, backward{};
  Bytes kept{};   ///< memory that only its backward needs
  Bytes input{};  ///< the part of it that is the output of the previous group
  /// The output of the previous group if backward does not need it. Recomputing the group requires keeping it in addition.
  Bytes extra_input{};
  /// The maximum memory during its passes, if all groups keep their activations. `again_peak`: while backward recomputes the
  /// group.
  Bytes forward_peak{}, backward_peak{}, again_peak{};
  bool may_recompute = true;  ///< it reads only the output of the previous group

  /// Returns the bytes that a choice moves to the host and back.
  [[nodiscard]] Bytes moved(GroupChoice choice) const;
  /// Returns the bytes that are not on the device: with `next_runs` from the next group's forward to its backward,
  /// otherwise from the forward of the group after that to its backward. Transfers overlap with the compute of the next
  /// group.
  [[nodiscard]] Bytes absent(GroupChoice choice, bool next_runs) const;
};

/// Groups in the order of forward, and the link to the host.
struct Chain {
  std::vector<ChainGroup> groups;
  Bytes elsewhere{};  ///< the maximum memory outside of these passes
  Bandwidth link{};   ///< bandwidth in each direction; zero: nothing can be moved
};

/// The cost of choices, one for each group.
struct ChainCost {
  Seconds time{};   ///< forward and backward of one micro-batch
  Seconds again{};  ///< the part of it for recomputation of groups
  Seconds waits{};  ///< the part of it spent waiting for copies
  Bytes peak{};     ///< maximum memory
  Bytes on_host{};
};

/// Returns the cost of choices. Copies in one direction follow one another and overlap with compute. The group after the
/// next starts its forward after a group's copy has finished, so at most two groups with transfers are on the device. A copy
/// back can begin when the next group starts its backward.
[[nodiscard]] ChainCost cost_of(const Chain& chain, const std::vector<GroupChoice>& choices);

/// Returns the fastest choices that need at most `capacity`. Among equally fast ones, no single group could keep its
/// activations instead. If none fit, returns the choices with least memory among those that treat all groups the same. The
/// result is optimal unless more than `most_labels` non-dominated partial schedules have to be stored; in that case the
/// fastest for their memory are kept.
inline constexpr std::size_t most_labels = 600;
[[nodiscard]] std::vector<GroupChoice> shortest_choices(const Chain& chain, Bytes capacity);

}  // namespace ddl
