#include <algorithm>
#include <cstdlib>
#include <vector>

#include "estimator/exchanges/topology/network.hpp"

namespace ddl {
namespace {

class DistributedLoop final : public Network {
 public:
  explicit DistributedLoop(const Machine& machine)
      : Network(machine.levels[1].units, machine.devices_per_node(), machine.levels[1]), jumps_{1} {
    for (const int places : machine.shape.shortcuts) {
      if (places > 1 && places < nodes_) jumps_.push_back(places);
    }
    link_ = {"loop link", machine.shape.link_bandwidth.value()};
    for (int link = 0; link < 2 * nodes_; ++link) add(nic_, machine.levels[1].rails);
    first_ = bundles().size();
    for (std::size_t link = 0; link < 2 * jumps_.size() * static_cast<std::size_t>(nodes_); ++link) add(link_, 1);
  }

  void route(int from, int to, int, std::vector<Crossing>& path) const override {
    path.push_back({2 * static_cast<std::size_t>(from), 1});
    // Each step halves the distance, or follows a whole shortcut. The loop terminates because a step to the next node always
    // reduces the distance.
    for (int at = from; at != to;) {
      std::size_t best = 0;
      bool best_forward = true;
      int nearest = nodes_;
      for (std::size_t jump = 0; jump < jumps_.size(); ++jump) {
        for (const bool forward : {true, false}) {
          const int away = distance(moved(at, jump, forward), to);
          if (away >= nearest) continue;
          nearest = away;
          best = jump;
          best_forward = forward;
        }
      }
      path.push_back({first_ + 2 * (static_cast<std::size_t>(at) * jumps_.size() + best) + (best_forward ? 0 : 1), 1});
      at = moved(at, best, best_forward);
    }
    path.push_back({2 * static_cast<std::size_t>(to) + 1, 1});
  }

 private:
  [[nodiscard]] int moved(int at, std::size_t jump, bool forward) const {
    return (at + (forward ? jumps_[jump] : nodes_ - jumps_[jump])) % nodes_;
  }
  /// Returns the number of hops between two nodes, in the shorter direction of the ring.
  [[nodiscard]] int distance(int from, int to) const {
    const int there = std::abs(to - from);
    return std::min(there, nodes_ - there);
  }

  std::vector<int> jumps_;
  Kind link_;
  std::size_t first_ = 0;
};

}  // namespace

std::shared_ptr<const Network> distributed_loop_network(const Machine& machine) {
  return std::make_shared<DistributedLoop>(machine);
}

}  // namespace ddl
