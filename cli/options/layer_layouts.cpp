#include "cli/options/layer_layouts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/plan_degrees.hpp"
#include "cli/options/configurations/shell_tests.hpp"
#include "cli/options/plan_notation.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr const char* layers_example = "use for example --layers 'fc*: filter=32'";

bool is_in_block(std::string_view layer, std::string_view block) {
  return layer.size() > block.size() && layer.starts_with(block) && layer[block.size()] == '.';
}

/// Returns the first and the last layer with this name, or in the block with this name.
std::optional<std::pair<int, int>> layers_named(std::string_view name, const Model& model) {
  std::optional<std::pair<int, int>> range;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& own = model.layers[i].name;
    if (own != name && !is_in_block(own, name)) continue;
    const auto layer = static_cast<int>(i);
    range = {range ? range->first : layer, layer};
  }
  return range;
}

/// Returns the layers that the part before the colon names.
std::vector<int> layers_matching(std::string_view pattern, std::string_view value, const Model& model) {
  std::vector<std::string_view> names;
  for (const Layer& layer : model.layers) names.emplace_back(layer.name);
  const auto refuse = [&](std::string_view name) {
    throw Error(fmt::format("--layers {}: {} has no layer or operation {}", quote(value), model.name, quote(name)),
                suggest(name, names));
  };
  std::vector<int> layers;
  if (const std::size_t dots = pattern.find(".."); dots != std::string_view::npos) {
    const std::string_view from = pattern.substr(0, dots), to = pattern.substr(dots + 2);
    const auto first = layers_named(from, model), last = layers_named(to, model);
    if (!first) refuse(from);
    if (!last) refuse(to);
    if (last->second < first->first)
      throw Error(fmt::format("--layers {}: layer {} is before layer {}", quote(value), to, from),
                  "write the earlier layer first");
    for (int layer = first->first; layer <= last->second; ++layer) layers.push_back(layer);
    return layers;
  }
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& name = model.layers[i].name;
    if (fits_pattern(pattern, name) || fits_pattern(pattern, model.layers[i].operation->type()) ||
        is_in_block(name, pattern))
      layers.push_back(static_cast<int>(i));
  }
  if (layers.empty()) refuse(pattern);
  return layers;
}

Mesh mesh_said(std::string_view degrees, std::string_view value, const Plan& plan) {
  Plan own;
  try {
    parse_degrees(degrees, own, "fc*:");
  } catch (const Error& error) {
    throw Error(fmt::format("--layers {}: {}", quote(value), error.what()), error.hint());
  }
  if (own.zero_stage > 0)
    throw Error(fmt::format("--layers {} names a ZeRO stage", quote(value)),
                "use data, and another value such as 'fc*: zero=3'");
  // All layouts have the stages of the plan.
  if (own.mesh[Axis::pipeline] == 1) own.mesh.set(Axis::pipeline, plan.mesh[Axis::pipeline]);
  const std::int64_t devices = plan.mesh.devices(), ranks = own.mesh.devices();
  if (ranks < devices && devices % ranks == 0 && own.mesh[Axis::data] == 1)
    own.mesh.set(Axis::data, static_cast<int>(devices / ranks));
  if (own.mesh.devices() != devices) {
    throw Error(fmt::format("--layers {} has {} ranks, but the plan has {}", quote(value), own.mesh.devices(), devices),
                "all layers use the same devices, so the degrees of every layout must have the same product");
  }
  return own.mesh;
}

/// Calls `take` with the names of the first and the last lookup of each segment of tables, and with the segment.
template <class Take>
void each_table_segment(const Plan& plan, const ModelFacts& facts, const Take& take) {
  const auto name = [&](std::size_t table) -> const std::string& {
    return facts.model->layers[static_cast<std::size_t>(facts.tables[table].layer)].name;
  };
  std::vector<TableSegment> segments{{0, plan.tables}};
  segments.insert(segments.end(), plan.table_segments.begin(), plan.table_segments.end());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto first = static_cast<std::size_t>(segments[i].first);
    const std::size_t end = i + 1 < segments.size() ? static_cast<std::size_t>(segments[i + 1].first) : facts.tables.size();
    if (first < end && end <= facts.tables.size()) take(name(first), name(end - 1), segments[i]);
  }
}

/// Whether each segment begins at a layer of the model, after the segment before. Plans of users may not.
bool begin_at_layers(const Plan& plan, const Model& model) {
  const auto count = static_cast<int>(model.layers.size());
  const auto fit = [count](const auto& segments, int least) {
    for (const auto& segment : segments) {
      if (segment.first < least || segment.first >= count) return false;
      least = segment.first + 1;
    }
    return true;
  };
  return fit(plan.segments, 1) && fit(plan.recompute_segments, 0) && fit(plan.zero_segments, 1);
}

/// Calls `take` with the names of the first and the last layer of each segment, and with the segment.
template <class Segment, class Take>
void each_segment(const std::vector<Segment>& segments, const Model& model, const Take& take) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto first = static_cast<std::size_t>(segments[i].first);
    const std::size_t end = i + 1 < segments.size() ? static_cast<std::size_t>(segments[i + 1].first) : model.layers.size();
    take(model.layers[first].name, model.layers[end - 1].name, segments[i]);
  }
}

std::string_view recompute_word(const RecomputeSegment& segment) { return segment.again ? "recompute" : "keep"; }

/// Refuses a value of --layers without degrees for tables.
void expect_degrees(std::string_view way, const std::vector<int>& layers, std::string_view value, const ModelFacts& facts) {
  const bool any = std::ranges::any_of(layers, [&](int each) { return facts.is_of_table(static_cast<std::size_t>(each)); });
  if (!any || way.find('=') != std::string_view::npos) return;
  throw Error(fmt::format("--layers {}: {} is neither a placement of tables nor degrees", quote(value), quote(way)),
              fmt::format("use one of {}, or degrees as in 'fc*: filter=32'", fmt::join(enum_names<Tables>, ", ")));
}

/// Applies the placement of tables in a value of --layers to the tables among `layers`.
void hold_tables(const std::vector<int>& layers, Tables tables, const std::string& value, const ModelFacts& facts,
                 std::vector<Tables>& ways) {
  bool any = false;
  for (const int layer : layers) {
    if (!facts.is_of_table(static_cast<std::size_t>(layer))) continue;
    ways[static_cast<std::size_t>(facts.of_table[static_cast<std::size_t>(layer)])] = tables;
    any = true;
  }
  if (!any)
    throw Error(fmt::format("--layers {}: none of the layers is a table of a recommendation model", quote(value)),
                "write degrees after the colon: 'fc*: filter=32'");
}

void lay_out_tables(const std::vector<Tables>& ways, Plan& plan) {
  plan.table_segments.clear();
  for (std::size_t i = 0; i < ways.size(); ++i) plan.table_segments.push_back({static_cast<int>(i), ways[i]});
  join_table_segments(plan);
}

/// Whether a value of --layers says that blocks are recomputed or kept; empty if it says neither.
std::optional<bool> recompute_said(std::string_view way) {
  if (way == "recompute") return true;
  if (way == "keep") return false;
  return std::nullopt;
}

/// The ZeRO stage of layers that a value of --layers says; empty if it says none.
std::optional<int> zero_said(std::string_view way, const std::string& value) {
  constexpr std::string_view key = "zero=";
  if (!way.starts_with(key)) return std::nullopt;
  way.remove_prefix(key.size());
  if (way.size() == 1 && way.front() >= '0' && way.front() <= '3') return way.front() - '0';
  throw Error(fmt::format("--layers {}: {} is not a ZeRO stage", quote(value), quote(way)), "stages are 0, 1, 2 and 3");
}

/// `said`: the ZeRO stage of each layer that a value names.
void shard_layers(const std::vector<std::optional<int>>& said, Plan& plan) {
  if (std::ranges::none_of(said, [](const std::optional<int>& each) { return each.has_value(); })) return;
  std::vector<ZeroSegment> segments;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const auto layer = static_cast<int>(i);
    segments.push_back({layer, said[i].value_or(zero_stage_of(plan, layer))});
  }
  plan.zero_segments = std::move(segments);
  join_zero_segments(plan);
}

/// Applies the recomputation in values of --layers to blocks. `said`: by layer; the last named layer of a block decides.
void recompute_blocks_of(const std::vector<std::optional<bool>>& said, const Model& model, Plan& plan) {
  if (std::ranges::none_of(said, [](const std::optional<bool>& each) { return each.has_value(); })) return;
  if (plan.recompute == Recompute::selective)
    throw Error("--layers recomputes or keeps blocks, but the plan has selective recomputation",
                "leave --recompute out, or use --recompute full");
  if (plan.recompute_blocks > 0)
    throw Error("--layers recomputes or keeps blocks, but the plan has a number of recomputed blocks",
                "leave --recompute-blocks out");
  std::vector<RecomputeSegment> segments;
  for (std::size_t first = 0, end = 0; first < said.size(); first = end) {
    const int block = model.layers[first].block;
    bool own = plan.recompute == Recompute::full && recomputes_from(plan, static_cast<int>(first));
    for (end = first; end < said.size() && model.layers[end].block == block; ++end) own = said[end].value_or(own);
    if (block >= 0) segments.push_back({segments.empty() ? 0 : static_cast<int>(first), own});
  }
  plan.recompute = Recompute::full;
  plan.recompute_segments = std::move(segments);
  join_recompute_segments(plan);
}

}  // namespace

void lay_out_layers(const std::vector<std::string>& values, const ModelFacts& facts, Plan& plan) {
  if (values.empty()) return;
  const Model& model = *facts.model;
  std::vector<std::optional<Mesh>> said(model.layers.size());
  std::vector<std::optional<bool>> again(model.layers.size());
  std::vector<std::optional<int>> zero(model.layers.size());
  std::vector<Tables> ways;
  for (std::size_t i = 0; i < facts.tables.size(); ++i) ways.push_back(tables_of(plan, i));
  for (const std::string& value : values) {
    const std::size_t colon = value.find(':');
    const std::string_view all(value);
    if (colon == std::string::npos || trimmed(all.substr(colon + 1), " \t").empty())
      throw Error(fmt::format("--layers {} is not of the form LAYERS: DEGREES", quote(value)), layers_example);
    const std::string_view way = trimmed(all.substr(colon + 1), " \t");
    const std::vector<int> layers = layers_matching(trimmed(all.substr(0, colon), " \t"), value, model);
    if (const std::optional<bool> recompute = recompute_said(way)) {
      for (const int layer : layers) again[static_cast<std::size_t>(layer)] = recompute;
      continue;
    }
    if (const std::optional<int> stage = zero_said(way, value)) {
      for (const int layer : layers) zero[static_cast<std::size_t>(layer)] = stage;
      continue;
    }
    if (const std::optional<Tables> tables = parse_enum<Tables>(way)) {
      hold_tables(layers, *tables, value, facts, ways);
      continue;
    }
    expect_degrees(way, layers, value, facts);
    const Mesh mesh = mesh_said(way, value, plan);
    for (const int layer : layers) said[static_cast<std::size_t>(layer)] = mesh;
  }
  std::vector<Mesh> meshes;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const int producer = layer.inputs.empty() ? -1 : layer.inputs.front();
    const bool follows = layer.parameters() == 0 && producer >= 0;
    meshes.push_back(said[i] ? *said[i] : follows ? meshes[static_cast<std::size_t>(producer)] : plan.mesh);
  }
  plan.segments.clear();
  for (std::size_t i = 0; i < meshes.size(); ++i) plan.segments.push_back({static_cast<int>(i), meshes[i]});
  join_segments(plan);
  lay_out_tables(ways, plan);
  recompute_blocks_of(again, model, plan);
  shard_layers(zero, plan);
}

std::vector<std::string> layer_layouts(const Plan& plan, const ModelFacts& facts) {
  const Model& model = *facts.model;
  std::vector<std::string> values;
  const bool has_names = begin_at_layers(plan, model);
  for (std::size_t i = 0; has_names && i < plan.segments.size(); ++i) {
    const LayerSegment& segment = plan.segments[i];
    const std::size_t end =
        i + 1 < plan.segments.size() ? static_cast<std::size_t>(plan.segments[i + 1].first) : model.layers.size();
    std::string degrees = degrees_text(segment.mesh);
    std::ranges::replace(degrees, ' ', ',');
    values.push_back(fmt::format("{}..{}: {}", model.layers[static_cast<std::size_t>(segment.first)].name,
                                 model.layers[end - 1].name, degrees));
  }
  if (has_names) {
    each_segment(plan.recompute_segments, model, [&](const std::string& first, const std::string& last, const auto& each) {
      values.push_back(fmt::format("{}..{}: {}", first, last, recompute_word(each)));
    });
    each_segment(plan.zero_segments, model, [&](const std::string& first, const std::string& last, const auto& each) {
      values.push_back(fmt::format("{}..{}: zero={}", first, last, each.stage));
    });
  }
  each_table_segment(plan, facts, [&](const std::string& first, const std::string& last, const TableSegment& segment) {
    if (segment.first > 0) values.push_back(fmt::format("{}..{}: {}", first, last, to_string(segment.tables)));
  });
  return values;
}

std::string layouts_text(const Plan& plan, const ModelFacts& facts) {
  const Model& model = *facts.model;
  std::string text;
  if (!plan.table_segments.empty()) {
    each_table_segment(plan, facts, [&](const std::string& first, const std::string& last, const TableSegment& segment) {
      const std::string range = first == last ? first : fmt::format("{} to {}", first, last);
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", range, to_string(segment.tables));
    });
    return text;
  }
  if (!begin_at_layers(plan, model)) return text;
  for (std::size_t i = 0; i <= plan.segments.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : static_cast<std::size_t>(plan.segments[i - 1].first);
    const std::size_t end =
        i < plan.segments.size() ? static_cast<std::size_t>(plan.segments[i].first) : model.layers.size();
    const std::string& name = model.layers[first].name;
    const std::string range = end - first == 1 ? name : fmt::format("{} to {}", name, model.layers[end - 1].name);
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", range,
                        degrees_word(i == 0 ? plan.mesh : plan.segments[i - 1].mesh));
  }
  if (plan.segments.empty()) text.clear();
  const auto add = [&](const std::string& first, const std::string& last, std::string_view said) {
    text += fmt::format("{}{} to {} {}", text.empty() ? "" : "; ", first, last, said);
  };
  const std::string& begin = model.layers.front().name;
  const auto before = [&](int first) -> const std::string& {
    return model.layers[static_cast<std::size_t>(first) - 1].name;
  };
  if (const int first = plan.recompute_segments.empty() ? 0 : plan.recompute_segments.front().first; first > 0)
    add(begin, before(first), "recompute");
  each_segment(plan.recompute_segments, model, [&](const std::string& first, const std::string& last, const auto& each) {
    add(first, last, recompute_word(each));
  });
  if (!plan.zero_segments.empty())
    add(begin, before(plan.zero_segments.front().first), fmt::format("ZeRO-{}", plan.zero_stage));
  each_segment(plan.zero_segments, model, [&](const std::string& first, const std::string& last, const auto& each) {
    add(first, last, fmt::format("ZeRO-{}", each.stage));
  });
  return text;
}

}  // namespace ddl
