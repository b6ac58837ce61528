#include <algorithm>
#include <vector>

#include "estimator/exchanges/topology/network.hpp"

namespace ddl {
namespace {

class Dragonfly final : public Network {
 public:
  explicit Dragonfly(const Machine& machine)
      : Network(machine.levels[1].units, machine.devices_per_node(), machine.levels[1]),
        nodes_per_router_(machine.shape.nodes_per_router),
        routers_(machine.shape.routers_per_group),
        channels_(routers_ * machine.shape.global_links),
        global_links_(machine.shape.global_links) {
    const int in_group = nodes_per_router_ * routers_;
    groups_ = (nodes_ + in_group - 1) / in_group;
    // Each group distributes its global links evenly over the other groups. Links that remain are not used.
    per_pair_ = groups_ > 1 ? std::max(1, channels_ / (groups_ - 1)) : 0;
    local_ = {"local link", machine.shape.link_bandwidth.value()};
    global_ = {"global link", machine.shape.global_bandwidth.value()};
    for (int link = 0; link < 2 * nodes_; ++link) add(nic_, machine.levels[1].rails);
    first_local_ = bundles().size();
    for (int link = 0; link < groups_ * routers_ * routers_; ++link) add(local_, 1);
    first_global_ = bundles().size();
    for (int link = 0; link < groups_ * (groups_ - 1) * per_pair_; ++link) add(global_, 1);
  }

  void route(int from, int to, int, std::vector<Crossing>& path) const override {
    const int source = from / nodes_per_router_;
    const int target = to / nodes_per_router_;
    path.push_back({2 * static_cast<std::size_t>(from), 1});
    const int source_group = source / routers_;
    const int target_group = target / routers_;
    if (source_group == target_group) {
      cross(source_group, source % routers_, target % routers_, 1, path);
    } else {
      // A group numbers the other groups, starting with the next group. Each other group gets
      // `per_pair_` links in this order.
      const int there = (target_group - source_group - 1 + groups_) % groups_;
      const int back = (source_group - target_group - 1 + groups_) % groups_;
      const double part = 1.0 / per_pair_;
      for (int i = 0; i < per_pair_; ++i) {
        cross(source_group, source % routers_, gateway(there, i), part, path);
        const std::size_t pair =
            static_cast<std::size_t>(source_group) * static_cast<std::size_t>(groups_ - 1) + static_cast<std::size_t>(there);
        path.push_back({first_global_ + pair * static_cast<std::size_t>(per_pair_) + static_cast<std::size_t>(i), part});
        cross(target_group, gateway(back, i), target % routers_, part, path);
      }
    }
    path.push_back({2 * static_cast<std::size_t>(to) + 1, 1});
  }

 private:
  [[nodiscard]] int gateway(int other_group, int link) const {
    return (other_group * per_pair_ + link) / global_links_ % routers_;
  }
  void cross(int group, int from, int to, double part, std::vector<Crossing>& path) const {
    if (from == to) return;
    const std::size_t router =
        static_cast<std::size_t>(group) * static_cast<std::size_t>(routers_) + static_cast<std::size_t>(from);
    path.push_back({first_local_ + router * static_cast<std::size_t>(routers_) + static_cast<std::size_t>(to), part});
  }

  int nodes_per_router_, routers_, channels_, global_links_;
  int groups_ = 1, per_pair_ = 0;
  Kind local_, global_;
  std::size_t first_local_ = 0, first_global_ = 0;
};

}  // namespace

std::shared_ptr<const Network> dragonfly_network(const Machine& machine) { return std::make_shared<Dragonfly>(machine); }

}  // namespace ddl
