#include "calibration/network/sweep/sweep_groups.hpp"

#include <algorithm>
#include <cstddef>

namespace ddl {
namespace {

using Members = std::vector<std::vector<int>>;

Members by_node(std::span<const int> nodes) {
  Members members;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const auto node = static_cast<std::size_t>(nodes[rank]);
    if (members.size() <= node) members.resize(node + 1);
    members[node].push_back(static_cast<int>(rank));
  }
  return members;
}

/// Returns 2, 4, 8, … below a number, then the number itself.
std::vector<std::size_t> doublings(std::size_t least, std::size_t all) {
  std::vector<std::size_t> counts;
  for (std::size_t count = least; count < all; count *= 2) counts.push_back(count);
  if (all >= least) counts.push_back(all);
  return counts;
}

std::size_t ranks_per_node(const Members& members) {
  return std::min_element(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); })
      ->size();
}

std::vector<int> of_each(const Members& members, std::size_t nodes, std::size_t first, std::size_t count) {
  std::vector<int> ranks;
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto begin = members[node].begin() + static_cast<std::ptrdiff_t>(first);
    ranks.insert(ranks.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return ranks;
}

/// The node with the most ranks.
const std::vector<int>& fullest(const Members& members) {
  return *std::max_element(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
}

}  // namespace

std::vector<SweepGroup> sweep_pairs(std::span<const int> nodes) {
  const Members members = by_node(nodes);
  std::vector<SweepGroup> pairs;
  if (members.empty()) return pairs;
  if (const std::vector<int>& node = fullest(members); node.size() > 1) pairs.push_back({{node[0], node[1]}, 1});
  if (members.size() > 1) pairs.push_back({{members[0].front(), members[1].front()}, 2});
  return pairs;
}

std::vector<SweepGroup> sweep_collective_groups(std::span<const int> nodes) {
  const Members members = by_node(nodes);
  std::vector<SweepGroup> groups;
  if (nodes.size() == 1) groups.push_back({{0}, 1});
  if (nodes.size() < 2) return groups;
  const std::vector<int>& node = fullest(members);
  for (const std::size_t count : doublings(2, node.size())) {
    groups.push_back({{node.begin(), node.begin() + static_cast<std::ptrdiff_t>(count)}, 1});
  }
  for (const std::size_t count : doublings(2, members.size())) {
    groups.push_back({of_each(members, count, 0, 1), static_cast<int>(count)});
  }
  const std::size_t each = ranks_per_node(members);
  if (members.size() > 1 && each > 1) {
    groups.push_back({of_each(members, members.size(), 0, each), static_cast<int>(members.size())});
  }
  return groups;
}

std::vector<Members> sweep_contenders(std::span<const int> nodes) {
  const Members members = by_node(nodes);
  std::vector<Members> sets;
  if (members.size() < 2 || ranks_per_node(members) < 2) return sets;
  for (const std::size_t count : doublings(1, ranks_per_node(members))) {
    Members groups;
    for (std::size_t k = 0; k < count; ++k) groups.push_back(of_each(members, members.size(), k, 1));
    sets.push_back(std::move(groups));
  }
  return sets;
}

}  // namespace ddl
