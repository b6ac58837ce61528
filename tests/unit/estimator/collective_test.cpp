#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "estimator/exchanges/collectives/times.hpp"
#include "tests/catch.hpp"

namespace {

using namespace ddl;

constexpr Link wire{Seconds(1.0), SecondsPerByte(0.01), SecondsPerByte(0.001)};  // α = 1 s, β = 10 ms/B, c = 1 ms/B
constexpr Bytes message(800);                                                    // mβ = 8 s, mc = 0.8 s

Link without_adding(Link l) {
  l.add = SecondsPerByte();
  return l;
}

/// Every collective as a function of message, ranks and link, for tests of properties that all
/// collectives share. Collectives with two levels have the ranks in nodes of four (or in one node,
/// if four does not divide the ranks), with equal links and φ = 1.
struct NamedTime {
  std::string name;
  std::function<Seconds(Bytes, double, const Link&)> time;
  bool dense_allreduce;  ///< whether the lower bound applies
};

std::vector<NamedTime> all_times() {
  const auto two_levels = [](auto time) {
    return [time](Bytes m, double ranks, const Link& l) {
      const bool whole_nodes = ranks >= 4 && static_cast<int>(ranks) % 4 == 0;
      return whole_nodes ? time(m, 4.0, ranks / 4, l, l, 1.0) : time(m, ranks, 1.0, l, l, 1.0);
    };
  };
  return {
      {"linear reduce", linear_reduce_time, false},
      {"linear allreduce", linear_allreduce_time, true},
      {"tree allreduce", tree_allreduce_time, true},
      {"butterfly allreduce", butterfly_allreduce_time, true},
      {"ring allreduce", ring_allreduce_time, true},
      {"rabenseifner allreduce", rabenseifner_allreduce_time, true},
      {"lower bound", allreduce_lower_bound, true},
      {"ring allgather", ring_allgather_time, false},
      {"ring reduce-scatter", ring_reduce_scatter_time, false},
      {"pairwise all-to-all", pairwise_all_to_all_time, false},
      {"tree broadcast", tree_broadcast_time, false},
      {"chain broadcast", chain_broadcast_time, false},
      {"parameter server", [](Bytes m, double p, const Link& l) { return parameter_server_time(m, p, 2, l); }, false},
      {"sparse", [](Bytes m, double p, const Link& l) { return sparse_allreduce_time(m, std::nullopt, p, Seconds(), l); },
       false},
      {"sparse-dense", [](Bytes m, double p, const Link& l) { return sparse_allreduce_time(m, m, p, Seconds(), l); }, false},
      {"hierarchical", two_levels(hierarchical_allreduce_time), true},
      {"leader", two_levels(leader_allreduce_time), true},
  };
}

constexpr std::array<double, 9> some_ranks{2, 3, 4, 5, 7, 8, 64, 1000, 4096};

}  // namespace

TEST_CASE("one-level collectives take the time of the formulas") {
  // With P = 8, ⌈log2 P⌉ is 3. A slice of 100 B takes mβ/P = 1 s to send, and mc/P = 0.1 s to add.
  const double p = 8;
  // 7 · (1 + 8 + 0.8)
  CHECK(linear_reduce_time(message, p, wire).value() == Approx(68.6));
  // the time of the linear reduce, plus 7 · (1 + 8) for the broadcast
  CHECK(linear_allreduce_time(message, p, wire).value() == Approx(68.6 + 63.0));
  // 2 · 3 · (1 + 8) + 3 · 0.8
  CHECK(tree_allreduce_time(message, p, wire).value() == Approx(56.4));
  // 3 · (1 + 8)
  CHECK(tree_broadcast_time(message, p, wire).value() == Approx(27.0));
  // 7 · 1 + 8, and 0.8 for the sum
  CHECK(chain_broadcast_time(message, p, wire).value() == Approx(15.0));
  CHECK(chain_reduce_time(message, p, wire).value() == Approx(15.8));
  // 3 · (1 + 8 + 0.8)
  CHECK(butterfly_allreduce_time(message, p, wire).value() == Approx(29.4));
  // 7 · (1 + 1)
  CHECK(ring_allgather_time(message, p, wire).value() == Approx(14.0));
  // 7 · (1 + 1) + 7 · 0.1
  CHECK(ring_reduce_scatter_time(message, p, wire).value() == Approx(14.7));
  // 14 · (1 + 1) + 7 · 0.1
  CHECK(ring_allreduce_time(message, p, wire).value() == Approx(28.7));
  // 2 · 3 · 1 + 2 · 8 · 7/8 + 0.8 · 7/8
  CHECK(rabenseifner_allreduce_time(message, p, wire).value() == Approx(20.7));
  // 3 · 1 + 2 · 8 · 7/8; nothing is added
  CHECK(allreduce_lower_bound(message, p, wire).value() == Approx(17.0));
  // 7 · (1 + 1)
  CHECK(pairwise_all_to_all_time(message, p, wire).value() == Approx(14.0));
}

TEST_CASE("an All-to-all among nodes takes the longer of its traffic between and inside nodes") {
  constexpr Bytes eight(8000.0);
  const Link slow{Seconds(2), Seconds(10) / Bytes(1000.0)}, fast{Seconds(1), Seconds(1) / Bytes(1000.0)};
  // The seven messages have start-ups of 7 · 2 s. Four slices of 1,000 bytes go to the other node, and three stay in the
  // node.
  CHECK(hierarchical_all_to_all_time(eight, 4, 2, fast, slow).value() == Approx(14 + 4 * 10.0));
  CHECK(hierarchical_all_to_all_time(eight, 4, 2, slow, fast).value() == Approx(7 + 3 * 10.0));
  // With nodes of one rank, the exchange is pairwise.
  CHECK(hierarchical_all_to_all_time(eight, 1, 8, fast, slow).value() ==
        Approx(pairwise_all_to_all_time(eight, 8, slow).value()));
}

TEST_CASE("tokens that are routed once are sent once to each unit") {
  // With one copy, or with a single receiver, all copies are sent.
  CHECK(share_of_copies(4, 1) == 1);
  CHECK(share_of_copies(1e9, 8) == Approx(1));
  // In half of the cases, a token's two experts are on the same node. On average, 1.5 of 2 copies are therefore sent.
  CHECK(share_of_copies(2, 2) == Approx(0.75));
  // A single node receives one of eight copies.
  CHECK(share_of_copies(1, 8) == Approx(1.0 / 8));
}

TEST_CASE("tokens with consecutive experts reach few units") {
  // All eight experts of a token are on one of eight ranks with 16 experts each, and on two of 64 ranks with four of 256.
  CHECK(share_of_consecutive(8, 128, 8) == Approx(1.0 / 8));
  CHECK(share_of_consecutive(64, 256, 8) == Approx(2.0 / 8));
  // Six experts begin at an even expert. Of eight beginnings on a rank with 16 experts, two reach the next rank.
  CHECK(share_of_consecutive(8, 128, 6) == Approx((1 + 2.0 / 8) / 6));
  CHECK(share_of_consecutive(8, 8, 2) == 1);
  CHECK(share_of_consecutive(2, 8, 8) == Approx(2.0 / 8));
  CHECK(share_of_consecutive(4, 8, 1) == 1);
}

TEST_CASE("tokens that first choose groups of experts reach fewer units") {
  // Each of eight nodes holds one of eight groups, of which a token chooses four [DSV3, section 2.1.2].
  CHECK(units_of_groups(8, 8, 4) == Approx(4));
  // With two nodes a group, half of the nodes hold the chosen groups.
  CHECK(units_of_groups(16, 8, 4) == Approx(8));
  // With two groups a node, a node has none of the chosen ones with the probability C(6, 4)/C(8, 4) = 15/70.
  CHECK(units_of_groups(4, 8, 4) == Approx(4 * (1 - 15.0 / 70)));
  CHECK(units_of_groups(1, 8, 4) == Approx(1));
  // Without groups, or if all groups are chosen, a token may use every unit.
  CHECK(units_of_groups(64, 0, 0) == 64);
  CHECK(units_of_groups(8, 8, 8) == 8);
}

TEST_CASE("ranks that are not a power of two need an additional round") {
  // With P = 5, recursive doubling has ⌈log2 5⌉ = 3 rounds of (1 + 8 + 0.8) s. Rabenseifner takes 6 · 1 + 16 · 4/5 + 0.8 ·
  // 4/5 s.
  CHECK(butterfly_allreduce_time(message, 5, wire).value() == Approx(29.4));
  CHECK(rabenseifner_allreduce_time(message, 5, wire).value() == Approx(19.44));
  // Powers of two take no additional round: 2^20 ranks are 20 rounds of (1 + 8).
  CHECK(tree_broadcast_time(message, 1048576, wire).value() == Approx(180.0));
  CHECK(tree_broadcast_time(message, 1048577, wire).value() == Approx(189.0));
}

TEST_CASE("parameter servers are bound by the busier end of a link") {
  // With P = 8 and s = 2, each server transfers m/2 for each of 8 workers: 4m in each direction. The time is 2 · 8 · 4 + 2 ·
  // 1 s.
  CHECK(parameter_server_time(message, 8, 2, wire).value() == Approx(66.0));
  // With s = 8 or more, a worker's own link limits the time: m in each direction takes 2 · 8 + 2 · 1 s. More servers do not
  // help.
  CHECK(parameter_server_time(message, 8, 8, wire).value() == Approx(18.0));
  CHECK(parameter_server_time(message, 8, 80, wire).value() == Approx(18.0));
}

TEST_CASE("sparse exchange switches to dense blocks when these are smaller") {
  // With P = 8 and N2 = 50 B, the exchange takes 14 · 1 + 14 · 0.5 s, and compression takes 3 s.
  CHECK(sparse_allreduce_time(Bytes(50), std::nullopt, 8, Seconds(3), wire).value() == Approx(24.0));
  // A dense block has N1/P = 800/8 = 100 B, which is more than N2, so the vector stays sparse.
  CHECK(sparse_allreduce_time(Bytes(50), message, 8, Seconds(3), wire).value() == Approx(24.0));
  // With N2 = 500 B, dense blocks of 100 B are smaller. The time is 14 · 1 + 14 · 1 + 3 s.
  CHECK(sparse_allreduce_time(Bytes(500), message, 8, Seconds(3), wire).value() == Approx(31.0));
}

TEST_CASE("two-level collectives share the outer link among φ flows") {
  // g = 4 ranks in each of n = 2 nodes; inside α = 0.1 s, β = 1 ms/B, c = 0.5 ms/B; between as `wire`; φ = 3.
  const Link inside{Seconds(0.1), SecondsPerByte(0.001), SecondsPerByte(0.0005)};
  // Inside nodes, the time is 2 · 3 · (0.1 + 200 · 0.001) + 3 · 200 · 0.0005 = 1.8 + 0.3 s. Between nodes, a ring of 2
  // exchanges a slice of 800/4 = 200 B: 2 · 1 · (1 + 100 · 0.03) + 100 · 0.001 = 8 + 0.1 s.
  CHECK(hierarchical_allreduce_time(message, 4, 2, inside, wire, 3).value() == Approx(10.2));
  // The time inside nodes is as before. Between nodes, a ring of 2 exchanges all 800 B: 2 · 1 · (1 + 400 · 0.03) + 400 ·
  // 0.001 = 26 + 0.4 s.
  CHECK(leader_allreduce_time(message, 4, 2, inside, wire, 3).value() == Approx(28.5));
}

TEST_CASE("two-level collectives in one node, or with one rank a node, are rings") {
  const Link inside{Seconds(0.1), SecondsPerByte(0.001), SecondsPerByte(0.0005)};
  const Seconds in_node = ring_allreduce_time(message, 6, inside);
  CHECK(hierarchical_allreduce_time(message, 6, 1, inside, wire, 3).value() == Approx(in_node.value()));
  CHECK(leader_allreduce_time(message, 6, 1, inside, wire, 3).value() == Approx(in_node.value()));

  const Seconds between_nodes = ring_allreduce_time(message, 6, wire);
  CHECK(hierarchical_allreduce_time(message, 1, 6, inside, wire, 1).value() == Approx(between_nodes.value()));
  CHECK(leader_allreduce_time(message, 1, 6, inside, wire, 1).value() == Approx(between_nodes.value()));
}

TEST_CASE("collectives of fewer than two ranks take no time") {
  for (const NamedTime& collective : all_times()) {
    INFO(collective.name);
    CHECK(collective.time(message, 1, wire) == Seconds());
    CHECK(collective.time(message, 0, wire) == Seconds());
  }
  CHECK(sparse_allreduce_time(Bytes(50), message, 1, Seconds(3), wire) == Seconds());
  CHECK(hierarchical_allreduce_time(message, 1, 1, wire, wire, 3) == Seconds());
  CHECK(leader_allreduce_time(message, 1, 1, wire, wire, 3) == Seconds());
}

TEST_CASE("more bandwidth never makes a collective slower, and a larger message never faster") {
  for (const NamedTime& collective : all_times()) {
    for (const double ranks : some_ranks) {
      INFO(collective.name << " over " << ranks << " ranks");
      Seconds before{};
      for (const double beta : {0.0, 1e-12, 1e-10, 1e-8}) {
        const Seconds time =
            collective.time(Bytes(1e8), ranks, {Seconds(1e-5), SecondsPerByte(beta), SecondsPerByte(1e-11)});
        CHECK(time >= before);
        before = time;
      }
      before = {};
      for (const double bytes : {0.0, 1.0, 1e3, 1e6, 1e9, 1e12}) {
        const Seconds time =
            collective.time(Bytes(bytes), ranks, {Seconds(1e-5), SecondsPerByte(1e-10), SecondsPerByte(1e-11)});
        CHECK(time > before);  // at 0 bytes, the time is α
        before = time;
      }
    }
  }
}

TEST_CASE("a larger φ never makes a two-level collective faster") {
  for (const auto time : {hierarchical_allreduce_time, leader_allreduce_time}) {
    CHECK(time(message, 4, 8, wire, wire, 2) > time(message, 4, 8, wire, wire, 1));
    CHECK(time(message, 4, 1, wire, wire, 2) == time(message, 4, 1, wire, wire, 1));
  }
}

// A parameter server is excluded, because the single round trip of its workers omits the servers'
// ports. Sparse vectors are excluded, because they are shorter than the dense message of the bound.
TEST_CASE("if adding is free, no dense Allreduce is below the lower bound") {
  for (const NamedTime& collective : all_times()) {
    if (!collective.dense_allreduce) continue;
    for (const double ranks : some_ranks) {
      for (const double bytes : {1.0, 1e4, 1e6, 1e9}) {
        for (const double alpha : {0.0, 1e-6, 1e-3}) {
          INFO(collective.name << ", " << ranks << " ranks, " << bytes << " bytes, alpha " << alpha);
          const Link l{Seconds(alpha), SecondsPerByte(1e-10), SecondsPerByte()};
          const double bound = allreduce_lower_bound(Bytes(bytes), ranks, l).value();
          CHECK(collective.time(Bytes(bytes), ranks, l).value() >= bound * (1 - 1e-12));
        }
      }
    }
  }
}

TEST_CASE("an Allreduce ring is a Reduce-scatter and an Allgather") {
  for (const double ranks : some_ranks) {
    const Seconds halves = ring_reduce_scatter_time(message, ranks, wire) + ring_allgather_time(message, ranks, wire);
    CHECK(ring_allreduce_time(message, ranks, wire).value() == Approx(halves.value()));
  }
}

TEST_CASE("with free additions, equal levels and φ = 1, the hierarchical Allreduce moves as many bytes as the ring") {
  // α = 0: 2(g−1)/g·mβ + 2(n−1)/(gn)·mβ = 2(gn−1)/(gn)·mβ.
  const Link l = without_adding({Seconds(), wire.beta, wire.add});
  CHECK(hierarchical_allreduce_time(message, 8, 16, l, l, 1).value() ==
        Approx(ring_allreduce_time(message, 128, l).value()));
}

TEST_CASE("except for start-ups, a chained Reduce and Broadcast do not depend on the number of ranks") {
  // The time is 2(P-1)α + 2mβ: 1 MB over 1 GB/s takes 1 ms in each direction.
  const Link link{Seconds(1e-5), SecondsPerByte(1e-9), {}};
  CHECK(reduce_broadcast_time(Bytes(1e6), 1, link) == Seconds{});
  CHECK(reduce_broadcast_time(Bytes(1e6), 2, link).value() == Approx(2e-3 + 2e-5));
  CHECK(reduce_broadcast_time(Bytes(1e6), 8, link).value() == Approx(2e-3 + 14e-5));
  CHECK(reduce_broadcast_time(Bytes(1e6), 8, link) > ring_allreduce_time(Bytes(1e6), 8, link));
}

TEST_CASE("the names of Allreduce algorithms are parsed to the same algorithms") {
  std::set<std::string> names;
  for (const AllreduceAlgorithm algorithm : enum_values<AllreduceAlgorithm>) {
    CHECK(parse_enum<AllreduceAlgorithm>(to_string(algorithm)) == algorithm);
    names.emplace(to_string(algorithm));
  }
  CHECK(names.size() == enum_values<AllreduceAlgorithm>.size());
  CHECK_FALSE(parse_enum<AllreduceAlgorithm>("rings").has_value());
  CHECK_FALSE(parse_enum<AllreduceAlgorithm>("").has_value());
  CHECK_FALSE(parse_enum<AllreduceAlgorithm>("Ring").has_value());
}

TEST_CASE("collectives have different names") {
  std::set<std::string> names;
  for (const Collective operation :
       {Collective::allreduce, Collective::allgather, Collective::reduce_scatter, Collective::all_to_all,
        Collective::broadcast, Collective::reduce, Collective::point_to_point}) {
    names.emplace(to_string(operation));
  }
  CHECK(names.size() == 7);
  CHECK(names.count("all-to-all") == 1);
}
