#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/exchanges/group.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/collective.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// The link that holds the flows of a phase back, and what is on it.
struct Bottleneck {
  std::string_view level;  ///< name of the machine's level whose link it is, or `host link`
  double flows = 1;        ///< on it at once, of all groups; a mean where units are not all alike
  double links = 1;        ///< in parallel there
  double phi = 1;          ///< φ ≥ 1: time per byte over that of one such link with one flow
  bool measured = false;   ///< φ is a coefficient
};

/// α and β that a flow sees while all groups exchange, and where it is held back.
struct SharedLink {
  Link link;
  Bottleneck bottleneck;
};

/// Flows that go at the same time, in every group alike.
enum class Pattern {
  ring,        ///< each rank to the next of its group
  slices,      ///< each rank to the one of its place in the next node
  leaders,     ///< `per_group` ranks of each node to the next node
  neighbours,  ///< each rank at an edge of its node to its neighbour beyond, on one link
  shift,       ///< each rank to the one `step` places on, round the group
  exchange     ///< each two ranks whose places differ in the bit `step`
};

/// How a phase's flows lie on the machine's links.
struct Flows {
  Pattern pattern = Pattern::ring;
  /// That one group sends out of a unit at once.
  double per_group = 1;
  /// Whether a flow takes all parallel links, as NCCL's channels do, or one.
  bool striped = true;
  /// The innermost and the outermost level whose links count; none beyond the one where the group meets.
  std::size_t from = 0, to = Group::max_levels;
  /// Of neighbours, shift and exchange: how many places on; and of how many such steps a row of neighbours is.
  double step = 1, extent = 0;
};

/// What one flow of each group gets of the levels' links up to the one where the group meets. All units of a level are
/// alike, so that flows are alike too, and their max-min fair share is the least of capacity over flows (`max_min_shares`
/// says the same of the links one by one: tests/unit/estimator/topology). Where groups do not fill units evenly, flows are a
/// mean. Without `contention`, each flow has one link of each level to itself.
[[nodiscard]] SharedLink share_of_levels(const Machine& machine, const Group& group, const Flows& flows, bool contention,
                                         const std::vector<MeasuredContention>& measured);

/// The same through the host: every flow crosses a PCIe link, which it shares, twice, and takes one link of each level.
[[nodiscard]] SharedLink share_through_host(const Machine& machine, const Group& group, const Flows& flows,
                                            const std::vector<MeasuredContention>& measured);

/// φ of so many flows on links of a level, as measured: between two measured counts linear, beyond them as the model
/// (flows over links) grows; nothing where nothing was measured there.
[[nodiscard]] std::optional<double> measured_phi(const std::vector<MeasuredContention>& measured, std::string_view level,
                                                 double flows);

}  // namespace ddl
