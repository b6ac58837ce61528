#include "estimator/search/degrees.hpp"

#include <algorithm>
#include <ranges>

#include "estimator/strategies/spatial.hpp"

namespace ddl {

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

namespace {

/// Returns the largest divisor of a number that is at most `most`; at least 1.
std::int64_t largest_divisor(std::int64_t number, std::int64_t most) {
  while (most > 1 && number % most != 0) --most;
  return std::max<std::int64_t>(most, 1);
}

}  // namespace

std::vector<Mesh> neighbors_of(const Mesh& mesh) {
  std::vector<Mesh> found;
  for (std::size_t from = 0; from < mesh_dimensions; ++from) {
    for (int left = mesh.degrees()[from], prime = 2; left > 1; ++prime) {
      if (prime * prime > left) prime = left;
      if (left % prime != 0) continue;
      while (left % prime == 0) left /= prime;
      for (std::size_t to = 0; to < mesh_dimensions; ++to) {
        if (to == from) continue;
        Mesh& other = found.emplace_back(mesh);
        other.degrees()[from] /= prime;
        other.degrees()[to] *= prime;
      }
    }
  }
  return found;
}

std::vector<Mesh> usual_meshes(const SearchOptions& options, const ModelFacts& facts, const Machine& machine) {
  // Layers are commonly split among at most the eight GPUs of a node [Nar21]. The innermost level of other machines joins
  // more devices: 72 with NVLink, 4,096 in a pod of TPUs.
  constexpr std::int64_t most_parts = 8;
  const std::int64_t node = largest_divisor(options.devices, std::min<std::int64_t>(machine.devices_per_node(), most_parts));
  const std::vector<std::int64_t> degrees = node > 1 ? std::vector<std::int64_t>{node, 1} : std::vector<std::int64_t>{1};
  std::vector<Mesh> meshes;
  for (const std::int64_t stages : {1, 2, 4, 8, 16}) {
    for (const std::int64_t parts : degrees | std::views::reverse) {
      for (const std::int64_t experts : degrees) {
        const std::int64_t copies = options.devices / (stages * parts * experts);
        if (copies * stages * parts * experts != options.devices || (experts > 1 && facts.experts == 0)) continue;
        Mesh mesh{{Axis::pipeline, static_cast<int>(stages)}, {Axis::tensor, static_cast<int>(parts)}};
        mesh.set(Axis::expert, static_cast<int>(experts));
        mesh.set(Axis::data, static_cast<int>(copies));
        const auto is_asked = [&](const NamedFamily& each) { return each.family == mesh.family(); };
        const bool is_searched = options.families.empty()
                                     ? stages == 1 || options.admitted.pipelines
                                     : std::any_of(options.families.begin(), options.families.end(), is_asked);
        if (is_searched) meshes.push_back(mesh);
      }
    }
  }
  return meshes;
}

Degrees::Degrees(const SearchOptions& options, const ModelFacts& facts)
    : options_(options),
      spatial_rank_(facts.model->input.sequence ? 0 : facts.model->input.rank),
      square_(mirrors_alike(facts)),
      facts_(facts) {
  for (const std::int64_t d : divisors(options.devices)) divisors_.emplace(d, divisors(d));
}

void Degrees::each(const Take& take) const {
  Mesh mesh;
  fill(mesh, 0, options_.devices, take);
}

bool Degrees::fill(Mesh& mesh, std::size_t slot, std::int64_t left, const Take& take) const {
  Mesh::Degrees& degrees = mesh.degrees();
  if (slot + 1 == degrees.size()) {
    if (left > 1 && is_never_used(slot)) return true;
    degrees[slot] = static_cast<int>(left);
    const Family family = mesh.family();
    if (!is_meaningful(family)) return true;
    const auto is_asked = [&](const NamedFamily& each) { return each.family == family; };
    if (!options_.families.empty() && std::none_of(options_.families.begin(), options_.families.end(), is_asked))
      return true;
    return take(family, mesh);
  }
  // If a model has no extents, one plan of a spatial family is tried, so that its limit is reported.
  constexpr std::size_t first = first_dimension_of(Axis::spatial);
  const std::size_t extents = static_cast<std::size_t>(std::max(1, spatial_rank_));
  const bool is_extent = slot >= first && slot < first + Tiles{}.size();
  const bool unused = is_extent && slot >= first + extents;
  const bool never = is_never_used(slot);
  for (const std::int64_t d : divisors_.at(left)) {
    if ((unused || never) && d > 1) break;
    // For square samples, 2×4 tiles and 4×2 tiles are mirror images, so only ascending numbers of tiles are tried.
    if (square_ && is_extent && !unused && slot > first && d < degrees[slot - 1]) continue;
    degrees[slot] = static_cast<int>(d);
    if (!fill(mesh, slot + 1, left / d, take)) return false;
  }
  return true;
}

bool Degrees::is_never_used(std::size_t slot) const {
  const auto is_asked = [&](Axis axis) {
    return std::any_of(options_.families.begin(), options_.families.end(),
                       [&](const NamedFamily& each) { return (each.family & family_bit(axis)) != 0; });
  };
  if (slot == first_dimension_of(Axis::expert)) return facts_.experts == 0 && !is_asked(Axis::expert);
  if (slot == first_dimension_of(Axis::context)) return facts_.context_units == 0 && !is_asked(Axis::context);
  if (slot == first_dimension_of(Axis::pipeline)) return !options_.admitted.pipelines && !is_asked(Axis::pipeline);
  return false;
}

}  // namespace ddl
