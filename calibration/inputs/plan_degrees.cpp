#include "calibration/inputs/plan_degrees.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "estimator/strategies/embedding_tables.hpp"

namespace ddl {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

int parse_degree(std::string_view text, std::string_view whole) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > largest_degree) {
    throw Error(fmt::format("{} in {} is not a degree", quote(text), quote(whole)),
                fmt::format("a degree is a whole number from 1 to {}", largest_degree));
  }
  return static_cast<int>(value);
}

Axis axis_named(std::string_view name) {
  const std::optional<Axis> axis = parse_axis(name);
  if (!axis) throw Error(fmt::format("unknown strategy {}", quote(name)), suggest(name, axis_names()));
  return *axis;
}

}  // namespace

std::string too_many_devices(const Mesh& mesh) {
  std::int64_t product = 1;
  for (const int each : mesh.degrees()) {
    product *= each;  // both numbers are at most 2^20
    if (product > largest_degree) return fmt::format("the product of the degrees exceeds {}", largest_degree);
  }
  return {};
}

void parse_degrees(std::string_view text, Plan& plan, std::string_view option) {
  Family seen = 0;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      throw Error(fmt::format("{} in {} is not of the form strategy=degree", quote(part), quote(text)),
                  fmt::format("use for example {} data=64,spatial=2x2", option));
    }
    const Axis axis = axis_named(part.substr(0, equals));
    plan.zero_stage = std::max(plan.zero_stage, zero_stage_in(part.substr(0, equals)).value_or(0));
    if ((seen & family_bit(axis)) != 0)
      throw Error(fmt::format("'{}' is given twice in {}", to_string(axis), quote(text)), "keep only one of them");
    seen |= family_bit(axis);
    const std::string_view value = part.substr(equals + 1);
    if (axis != Axis::spatial) {
      plan.mesh.set(axis, parse_degree(value, text));
      continue;
    }
    const std::vector<std::string_view> extents = split(value, 'x');
    if (extents.size() > 3)
      throw Error(fmt::format("{} has more than three extents", quote(value)), "use for example spatial=2x2");
    Tiles tiles = plan.mesh.tiles();
    for (std::size_t d = 0; d < extents.size(); ++d) tiles[d] = parse_degree(extents[d], text);
    plan.mesh.set_tiles(tiles);
  }
  if (const std::string why = too_many_devices(plan.mesh); !why.empty())
    throw Error(fmt::format("{} is too large: {}", quote(text), why), "use smaller degrees");
}

void parse_layouts(std::string_view text, Plan& plan, std::string_view option) {
  const std::vector<std::string_view> parts = split(text, ' ');
  parse_degrees(parts.front(), plan, option);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (const std::optional<TableSegment> tables = parse_table_segment(parts[i])) {
      const int earlier = plan.table_segments.empty() ? 0 : plan.table_segments.back().first;
      if (tables->first <= earlier)
        throw Error(fmt::format("the tables in {} are not in order", quote(text)), "use for example data=8 t1:dp t9:cw");
      plan.table_segments.push_back(*tables);
      continue;
    }
    if (const std::optional<RecomputeSegment> recompute = parse_recompute_segment(parts[i])) {
      if (!plan.recompute_segments.empty() && plan.recompute_segments.back().first >= recompute->first)
        throw Error(fmt::format("the recompute segments in {} are not in the order of their layers", quote(text)),
                    "use for example data=8 from16:keep from32:ac, with recompute: full");
      plan.recompute_segments.push_back(*recompute);
      continue;
    }
    if (const std::optional<ZeroSegment> zero = parse_zero_segment(parts[i])) {
      if (zero->first <= (plan.zero_segments.empty() ? 0 : plan.zero_segments.back().first))
        throw Error(fmt::format("the ZeRO segments in {} are not in the order of their layers", quote(text)),
                    "use for example data=8 from16:z2 from32:z3");
      plan.zero_segments.push_back(*zero);
      continue;
    }
    constexpr std::string_view sign = "from";
    const std::size_t colon = std::min(parts[i].find(':'), parts[i].size());
    Plan own;
    LayerSegment segment;
    const char* const number = parts[i].data() + std::min(sign.size(), colon);
    const auto [end, error] = std::from_chars(number, parts[i].data() + colon, segment.first);
    const int before = plan.segments.empty() ? 0 : plan.segments.back().first;
    if (!parts[i].starts_with(sign) || error != std::errc{} || end != parts[i].data() + colon || colon == parts[i].size() ||
        segment.first <= before) {
      throw Error(fmt::format("{} in {} is not the layout of later layers", quote(parts[i]), quote(text)),
                  fmt::format("use for example {} data=8 from16:tensor=8", option));
    }
    parse_degrees(parts[i].substr(colon + 1), own, option);
    segment.mesh = own.mesh;
    if (own.zero_stage > 0)
      throw Error(fmt::format("{} in {} names a ZeRO stage", quote(parts[i]), quote(text)), "use data instead");
    if (own.mesh.devices() != plan.mesh.devices()) {
      throw Error(fmt::format("{} has {} devices at its first layers, but {} from layer {} on", quote(text),
                              plan.mesh.devices(), own.mesh.devices(), segment.first),
                  "all layers use the same devices");
    }
    plan.segments.push_back(segment);
  }
  join_segments(plan);
}

Placement parse_placement(std::string_view text) {
  Placement placement{};
  std::size_t count = 0;
  const auto taken = [&](Axis axis) {
    return std::find(placement.begin(), placement.begin() + static_cast<std::ptrdiff_t>(count), axis) !=
           placement.begin() + static_cast<std::ptrdiff_t>(count);
  };
  for (const std::string_view name : split(text, ',')) {
    const Axis axis = axis_named(name);
    if (taken(axis))
      throw Error(fmt::format("'{}' is given twice in the placement {}", to_string(axis), quote(text)),
                  "keep only one of them");
    placement[count++] = axis;
  }
  for (const Axis axis : all_axes) {
    if (!taken(axis)) placement[count++] = axis;
  }
  return placement;
}

}  // namespace ddl
