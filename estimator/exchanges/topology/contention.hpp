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

/// The link that limits the flows of a phase, and the load of this link.
struct Bottleneck {
  std::string_view level;  ///< name of the machine's level that the link belongs to, or `host link`
  double flows = 1;        ///< flows of all groups on the link at once; a mean if units have different numbers of flows
  double links = 1;        ///< number of parallel links
  double phi = 1;          ///< φ ≥ 1: time per byte relative to a single flow on one such link
  bool measured = false;   ///< whether φ is a measured coefficient
};

/// α and β of a flow while all groups communicate, and the link that limits the flow.
struct SharedLink {
  Link link;
  Bottleneck bottleneck;
};

/// A pattern of flows that run at the same time. All groups of ranks have the same pattern.
enum class Pattern {
  ring,        ///< each rank sends to the next rank of its group
  slices,      ///< each rank sends to the rank at the same position in the next node
  leaders,     ///< `per_group` ranks of each node send to the next node
  neighbours,  ///< each rank at the edge of a node sends to its neighbor in the next node, on a single link
  shift,       ///< each rank sends to the rank `step` places ahead, wrapping around in the group
  exchange     ///< ranks whose positions differ in the bit `step` exchange in pairs
};

/// How the flows of a phase use the machine's links.
struct Flows {
  Pattern pattern = Pattern::ring;
  /// The number of flows that one group sends out of a unit at once.
  double per_group = 1;
  /// Whether a flow is striped over all parallel links, as NCCL's channels are. Otherwise a flow uses one link.
  bool striped = true;
  /// The innermost and the outermost level whose links the flows may use. Levels above the level
  /// that joins all ranks of the group are ignored.
  std::size_t from = 0, to = Group::max_levels;
  /// `step`: distance to the receiver, in ranks; used by `neighbours`, `shift` and `exchange`. `extent`: number of ranks in
  /// a row with this distance between neighbors; used by `neighbours`.
  double step = 1, extent = 0;
};

/// Returns the share of the links that one flow of each group gets, over all levels up to the level that joins the group's
/// ranks. All units of a level are equal, so all flows are equal. The max-min fair share of a flow is the minimum over its
/// links of capacity divided by number of flows (`max_min_shares` computes the same share link by link:
/// tests/unit/estimator/topology). If groups do not fill units evenly, the number of flows is a mean. Without `contention`,
/// each flow has one link of each level to itself.
[[nodiscard]] SharedLink share_of_levels(const Machine& machine, const Group& group, const Flows& flows, bool contention,
                                         const std::vector<MeasuredContention>& measured);

/// Returns the share of a flow that is routed through the host. Such a flow crosses a shared PCIe
/// link twice, and uses one link of each level.
[[nodiscard]] SharedLink share_through_host(const Machine& machine, const Group& group, const Flows& flows,
                                            const std::vector<MeasuredContention>& measured);

/// Returns the measured φ of this number of flows on the links of a level, interpolated between two measured numbers of
/// flows. Outside of the measured range, φ changes like the model's φ (flows divided by links). Empty if no φ was measured.
[[nodiscard]] std::optional<double> measured_phi(const std::vector<MeasuredContention>& measured, std::string_view level,
                                                 double flows);

}  // namespace ddl
