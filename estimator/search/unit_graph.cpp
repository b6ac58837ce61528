#include "estimator/search/unit_graph.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace ddl {
namespace {

using UnitPair = std::pair<std::size_t, std::size_t>;

/// A layer at which a unit may begin, and whether one tensor alone crosses there.
struct UnitPlace {
  int layer = 0;
  bool is_cut = false;
};

std::size_t index_of(int layer) { return static_cast<std::size_t>(layer); }

/// Returns whether a tensor differs between meshes. All ranks read the sample's own tensors.
bool is_exchanged(const ModelFacts& facts, int tensor) { return tensor >= 0 && !facts.of_sample[index_of(tensor)]; }

std::vector<UnitPlace> places_of(const ModelFacts& facts) {
  const auto& layers = facts.model->layers;
  const auto count = static_cast<int>(layers.size());
  std::vector<int> last_reader(layers.size(), -1);
  for (int reader = 0; reader < count; ++reader) {
    for (const int tensor : layers[index_of(reader)].inputs) {
      if (is_exchanged(facts, tensor)) last_reader[index_of(tensor)] = reader;
    }
  }
  // Before the first layer that computes, only the sample crosses.
  std::vector<UnitPlace> places;
  std::vector<int> crossing;
  for (int layer = 1; layer < count; ++layer) {
    if (last_reader[index_of(layer - 1)] >= layer) crossing.push_back(layer - 1);
    std::erase_if(crossing, [&](int tensor) { return last_reader[index_of(tensor)] < layer; });
    if (crossing.empty() || facts.of_sample[index_of(layer)]) continue;
    const int block = layers[index_of(layer)].block;
    const bool begins_block = block != layers[index_of(layer - 1)].block || layer - 1 == facts.last_matrix;
    const bool has_weights = std::binary_search(facts.weighted.begin(), facts.weighted.end(), layer);
    const bool is_matrix = std::binary_search(facts.matrix.begin(), facts.matrix.end(), layer);
    const bool is_cut = crossing.size() == 1;
    if (begins_block || (is_cut ? has_weights : is_matrix && block < 0)) places.push_back({layer, is_cut});
  }
  return places;
}

std::vector<UnitLink> links_of(const ModelFacts& facts, const std::vector<int>& firsts) {
  const auto& layers = facts.model->layers;
  const auto unit_of = [&](int layer) {
    return static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), layer) - firsts.begin()) - 1;
  };
  std::vector<int> readers(layers.size(), 0);
  std::map<UnitPair, UnitLink> links;
  std::set<std::pair<int, std::size_t>> known;  // a tensor, and a unit that reads it
  for (std::size_t reader = 0; reader < layers.size(); ++reader) {
    const std::vector<int>& inputs = layers[reader].inputs;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const int tensor = inputs[input];
      if (!is_exchanged(facts, tensor)) continue;
      if (std::find(inputs.begin(), inputs.end(), tensor) - inputs.begin() == static_cast<std::ptrdiff_t>(input))
        ++readers[index_of(tensor)];
      const std::size_t from = unit_of(tensor), to = unit_of(static_cast<int>(reader));
      if (from == to || !known.insert({tensor, to}).second) continue;
      UnitLink& link = links.try_emplace({from, to}, UnitLink{from, to, {}}).first->second;
      link.tensors.push_back({tensor, static_cast<int>(reader), input, false});
    }
  }
  std::vector<UnitLink> result;
  for (auto& [units, link] : links) {
    for (UnitTensor& each : link.tensors) each.is_lone = readers[index_of(each.tensor)] == 1 && each.input == 0;
    result.push_back(std::move(link));
  }
  return result;
}

/// Returns the neighbors of each unit.
std::vector<std::set<std::size_t>> neighbors_in(std::size_t units, const std::vector<UnitLink>& links) {
  std::vector<std::set<std::size_t>> neighbors(units);
  for (const UnitLink& link : links) {
    neighbors[link.from].insert(link.to);
    neighbors[link.to].insert(link.from);
  }
  return neighbors;
}

/// Joins the neighbors of a unit, and removes the unit.
void eliminate(std::vector<std::set<std::size_t>>& neighbors, std::size_t unit) {
  for (const std::size_t one : neighbors[unit]) {
    for (const std::size_t other : neighbors[unit]) {
      if (one != other) neighbors[one].insert(other);
    }
    neighbors[one].erase(unit);
  }
  neighbors[unit].clear();
}

/// Eliminates units with at most two neighbors, those with fewer neighbors and earlier ones first. Units that are left have
/// more neighbors.
void find_order(UnitGraph& graph) {
  std::vector<std::set<std::size_t>> neighbors = neighbors_in(graph.firsts.size(), graph.links);
  std::array<std::set<std::size_t>, 3> ready;  // units, by number of neighbors
  for (std::size_t unit = 0; unit < neighbors.size(); ++unit) {
    if (neighbors[unit].size() < ready.size()) ready[neighbors[unit].size()].insert(unit);
  }
  while (true) {
    const auto next = std::find_if(ready.begin(), ready.end(), [](const auto& units) { return !units.empty(); });
    if (next == ready.end()) return;
    const std::size_t unit = *next->begin();
    next->erase(next->begin());
    graph.order.push_back(unit);
    const std::set<std::size_t> around = neighbors[unit];
    for (const std::size_t each : around) {
      if (neighbors[each].size() < ready.size()) ready[neighbors[each].size()].erase(each);
    }
    eliminate(neighbors, unit);
    for (const std::size_t each : around) {
      if (neighbors[each].size() < ready.size()) ready[neighbors[each].size()].insert(each);
    }
  }
}

/// Removes the places between cuts around the units that cannot be eliminated.
void join_units(const UnitGraph& graph, std::vector<UnitPlace>& places) {
  std::vector<bool> is_left(graph.firsts.size(), true);
  for (const std::size_t unit : graph.order) is_left[unit] = false;
  // The place `i` is the beginning of the unit i + 1.
  std::vector<UnitPlace> kept;
  for (std::size_t first = 0; first < is_left.size();) {
    std::size_t last = first + 1;
    while (last < is_left.size() && !places[last - 1].is_cut) ++last;
    const bool joins =
        std::find(is_left.begin() + static_cast<std::ptrdiff_t>(first), is_left.begin() + static_cast<std::ptrdiff_t>(last),
                  true) != is_left.begin() + static_cast<std::ptrdiff_t>(last);
    if (first > 0) kept.push_back(places[first - 1]);
    for (std::size_t unit = first + 1; unit < last && !joins; ++unit) kept.push_back(places[unit - 1]);
    first = last;
  }
  places = std::move(kept);
}

/// Returns the indices of states s and t in the costs of a link between the units `one` and `other`.
std::size_t place_in_link(std::size_t one, std::size_t s, std::size_t other, std::size_t t, std::size_t states) {
  return one < other ? s * states + t : t * states + s;
}

}  // namespace

UnitGraph unit_graph(const ModelFacts& facts) {
  std::vector<UnitPlace> places = places_of(facts);
  while (true) {
    UnitGraph graph;
    graph.firsts.push_back(0);
    graph.cuts_before.push_back(0);
    for (const UnitPlace& place : places) {
      graph.firsts.push_back(place.layer);
      graph.cuts_before.push_back(graph.cuts_before.back() + (place.is_cut ? 1 : 0));
    }
    graph.links = links_of(facts, graph.firsts);
    find_order(graph);
    if (graph.order.size() == graph.firsts.size()) return graph;
    join_units(graph, places);
  }
}

UnitStates least_states(const UnitGraph& graph, std::vector<std::vector<double>> of_unit,
                        const std::vector<std::vector<double>>& of_link) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const std::size_t states = of_unit.front().size();
  std::map<UnitPair, std::vector<double>> costs;
  for (std::size_t i = 0; i < graph.links.size(); ++i)
    costs.emplace(UnitPair{graph.links[i].from, graph.links[i].to}, of_link[i]);
  std::vector<std::set<std::size_t>> neighbors = neighbors_in(graph.firsts.size(), graph.links);
  // For each unit: its neighbors when it is eliminated, and its best state for each of their states.
  std::vector<std::vector<std::size_t>> around(of_unit.size()), best(of_unit.size());
  for (const std::size_t unit : graph.order) {
    around[unit].assign(neighbors[unit].begin(), neighbors[unit].end());
    const std::size_t count = around[unit].size();
    const std::size_t one = count > 0 ? around[unit][0] : unit, other = count > 1 ? around[unit][1] : one;
    const auto to_link = [&](std::size_t neighbor) { return UnitPair{std::min(unit, neighbor), std::max(unit, neighbor)}; };
    const std::vector<double>* to_one = count > 0 ? &costs.at(to_link(one)) : nullptr;
    const std::vector<double>* to_other = count > 1 ? &costs.at(to_link(other)) : nullptr;
    const std::size_t of_one = count > 0 ? states : 1, of_other = count > 1 ? states : 1;
    std::vector<double> least(of_one * of_other, infinite);
    best[unit].assign(least.size(), 0);
    for (std::size_t own = 0; own < states; ++own) {
      if (of_unit[unit][own] == infinite) continue;
      for (std::size_t s = 0; s < of_one; ++s) {
        const double before =
            of_unit[unit][own] + (to_one != nullptr ? (*to_one)[place_in_link(unit, own, one, s, states)] : 0);
        if (before == infinite) continue;
        for (std::size_t t = 0; t < of_other; ++t) {
          const double cost = before + (to_other != nullptr ? (*to_other)[place_in_link(unit, own, other, t, states)] : 0);
          if (cost >= least[s * of_other + t]) continue;
          least[s * of_other + t] = cost;
          best[unit][s * of_other + t] = own;
        }
      }
    }
    if (count == 0) {
      of_unit[unit] = least;
    } else if (count == 1) {
      for (std::size_t s = 0; s < states; ++s) of_unit[one][s] += least[s];
    } else {
      std::vector<double>& sum = costs.try_emplace({one, other}, states * states, 0.0).first->second;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += least[i];
    }
    eliminate(neighbors, unit);
  }
  UnitStates result;
  result.of_unit.resize(of_unit.size());
  for (auto unit = graph.order.rbegin(); unit != graph.order.rend(); ++unit) {
    std::size_t at = 0;
    for (const std::size_t each : around[*unit]) at = at * states + result.of_unit[each];
    result.of_unit[*unit] = best[*unit][at];
    if (around[*unit].empty()) result.cost += of_unit[*unit].front();
  }
  return result;
}

}  // namespace ddl
