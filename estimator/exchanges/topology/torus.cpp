#include <vector>

#include "estimator/exchanges/topology/network.hpp"

namespace ddl {
namespace {

class Torus final : public Network {
 public:
  explicit Torus(const Machine& machine)
      : Network(machine.levels[1].units, machine.devices_per_node(), machine.levels[1]), extents_(machine.shape.extents) {
    link_ = {"torus link", machine.shape.link_bandwidth.value()};
    for (int link = 0; link < 2 * nodes_; ++link) add(nic_, machine.levels[1].rails);
    first_ = bundles().size();
    for (std::size_t link = 0; link < 2 * extents_.size() * static_cast<std::size_t>(nodes_); ++link) add(link_, 1);
  }

  void route(int from, int to, int, std::vector<Crossing>& path) const override {
    path.push_back({2 * static_cast<std::size_t>(from), 1});
    int at = from;
    int stride = 1;
    for (std::size_t d = extents_.size(); d-- > 0;) {
      const int extent = extents_[d];
      const int place = at / stride % extent;
      const int target = to / stride % extent;
      const int forward = (target - place + extent) % extent;
      const int backward = extent - forward;
      if (forward > 0) {
        if (forward <= backward) walk(at, d, stride, forward, true, forward == backward ? 0.5 : 1.0, path);
        if (backward <= forward) walk(at, d, stride, backward, false, forward == backward ? 0.5 : 1.0, path);
        at += (target - place) * stride;
      }
      stride *= extent;
    }
    path.push_back({2 * static_cast<std::size_t>(to) + 1, 1});
  }

 private:
  void walk(int at, std::size_t d, int stride, int steps, bool forward, double part, std::vector<Crossing>& path) const {
    const int extent = extents_[d];
    for (int step = 0; step < steps; ++step) {
      const std::size_t node = static_cast<std::size_t>(at);
      path.push_back({first_ + 2 * (node * extents_.size() + d) + (forward ? 0 : 1), part});
      const int place = at / stride % extent;
      at += ((place + (forward ? 1 : extent - 1)) % extent - place) * stride;
    }
  }

  std::vector<int> extents_;
  Kind link_;
  std::size_t first_ = 0;
};

}  // namespace

std::shared_ptr<const Network> torus_network(const Machine& machine) { return std::make_shared<Torus>(machine); }

}  // namespace ddl
