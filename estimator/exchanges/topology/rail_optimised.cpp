#include <vector>

#include "estimator/exchanges/topology/network.hpp"

namespace ddl {
namespace {

/// Inside its own node, a flow first goes to the rail of the destination device, and then leaves the node on that rail. The
/// flow therefore needs no switch of another rail (NCCL's PXN). A striped flow uses all rails.
class RailOptimised final : public Network {
 public:
  explicit RailOptimised(const Machine& machine)
      : Network(nodes_of(machine), machine.devices_per_node(), machine.levels[1]),
        rails_(std::max(1, static_cast<int>(machine.levels[1].rails))),
        nodes_per_unit_(machine.levels[1].units) {
    // First there are two links, up and down, for each node and rail. Then there are two links for each unit and rail.
    for (int link = 0; link < 2 * nodes_ * rails_; ++link) add(nic_, machine.levels[1].rails / rails_);
    if (machine.levels.size() < 3) return;
    const LinkLevel& spine = machine.levels[2];
    spine_ = {spine.name, spine.bandwidth.value()};
    for (int link = 0; link < 2 * machine.levels[2].units * rails_; ++link) add(spine_, spine.rails / rails_);
  }

  [[nodiscard]] int lane_of(int device, bool striped) const override {
    return striped ? -1 : static_cast<int>(static_cast<std::int64_t>(device) * rails_ / devices_per_node_);
  }

  void route(int from, int to, int lane, std::vector<Crossing>& path) const override {
    const int first = lane < 0 ? 0 : lane;
    const int last = lane < 0 ? rails_ : lane + 1;
    const double part = 1.0 / (last - first);
    const auto cross = [&](int base, int unit, int rail, int down) {
      path.push_back({static_cast<std::size_t>(base + 2 * (unit * rails_ + rail) + down), part});
    };
    const int spine = 2 * nodes_ * rails_;
    const int source = from / nodes_per_unit_;
    const int target = to / nodes_per_unit_;
    for (int rail = first; rail < last; ++rail) {
      cross(0, from, rail, 0);
      if (source != target) {
        cross(spine, source, rail, 0);
        cross(spine, target, rail, 1);
      }
      cross(0, to, rail, 1);
    }
  }

 private:
  static int nodes_of(const Machine& machine) {
    return machine.levels[1].units * (machine.levels.size() < 3 ? 1 : machine.levels[2].units);
  }

  int rails_, nodes_per_unit_;
  Kind spine_;
};

}  // namespace

std::shared_ptr<const Network> rail_optimised_network(const Machine& machine) {
  return std::make_shared<RailOptimised>(machine);
}

}  // namespace ddl
