#include "estimator/plan/plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/words.hpp"

namespace ddl {

double samples_per_micro_batch(const Plan& plan) {
  const std::int64_t parts = plan.mesh.batch_parts() * plan.micro_batches;
  const std::int64_t largest = (plan.global_batch + parts - 1) / parts;
  return static_cast<double>(largest);
}

const Mesh& mesh_of(const Plan& plan, int layer) {
  const auto behind = std::upper_bound(plan.segments.begin(), plan.segments.end(), layer,
                                       [](int value, const LayerSegment& segment) { return value < segment.first; });
  return behind == plan.segments.begin() ? plan.mesh : (behind - 1)->mesh;
}

std::vector<Mesh> meshes_of(const Plan& plan) {
  std::vector<Mesh> meshes{plan.mesh};
  for (const LayerSegment& segment : plan.segments) {
    if (std::find(meshes.begin(), meshes.end(), segment.mesh) == meshes.end()) meshes.push_back(segment.mesh);
  }
  return meshes;
}

Plan on_mesh(const Plan& plan, const Mesh& mesh) {
  Plan other = plan;
  other.segments.clear();
  other.mesh = mesh;
  return other;
}

void join_segments(Plan& plan) {
  std::vector<LayerSegment> joined;
  for (const LayerSegment& segment : plan.segments) {
    if (segment.first <= 0) {
      plan.mesh = segment.mesh;
    } else if (segment.mesh != (joined.empty() ? plan.mesh : joined.back().mesh)) {
      joined.push_back(segment);
    }
  }
  plan.segments = std::move(joined);
}

Tables tables_of(const Plan& plan, std::size_t table) {
  Tables tables = plan.tables;
  for (const TableSegment& segment : plan.table_segments) {
    if (static_cast<std::size_t>(segment.first) <= table) tables = segment.tables;
  }
  return tables;
}

bool holds_parts_of_tables(const Plan& plan) {
  return plan.tables != Tables::replicated ||
         std::any_of(plan.table_segments.begin(), plan.table_segments.end(),
                     [](const TableSegment& each) { return each.tables != Tables::replicated; });
}

void join_table_segments(Plan& plan) {
  std::vector<TableSegment> joined;
  for (const TableSegment& segment : plan.table_segments) {
    if (segment.first <= 0) {
      plan.tables = segment.tables;
    } else if (segment.tables != (joined.empty() ? plan.tables : joined.back().tables)) {
      joined.push_back(segment);
    }
  }
  plan.table_segments = std::move(joined);
}

bool recomputes_from(const Plan& plan, int layer) {
  bool again = true;
  for (const RecomputeSegment& segment : plan.recompute_segments) {
    if (segment.first > layer) break;
    again = segment.again;
  }
  return again;
}

void join_recompute_segments(Plan& plan) {
  std::vector<RecomputeSegment> joined;
  for (const RecomputeSegment& segment : plan.recompute_segments) {
    if (segment.again != (joined.empty() || joined.back().again)) joined.push_back(segment);
  }
  plan.recompute_segments = std::move(joined);
  if (plan.recompute_segments.size() != 1 || plan.recompute_segments.front().first > 0) return;
  plan.recompute = Recompute::none;
  plan.recompute_segments.clear();
}

namespace {

constexpr std::string_view segment_sign = "from", again_sign = "ac", keep_sign = "keep";

}  // namespace

std::string recompute_segments_text(const Plan& plan) {
  std::string text;
  for (const RecomputeSegment& segment : plan.recompute_segments) {
    if (!text.empty()) text += ' ';
    text += segment_sign;
    text += std::to_string(segment.first) + ':';
    text += segment.again ? again_sign : keep_sign;
  }
  return text;
}

std::optional<RecomputeSegment> parse_recompute_segment(std::string_view part) {
  if (!part.starts_with(segment_sign)) return std::nullopt;
  part.remove_prefix(segment_sign.size());
  const std::size_t colon = std::min(part.find(':'), part.size());
  RecomputeSegment segment;
  const std::optional<int> first = number_in<int>(part.substr(0, colon));
  if (!first || colon == part.size() || *first < 0) return std::nullopt;
  segment.first = *first;
  part.remove_prefix(colon + 1);
  if (part != again_sign && part != keep_sign) return std::nullopt;
  segment.again = part == again_sign;
  return segment;
}

std::string placement_text(const Plan& plan) {
  std::string text;
  for (const Axis axis : plan.placement) {
    if (plan.mesh[axis] == 1) continue;
    if (!text.empty()) text += ',';
    text += to_string(axis);
  }
  return text;
}

}  // namespace ddl
