#include <algorithm>
#include <vector>

#include "estimator/exchanges/topology/network.hpp"

namespace ddl {
namespace {

/// Circuits between nodes whose distance in the numbering is one of `shape.shortcuts`, and a packet-switched network for all
/// other messages. Circuits do not change during a training, so their set-up takes no time of a step.
class OpticalCircuits final : public Network {
 public:
  explicit OpticalCircuits(const Machine& machine)
      : Network(machine.levels[1].units, machine.devices_per_node(), machine.levels[1]),
        distances_(machine.shape.shortcuts) {
    circuit_ = {"circuit", machine.shape.link_bandwidth.value()};
    packet_ = {"packet link", machine.shape.global_bandwidth.value()};
    for (int link = 0; link < 2 * nodes_; ++link) add(nic_, machine.levels[1].rails);
    first_packet_ = bundles().size();
    for (int link = 0; link < 2 * nodes_; ++link) add(packet_, 1);
    first_circuit_ = bundles().size();
    for (std::size_t link = 0; link < 2 * distances_.size() * static_cast<std::size_t>(nodes_); ++link) add(circuit_, 1);
  }

  void route(int from, int to, int, std::vector<Crossing>& path) const override {
    const auto at = static_cast<std::size_t>(from), target = static_cast<std::size_t>(to);
    path.push_back({2 * at, 1});
    const int there = (to - from + nodes_) % nodes_;
    const int places = std::min(there, nodes_ - there);
    const auto found = std::find(distances_.begin(), distances_.end(), places);
    if (found != distances_.end()) {
      const auto kind = static_cast<std::size_t>(found - distances_.begin());
      path.push_back({first_circuit_ + 2 * (at * distances_.size() + kind) + (there == places ? 0 : 1), 1});
    } else {
      path.push_back({first_packet_ + 2 * at, 1});
      path.push_back({first_packet_ + 2 * target + 1, 1});
    }
    path.push_back({2 * target + 1, 1});
  }

 private:
  std::vector<int> distances_;
  Kind circuit_, packet_;
  std::size_t first_packet_ = 0, first_circuit_ = 0;
};

}  // namespace

std::shared_ptr<const Network> optical_circuits_network(const Machine& machine) {
  return std::make_shared<OpticalCircuits>(machine);
}

}  // namespace ddl
