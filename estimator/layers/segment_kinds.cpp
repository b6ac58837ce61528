#include <map>
#include <utility>

#include "estimator/layers/layer_costs.hpp"

namespace ddl {

LayerKinds segment_kinds(const ModelFacts& facts, const Plan& plan, std::vector<LayoutOfMesh> layouts,
                         const std::vector<const LayerKinds*>& of_mesh) {
  LayerKinds kinds;
  kinds.layouts = std::move(layouts);
  kinds.replicated = kinds.layouts.front().replicated;
  const auto count = static_cast<int>(facts.model->layers.size());
  std::vector<std::size_t> layout_of;
  for (int layer = 0; layer < count; ++layer) {
    const Mesh& mesh = mesh_of(plan, layer);
    std::size_t layout = 0;
    while (kinds.layouts[layout].mesh != mesh) ++layout;
    layout_of.push_back(layout);
  }
  std::vector<Borders> borders = borders_of(facts, kinds.layouts, layout_of);
  std::map<std::pair<std::size_t, int>, int> known;
  for (int layer = 0; layer < count; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    const auto next = static_cast<int>(kinds.representative.size());
    int kind = next;
    if (borders[index].is_empty())
      kind = known.try_emplace({layout_of[index], of_mesh[layout_of[index]]->kind[index]}, next).first->second;
    kinds.kind.push_back(kind);
    if (kind < next) {
      kinds.count[static_cast<std::size_t>(kind)] += 1;
      continue;
    }
    kinds.representative.push_back(layer);
    kinds.count.push_back(1);
    kinds.layout.push_back(layout_of[index]);
    kinds.borders.push_back(std::move(borders[index]));
  }
  kinds.runs = LayerRuns(kinds.kind);
  find_block_runs(facts, kinds);
  return kinds;
}

LayerKinds table_kinds(const ModelFacts& facts, const Plan& plan, const LayerKinds& alike) {
  LayerKinds kinds;
  kinds.replicated = alike.replicated;
  std::map<std::pair<int, Tables>, int> known;
  for (std::size_t layer = 0; layer < alike.kind.size(); ++layer) {
    const Tables way =
        facts.is_of_table(layer) ? tables_of(plan, static_cast<std::size_t>(facts.of_table[layer])) : Tables::replicated;
    const auto next = static_cast<int>(kinds.representative.size());
    const int kind = known.try_emplace({alike.kind[layer], way}, next).first->second;
    kinds.kind.push_back(kind);
    if (kind < next) {
      kinds.count[static_cast<std::size_t>(kind)] += 1;
      continue;
    }
    kinds.representative.push_back(static_cast<int>(layer));
    kinds.count.push_back(1);
  }
  kinds.runs = LayerRuns(kinds.kind);
  find_block_runs(facts, kinds);
  return kinds;
}

}  // namespace ddl
