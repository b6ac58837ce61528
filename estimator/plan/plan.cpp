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

/// The first layer of a segment, and what is said of its layers.
struct SegmentText {
  int first = 0;
  std::string_view said;
};

/// Reads `from14:SAID`; empty if the text has another form.
std::optional<SegmentText> parse_segment(std::string_view part) {
  if (!part.starts_with(segment_sign)) return std::nullopt;
  part.remove_prefix(segment_sign.size());
  const std::size_t colon = std::min(part.find(':'), part.size());
  const std::optional<int> first = number_in<int>(part.substr(0, colon));
  if (!first || colon == part.size() || *first < 0) return std::nullopt;
  return SegmentText{*first, part.substr(colon + 1)};
}

void add_segment(int first, std::string_view said, std::string& text) {
  if (!text.empty()) text += ' ';
  text += segment_sign;
  text += std::to_string(first) + ':';
  text += said;
}

}  // namespace

std::string recompute_segments_text(const Plan& plan) {
  std::string text;
  for (const RecomputeSegment& segment : plan.recompute_segments)
    add_segment(segment.first, segment.again ? again_sign : keep_sign, text);
  return text;
}

std::optional<RecomputeSegment> parse_recompute_segment(std::string_view part) {
  const std::optional<SegmentText> segment = parse_segment(part);
  if (!segment || (segment->said != again_sign && segment->said != keep_sign)) return std::nullopt;
  return RecomputeSegment{segment->first, segment->said == again_sign};
}

int zero_stage_of(const Plan& plan, int layer) {
  int stage = plan.zero_stage;
  for (const ZeroSegment& segment : plan.zero_segments) {
    if (segment.first > layer) break;
    stage = segment.stage;
  }
  return stage;
}

std::vector<int> zero_stages_of(const Plan& plan) {
  std::vector<int> stages{plan.zero_stage};
  for (const ZeroSegment& segment : plan.zero_segments) {
    if (std::find(stages.begin(), stages.end(), segment.stage) == stages.end()) stages.push_back(segment.stage);
  }
  return stages;
}

Plan with_zero_stage(const Plan& plan, int stage) {
  Plan other = plan;
  other.zero_segments.clear();
  other.zero_stage = stage;
  return other;
}

void join_zero_segments(Plan& plan) {
  std::vector<ZeroSegment> joined;
  for (const ZeroSegment& segment : plan.zero_segments) {
    if (segment.first <= 0) {
      plan.zero_stage = segment.stage;
    } else if (segment.stage != (joined.empty() ? plan.zero_stage : joined.back().stage)) {
      joined.push_back(segment);
    }
  }
  plan.zero_segments = std::move(joined);
}

std::string zero_segments_text(const Plan& plan) {
  std::string text;
  for (const ZeroSegment& segment : plan.zero_segments)
    add_segment(segment.first, 'z' + std::to_string(segment.stage), text);
  return text;
}

std::optional<ZeroSegment> parse_zero_segment(std::string_view part) {
  const std::optional<SegmentText> segment = parse_segment(part);
  if (!segment || segment->said.size() != 2 || segment->said.front() != 'z') return std::nullopt;
  const int stage = segment->said.back() - '0';
  if (stage < 0 || stage > 3) return std::nullopt;
  return ZeroSegment{segment->first, stage};
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
