#include "estimator/search/degrees.hpp"

#include <algorithm>
#include <array>
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
    : devices_(options.devices),
      spatial_rank_(facts.model->input.sequence ? 0 : facts.model->input.rank),
      square_(mirrors_alike(facts)) {
  for (const std::int64_t d : divisors(options.devices)) divisors_.emplace(d, divisors(d));
  const auto is_asked = [&](Family family) {
    return std::any_of(options.families.begin(), options.families.end(),
                       [&](const NamedFamily& each) { return each.family == family; });
  };
  const auto is_axis_asked = [&](Axis axis) {
    return std::any_of(options.families.begin(), options.families.end(),
                       [&](const NamedFamily& each) { return (each.family & family_bit(axis)) != 0; });
  };
  // An axis is never used if the model has nothing that it could divide, and the user did not request it.
  Family never = 0;
  const auto leave_out = [&](Axis axis, bool has_parts) {
    if (!has_parts && !is_axis_asked(axis)) never |= family_bit(axis);
  };
  leave_out(Axis::expert, facts.experts > 0);
  leave_out(Axis::context, facts.context_units > 0);
  leave_out(Axis::pipeline, options.admitted.pipelines);
  for (Family family = 0; family < families; ++family) {
    is_searched_[family] = (family & never) == 0 && is_meaningful(family) && (options.families.empty() || is_asked(family));
    for (Family part = 0; is_searched_[family] && part <= family; ++part) {
      if ((part & ~family) == 0) leads_[part] = true;
    }
  }
}

void Degrees::each(const Take& take) const {
  Mesh mesh;
  fill(mesh, 0, devices_, 0, take);
}

bool Degrees::fill(Mesh& mesh, std::size_t slot, std::int64_t left, Family used, const Take& take) const {
  constexpr std::array<Family, mesh_dimensions> bits = [] {
    std::array<Family, mesh_dimensions> of_slots{};
    for (const Axis axis : all_axes) {
      for (std::size_t d = 0; d < row_of(axis).extents; ++d) of_slots[first_dimension_of(axis) + d] = family_bit(axis);
    }
    return of_slots;
  }();
  Mesh::Degrees& degrees = mesh.degrees();
  const Family with = used | bits[slot];
  if (slot + 1 == degrees.size()) {
    const Family family = left > 1 ? with : used;
    degrees[slot] = static_cast<int>(left);
    return !is_searched_[family] || take(family, mesh);
  }
  // If a model has no extents, one plan of a spatial family is tried, so that its limit is reported.
  constexpr std::size_t first = first_dimension_of(Axis::spatial);
  const std::size_t extents = static_cast<std::size_t>(std::max(1, spatial_rank_));
  const bool is_extent = slot >= first && slot < first + Tiles{}.size();
  const bool unused = is_extent && slot >= first + extents;
  for (const std::int64_t d : divisors_.at(left)) {
    if (d > 1 && (unused || !leads_[with])) break;
    // For square samples, 2×4 tiles and 4×2 tiles are mirror images, so only ascending numbers of tiles are tried.
    if (square_ && is_extent && !unused && slot > first && d < degrees[slot - 1]) continue;
    degrees[slot] = static_cast<int>(d);
    if (!fill(mesh, slot + 1, left / d, d > 1 ? with : used, take)) return false;
  }
  return true;
}

}  // namespace ddl
