#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"

namespace ddl {

/// The handling of the activations of a group of layers between its forward and its backward, which needs them: keep them;
/// swap them to host memory and back; drop them and recompute from the group's input; or recompute with that input swapped
/// too [Wahib et al., "Scaling distributed deep learning workloads beyond the memory capacity with KARMA", SC 2020].
enum class GroupChoice { keep, swap, recompute, both };
inline constexpr std::array<GroupChoice, 4> all_group_choices{GroupChoice::keep, GroupChoice::swap, GroupChoice::recompute,
                                                              GroupChoice::both};
[[nodiscard]] std::string_view to_string(GroupChoice choice);

/// A group of layers in the step of one micro-batch.
struct ChainGroup {
  Seconds forward{}, backward{};
  Bytes kept{};   ///< needed by its backward, and by no later one
  Bytes input{};  ///< of that, the output of the previous group
  /// The same output if backward does not need it: recomputing the group requires keeping it in addition.
  Bytes extra_input{};
  /// The maximum memory during its passes while all groups keep their activations. `again_peak`: while backward recomputes
  /// it.
  Bytes forward_peak{}, backward_peak{}, again_peak{};
  bool may_recompute = true;  ///< it reads nothing but the output of the previous group

  /// Returns the bytes that a choice moves to the host and back.
  [[nodiscard]] Bytes moved(GroupChoice choice) const;
  /// Returns the bytes that are not on the device: with `beside_next` from the next group's forward to its backward, else
  /// from the forward of the group after that to its backward. Transfers overlap with the compute of the next group.
  [[nodiscard]] Bytes absent(GroupChoice choice, bool beside_next) const;
};

/// Groups in the order of forward, and the link to the host.
struct Chain {
  std::vector<ChainGroup> groups;
  Bytes elsewhere{};  ///< the maximum memory outside of these passes
  Bandwidth link{};   ///< in each direction; zero: nothing can be moved
};

/// The cost of choices, one for each group.
struct ChainCost {
  Seconds time{};   ///< of forward and backward of one micro-batch
  Seconds again{};  ///< of that, forward of recomputed groups
  Seconds waits{};  ///< of that, waiting for copies
  Bytes peak{};     ///< maximum memory
  Bytes on_host{};
};

/// Returns the cost of choices. Copies in one direction follow each other and overlap with compute. The group after the next
/// starts its forward when a group's copy has finished, so at most two groups with transfers are on the device; a copy back
/// can begin when the next group starts its backward.
[[nodiscard]] ChainCost cost_of(const Chain& chain, const std::vector<GroupChoice>& choices);

/// Returns the fastest choices that need no more than `capacity`; among equally fast ones, choices in which no single group
/// could keep its activations instead. If none fit, returns the choices with least memory among those that treat all groups
/// the same. The result is optimal as long as no more than `most_labels` non-dominated partial schedules have to be stored;
/// beyond that, those that are fastest for their memory are kept.
inline constexpr std::size_t most_labels = 600;
[[nodiscard]] std::vector<GroupChoice> shortest_choices(const Chain& chain, Bytes capacity);

}  // namespace ddl
