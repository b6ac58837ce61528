#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"

namespace ddl {

/// What becomes of the activations of a group of layers between its forward and its backward, which needs them: they stay;
/// they go to the memory of the host and come back; they are dropped and computed again from the group's input; or that
/// input goes to the host, too [Wahib et al., "Scaling distributed deep learning workloads beyond the memory capacity with
/// KARMA", SC 2020].
enum class GroupChoice { keep, swap, recompute, both };
inline constexpr std::array<GroupChoice, 4> all_group_choices{GroupChoice::keep, GroupChoice::swap, GroupChoice::recompute,
                                                              GroupChoice::both};
[[nodiscard]] std::string_view to_string(GroupChoice choice);

/// A group of layers in the step of one micro-batch.
struct ChainGroup {
  Seconds forward{}, backward{};
  Bytes kept{};   ///< what waits for its backward, and for no later one
  Bytes input{};  ///< of that, the output of the group before
  /// The same output where backward does not need it: whoever computes the group again keeps it besides.
  Bytes extra_input{};
  /// The most memory during its passes while all groups keep theirs. `again_peak`: while backward computes it again.
  Bytes forward_peak{}, backward_peak{}, again_peak{};
  bool may_recompute = true;  ///< it reads nothing but the output of the group before

  /// Returns the bytes that a choice moves to the host, and back.
  [[nodiscard]] Bytes moved(GroupChoice choice) const;
  /// Returns the bytes that are not on the device: from the next group's forward to its backward with `beside_next`, else
  /// from the forward of the group behind that to its backward. What is moved is on its way while the next group computes.
  [[nodiscard]] Bytes absent(GroupChoice choice, bool beside_next) const;
};

/// Groups in the order of forward, and the link to the host.
struct Chain {
  std::vector<ChainGroup> groups;
  Bytes elsewhere{};  ///< the most memory outside of these passes
  Bandwidth link{};   ///< each way; zero: nothing can be moved
};

/// What choices, one for each group, cost.
struct ChainCost {
  Seconds time{};   ///< of forward and backward of one micro-batch
  Seconds again{};  ///< of that, forward of groups that are computed again
  Seconds waits{};  ///< of that, waiting for copies
  Bytes peak{};     ///< the most memory
  Bytes on_host{};
};

/// Returns the cost of choices. Copies in one direction follow each other beside the computing. The group after the next
/// starts its forward when a group's copy has left, so that no more than two groups that move are on the device; a copy
/// comes back from when the next group starts its backward.
[[nodiscard]] ChainCost cost_of(const Chain& chain, const std::vector<GroupChoice>& choices);

/// Returns the choices that take least time of those that need no more than `capacity`, and of those that take as long some
/// with which no single group could keep instead; where none do, those that need least
/// memory of the same choice for every group. It is the optimum while no more than `most_labels` beginnings of a schedule,
/// of which none is better than another in everything, have to be told apart; else those that are fastest for their memory
/// are followed.
inline constexpr std::size_t most_labels = 600;
[[nodiscard]] std::vector<GroupChoice> shortest_choices(const Chain& chain, Bytes capacity);

}  // namespace ddl
