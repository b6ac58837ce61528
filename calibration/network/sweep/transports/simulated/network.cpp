#include "calibration/network/sweep/transports/simulated/network.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <fmt/format.h>

#include "core/units.hpp"
#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {
namespace {

/// The time of each simulated kernel that runs concurrently with exchanges.
constexpr Seconds kernel_time(1e-3);
/// A rendezvous takes three messages: request, reply and data.
constexpr double rendezvous_alphas = 3;

class NetworkTransport final : public Transport {
 public:
  explicit NetworkTransport(const SimulatedNetwork& network) : network_(network), random_(network.seed) {
    for (int rank = 0; rank < network.ranks; ++rank) nodes_.push_back(rank / (network.ranks / network.nodes));
  }

  [[nodiscard]] std::string name() const override { return "a simulated network"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override {
    std::vector<std::pair<std::string, std::string>> all{{"latency", print_quantity(network_.latency)},
                                                         {"bandwidth", print_quantity(network_.bandwidth)},
                                                         {"latency_inside", print_quantity(network_.latency_inside)},
                                                         {"bandwidth_inside", print_quantity(network_.bandwidth_inside)},
                                                         {"rails", fmt::format("{}", network_.rails)},
                                                         {"noise", fmt::format("{}", network_.noise)},
                                                         {"seed", fmt::format("{}", network_.seed)}};
    if (!network_.protocols.empty()) {
      std::string text;
      for (const SimulatedProtocol& each : network_.protocols) {
        text += fmt::format("{}{}:{}:{}", text.empty() ? "" : "/", each.name, each.alpha, each.bandwidth);
        if (each.largest) text += ":" + print_quantity(*each.largest);
      }
      all.emplace_back("protocols", text);
      all.emplace_back("protocol_growth", fmt::format("{}", network_.protocol_growth));
    }
    if (network_.rendezvous) all.emplace_back("rendezvous", print_quantity(*network_.rendezvous));
    return all;
  }
  [[nodiscard]] Processes& processes() override { return process_; }
  [[nodiscard]] const std::vector<int>& nodes() const override { return nodes_; }

  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    std::vector<std::vector<Seconds>> times;
    // The mean of many repetitions varies less.
    const double spread = network_.noise / std::sqrt(static_cast<double>(repetitions));
    for (const std::vector<int>& group : step.groups) {
      Seconds time = time_of(step, group);
      if (is_loaded_) {
        time *= network_.exchange_slowdown;
        was_overlapped_ = true;
      }
      if (spread > 0) time *= std::exp(std::normal_distribution<double>(0, spread)(random_));
      times.emplace_back(group.size(), time);
    }
    return times;
  }

  [[nodiscard]] std::unique_ptr<DeviceLoad> simulated_load() override;

 private:
  friend class Load;

  /// The protocol of a message of this size between this many nodes; null if the network has no protocols.
  [[nodiscard]] const SimulatedProtocol* protocol_of(Bytes message, double nodes) const {
    for (const SimulatedProtocol& each : network_.protocols) {
      if (!each.largest) return &each;
      if (message <= *each.largest * std::pow(std::max(1.0, nodes / 2), network_.protocol_growth)) return &each;
    }
    return nullptr;
  }

  [[nodiscard]] Seconds time_of(const ExchangeStep& step, const std::vector<int>& group) const {
    const auto node = [&](int rank) { return nodes_[static_cast<std::size_t>(rank)]; };
    const bool crosses =
        std::any_of(group.begin(), group.end(), [&](int rank) { return node(rank) != node(group.front()); });
    const auto ranks = static_cast<double>(group.size());
    Link link{.alpha = network_.latency_inside, .beta = SecondsPerByte(1 / network_.bandwidth_inside.value())};
    if (crosses) {
      link.alpha = network_.latency;
      // Each rank of a node has its own rail, if there are enough rails. As with NCCL's channels, a
      // ring or a tree uses the rails of all its ranks on a node, but a ring or tree between nodes
      // is not faster than inside a node. All other messages use one rail each.
      const auto on_node = static_cast<double>(
          std::count_if(group.begin(), group.end(), [&](int rank) { return node(rank) == node(group.front()); }));
      const double of_group = network_.rails / static_cast<double>(step.groups.size());
      const bool in_pairs = step.operation == SweepOperation::all_to_all;
      const double rails = in_pairs ? std::min(1.0, of_group / on_node) : std::min(on_node, of_group);
      const SecondsPerByte between(1 / (rails * network_.bandwidth.value()));
      link.beta = on_node > 1 ? max(link.beta, between) : between;
    }
    const SweepOperationKind& kind = kind_of(step.operation);
    const Bytes message(static_cast<double>(step.bytes) * (kind.of_part ? ranks : 1.0));
    std::set<int> nodes;
    for (const int rank : group) nodes.insert(node(rank));
    if (const SimulatedProtocol* protocol = protocol_of(message, static_cast<double>(nodes.size()))) {
      link.alpha *= protocol->alpha;
      link.beta /= protocol->bandwidth;
    }
    const bool in_parts = kind.pattern == ExchangePattern::collective && step.operation != SweepOperation::broadcast;
    if (network_.rendezvous && (in_parts ? message / ranks : message) >= *network_.rendezvous)
      link.alpha *= rendezvous_alphas;
    switch (step.operation) {
      case SweepOperation::latency:
        return link.alpha + message * link.beta;
      case SweepOperation::bandwidth:
      case SweepOperation::two_way_bandwidth:
        // The time per message includes a share of the acknowledgement of the window.
        return 2 * link.alpha / static_cast<double>(step.window) + message * link.beta;
      case SweepOperation::allreduce:
        return ring_allreduce_time(message, ranks, link);
      case SweepOperation::allgather:
        return ring_allgather_time(message, ranks, link);
      case SweepOperation::reduce_scatter:
        return ring_reduce_scatter_time(message, ranks, link);
      case SweepOperation::broadcast:
        return tree_broadcast_time(message, ranks, link);
      case SweepOperation::all_to_all:
        return pairwise_all_to_all_time(message, ranks, link);
    }
    return {};
  }

  SimulatedNetwork network_;
  std::mt19937_64 random_;
  std::vector<int> nodes_;
  SoleProcess process_;
  bool is_loaded_ = false, was_overlapped_ = false;
};

class Load final : public DeviceLoad {
 public:
  explicit Load(NetworkTransport& network) : network_(network) {}
  void start() override {
    network_.is_loaded_ = true;
    network_.was_overlapped_ = false;
  }
  [[nodiscard]] Seconds stop() override {
    network_.is_loaded_ = false;
    return kernel_time * (network_.was_overlapped_ ? network_.network_.kernel_slowdown : 1.0);
  }

 private:
  NetworkTransport& network_;
};

std::unique_ptr<DeviceLoad> NetworkTransport::simulated_load() { return std::make_unique<Load>(*this); }

}  // namespace

std::unique_ptr<Transport> make_simulated_network(const SimulatedNetwork& network) {
  return std::make_unique<NetworkTransport>(network);
}

}  // namespace ddl
