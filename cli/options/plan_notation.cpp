#include "cli/options/plan_notation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/plan_degrees.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/strategies/embedding_tables.hpp"

namespace ddl {
namespace {

std::string_view short_name(Axis axis) {
  const AxisRow& row = row_of(axis);
  return row.aliases.front().word.empty() ? row.name : row.aliases.front().word;
}

/// Returns the degrees that are placed on neighboring devices before the degrees in their default order, with short names:
/// `pp,cp`; empty if all degrees are in the default order. A plan with several layouts has the degrees of all of them.
std::string order_word(const Plan& plan) {
  Family axes = plan.mesh.family();
  for (const LayerSegment& segment : plan.segments) axes |= segment.mesh.family();
  std::vector<Axis> placed, usual;
  for (const Axis axis : plan.placement) {
    if ((axes & family_bit(axis)) != 0) placed.push_back(axis);
  }
  for (const Axis axis : all_axes) {
    if ((axes & family_bit(axis)) != 0) usual.push_back(axis);
  }
  // Writes the shortest beginning after which the other degrees are in their default order.
  std::string text;
  for (std::size_t i = 0; i <= placed.size(); ++i) {
    std::vector<Axis> rest = usual;
    std::erase_if(rest, [&](Axis axis) {
      return std::find(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(i), axis) !=
             placed.begin() + static_cast<std::ptrdiff_t>(i);
    });
    if (std::equal(rest.begin(), rest.end(), placed.begin() + static_cast<std::ptrdiff_t>(i), placed.end())) break;
    text += fmt::format("{}{}", text.empty() ? "" : ",", short_name(placed[i]));
  }
  return text;
}

constexpr char order_sign = '@';
/// The beginning of the part of a layout, `from14:f32`.
constexpr std::string_view segment_sign = "from";

/// Explains the letters for a choice in the short notation of plans. Choices that are written as words need no explanation.
std::string meaning_of(const PlanChoiceRow& row, int value) {
  if (row.legend != nullptr) return std::string(row.legend(value));
  return row.sign(value) == row.words(value) ? "" : fmt::format("{} {}", row.sign(value), row.words(value));
}

}  // namespace

std::string degrees_word(const Mesh& mesh) {
  std::string word;
  for (const Axis axis : spoken_axes) {
    if (mesh[axis] == 1) continue;
    word += fmt::format("{}{}{}", word.empty() ? "" : "·", short_name(axis), degree_text(mesh, axis));
  }
  return word.empty() ? "1 device" : word;
}

std::string segments_word(const Plan& plan) {
  std::string word;
  for (const LayerSegment& segment : plan.segments)
    word += fmt::format("{}{}{}:{}", word.empty() ? "" : " ", segment_sign, segment.first, degrees_word(segment.mesh));
  return word;
}

namespace {

/// Returns whether the notation names a choice. Segments that begin with kept blocks say which blocks are recomputed.
bool is_named(const PlanChoiceRow& row, const Plan& plan) {
  const std::vector<RecomputeSegment>& segments = plan.recompute_segments;
  const bool keeps_first = !segments.empty() && segments.front().first == 0;
  return row.matters(plan.mesh) && (row.choice != PlanChoice::recompute || !keeps_first);
}

/// Returns the recompute segments of a plan without kept blocks at its beginning.
Plan without_first_kept(const Plan& plan) {
  Plan named = plan;
  if (!named.recompute_segments.empty() && named.recompute_segments.front().first == 0)
    named.recompute_segments.erase(named.recompute_segments.begin());
  return named;
}

}  // namespace

std::string choices_text(const Plan& plan) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (plan.micro_batches > 1) add(fmt::format("{} micro-batches", plan.micro_batches));
  for (const PlanChoiceRow& row : plan_choices()) {
    const std::string said = is_named(row, plan) ? row.words(row.get(plan)) : std::string();
    if (!said.empty()) text += fmt::format("{}{}", text.empty() ? "" : row.separator, said);
  }
  for (const RecomputeSegment& segment : without_first_kept(plan).recompute_segments)
    add(fmt::format("from layer {} on {}", segment.first, segment.again ? "recompute" : "kept activations"));
  for (const ZeroSegment& segment : plan.zero_segments)
    add(fmt::format("from layer {} on ZeRO-{}", segment.first, segment.stage));
  for (const TableSegment& segment : plan.table_segments)
    add(fmt::format("from table {} on {}", segment.first,
                    segment.tables == Tables::replicated ? "replicated tables" : tables_words(segment.tables)));
  if (!order_word(plan).empty()) add(fmt::format("placement {}", placement_text(plan)));
  return text;
}

std::string plan_word(const Plan& plan) {
  std::string word = degrees_word(plan.mesh);
  if (!plan.segments.empty()) word += " " + segments_word(plan);
  for (const PlanChoiceRow& row : plan_choices()) {
    const std::string sign = is_named(row, plan) ? row.sign(row.get(plan)) : std::string();
    if (!sign.empty()) word += " " + sign;
  }
  if (!plan.recompute_segments.empty()) word += " " + recompute_segments_text(without_first_kept(plan));
  if (!plan.zero_segments.empty()) word += " " + zero_segments_text(plan);
  if (!plan.table_segments.empty()) word += " " + table_segments_text(plan);
  if (plan.micro_batches > 1) word += fmt::format(" m{}", plan.micro_batches);
  if (const std::string order = order_word(plan); !order.empty()) word += fmt::format(" {}{}", order_sign, order);
  return word;
}

std::string plan_words(const Plan& plan) {
  std::string words;
  for (const Axis axis : spoken_axes) {
    if (plan.mesh[axis] > 1)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", to_string(axis), degree_text(plan.mesh, axis));
  }
  for (const LayerSegment& segment : plan.segments)
    words += fmt::format("{}{} from layer {} on", words.empty() ? "" : ", ", degrees_text(segment.mesh), segment.first);
  const std::string choices = choices_text(plan);
  return words + (words.empty() || choices.empty() ? "" : ", ") + choices;
}

std::string letters_text(const std::vector<Plan>& plans) {
  std::vector<std::string> meanings;
  const auto add = [&](const std::string& meaning) {
    if (!meaning.empty() && !contains(meanings, meaning)) meanings.push_back(meaning);
  };
  for (const PlanChoiceRow& row : plan_choices()) {
    for (const Plan& plan : plans) {
      if (row.matters(plan.mesh) && !row.sign(row.get(plan)).empty()) add(meaning_of(row, row.get(plan)));
    }
  }
  if (std::ranges::any_of(plans, [](const Plan& plan) { return plan.micro_batches > 1; })) add("m micro-batches");
  if (std::ranges::any_of(plans, [](const Plan& plan) { return !order_word(plan).empty(); }))
    add("@ degrees placed innermost, on neighboring devices");
  if (std::ranges::any_of(plans, [](const Plan& plan) { return !plan.segments.empty(); }))
    add("from: degrees of this layer and of all later ones");
  if (std::ranges::any_of(plans, [](const Plan& plan) { return !plan.recompute_segments.empty(); }))
    add("ac, keep: blocks from this layer on are recomputed, or kept");
  if (std::ranges::any_of(plans, [](const Plan& plan) { return !plan.zero_segments.empty(); }))
    add("from:z the ZeRO stage of this layer and of all later ones");
  if (std::ranges::any_of(plans, [](const Plan& plan) { return !plan.table_segments.empty(); }))
    add("t: tables from this one on, dp: replicated");
  return fmt::format("{}", fmt::join(meanings, ", "));
}

namespace {

constexpr const char* notation_hint = "see 'ddl-oracle help notation'; a plan looks like 'dp32·tp2 z1 m4'";

/// Splits a text at spaces and at the signs between degrees. A part with a placement, such as `@pp,cp`, ends at a space.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  const auto end_part = [&](std::size_t end, std::size_t length) {
    if (end > from) parts.push_back(text.substr(from, end - from));
    from = end + length;
  };
  bool in_order = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_blank = text[at] == ' ' || text[at] == '\t';
    in_order = !is_blank && (in_order || (at == from && text[at] == order_sign));
    if (text.substr(at).starts_with("·")) {
      end_part(at, std::string_view("·").size());
      ++at;
    } else if (is_blank || (!in_order && (text[at] == '.' || text[at] == ',' || text[at] == '*' || text[at] == '+') &&
                            // Modules are joined by a plus: core_attn+mlp.
                            (text[at] != '+' || (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')))) {
      end_part(at, 1);
    }
  }
  end_part(text.size(), 0);
  return parts;
}

/// Splits `dp32` or `data=32` into a name and a number; the number may have several extents: `2x2`.
std::optional<std::pair<std::string_view, std::string_view>> degree_of(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals != std::string_view::npos) {
    const std::string_view name = part.substr(0, equals);
    return parse_axis(name) ? std::optional(std::pair{name, part.substr(equals + 1)}) : std::nullopt;
  }
  // The shortest name is used, so that the digit in an alias such as `zero3` remains.
  for (std::size_t at = part.find_first_of("0123456789"); at < part.size(); ++at) {
    if (parse_axis(part.substr(0, at))) return std::pair{part.substr(0, at), part.substr(at)};
  }
  return std::nullopt;
}

bool take_micro_batches(std::string_view part, Plan& plan) {
  if (!part.starts_with('m')) return false;
  const std::int64_t count = number_in(part.substr(1)).value_or(0);
  if (count < 1) return false;
  plan.micro_batches = count;
  return true;
}

/// The layout of layers that a part such as `from14:filter32` begins: the first layer, and the first degree.
struct SegmentPart {
  int first = 0;
  std::string_view degree;
};
std::optional<SegmentPart> segment_of(std::string_view part) {
  if (!part.starts_with(segment_sign)) return std::nullopt;
  SegmentPart segment;
  const auto [end, problem] = std::from_chars(part.data() + segment_sign.size(), part.data() + part.size(), segment.first);
  if (problem != std::errc{} || end + 1 >= part.data() + part.size() || *end != ':' || segment.first < 1)
    return std::nullopt;
  segment.degree = part.substr(static_cast<std::size_t>(end - part.data()) + 1);
  return segment;
}

/// Finds the choice and the value that a sign such as `z1` names.
std::optional<std::pair<const PlanChoiceRow*, int>> choice_of(std::string_view sign) {
  for (const PlanChoiceRow& row : plan_choices()) {
    for (int value = 1; value <= row.last; ++value) {
      if (row.sign(value) == sign) return std::pair{&row, value};
    }
  }
  // Reports leave the default values out, but users may write them: `z0`, `v1`.
  if (sign == "z0") return std::pair{&row_of(PlanChoice::zero), 0};
  if (sign == "v1") return std::pair{&row_of(PlanChoice::virtual_stages), 0};
  const PlanChoiceRow& schedules = row_of(PlanChoice::schedule);
  if (sign == schedules.name(0)) return std::pair{&schedules, 0};
  return std::nullopt;
}

/// Returns the hint for an unknown sign. If frameworks have the sign as a word, the hint names the sign with the same
/// meaning.
std::string unknown_sign_hint(std::string_view sign) {
  constexpr auto words = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"zero1", "z1"}, {"zero2", "z2"}, {"zero3", "z3"}, {"zbv", "zb-v"}, {"zbh1", "zb-h1"}, {"remat", "ac"}});
  const auto meant = std::ranges::find_if(words, [sign](const auto& each) { return each.first == sign; });
  return meant == words.end() ? notation_hint : fmt::format("write {}; {}", meant->second, notation_hint);
}

/// Sets the choices that signs name. Throws Error for an unknown sign, for two signs of one choice, and for a choice that
/// has no effect on the plan's degrees.
void take_signs(std::string_view text, const std::vector<std::string_view>& signs, Plan& plan) {
  std::set<std::string_view> taken;
  const auto take = [&](std::string_view key, std::string_view sign) {
    if (!taken.insert(key).second)
      throw Error(fmt::format("the plan {} sets its {} twice, the second time as {}", quote(text), key, quote(sign)),
                  "leave one of the two out");
  };
  for (const std::string_view sign : signs) {
    if (take_micro_batches(sign, plan)) {
      take("micro-batches", sign);
      continue;
    }
    const auto choice = choice_of(sign);
    if (!choice)
      throw Error(fmt::format("the plan {} has the unknown part {}", quote(text), quote(sign)), unknown_sign_hint(sign));
    const auto& [row, value] = *choice;
    take(row->noun, sign);
    if (value > 0 && !row->sign(value).empty() && !row->matters(plan.mesh))
      throw Error(fmt::format("with the degrees of the plan {}, {} has no effect", quote(text), quote(sign)), notation_hint);
    row->set(plan, value);
  }
}

/// Without a letter for recomputation, the blocks before the first recompute segment are not recomputed.
void recompute_first_layers(Plan& plan) {
  if (plan.recompute_segments.empty()) return;
  if (plan.recompute == Recompute::none) {
    plan.recompute = Recompute::full;
    if (plan.recompute_segments.front().first > 0)
      plan.recompute_segments.insert(plan.recompute_segments.begin(), {0, false});
  }
  join_recompute_segments(plan);
}

}  // namespace

bool is_plan_word(std::string_view text) {
  const std::vector<std::string_view> parts = parts_of(text);
  if (text.starts_with(degrees_word(Mesh{}))) return true;
  return !parts.empty() && text.find('/') == std::string_view::npos && !text.ends_with(".json") && degree_of(parts.front());
}

Plan parse_plan_word(std::string_view text) {
  Plan plan;
  std::string_view rest = text;
  const std::string single = degrees_word(Mesh{});
  if (rest.starts_with(single)) rest.remove_prefix(single.size());
  std::vector<std::string> degrees{""};  // degrees of the first layers, then of each segment
  std::vector<int> firsts;
  std::string order;
  std::vector<std::string_view> signs;
  for (std::string_view part : parts_of(rest)) {
    if (const auto recompute = parse_recompute_segment(part)) {
      if (!plan.recompute_segments.empty() && plan.recompute_segments.back().first >= recompute->first)
        throw Error(fmt::format("the recompute segments of the plan {} are not in the order of their layers", quote(text)),
                    notation_hint);
      plan.recompute_segments.push_back(*recompute);
      continue;
    }
    if (const auto zero = parse_zero_segment(part)) {
      if (zero->first <= (plan.zero_segments.empty() ? 0 : plan.zero_segments.back().first))
        throw Error(fmt::format("the ZeRO segments of the plan {} are not in the order of their layers", quote(text)),
                    notation_hint);
      plan.zero_segments.push_back(*zero);
      continue;
    }
    if (const auto segment = segment_of(part)) {
      firsts.push_back(segment->first);
      degrees.emplace_back();
      part = segment->degree;
    }
    if (const auto degree = degree_of(part)) {
      std::string& own = degrees.back();
      own += fmt::format("{}{}={}", own.empty() ? "" : ",", degree->first, degree->second);
    } else if (const auto tables = parse_table_segment(part)) {
      if (!plan.table_segments.empty() && plan.table_segments.back().first >= tables->first)
        throw Error(fmt::format("the tables of the plan {} are not in order", quote(text)), notation_hint);
      plan.table_segments.push_back(*tables);
    } else if (part.front() == order_sign) {
      order = part.substr(1);
    } else {
      signs.push_back(part);
    }
  }
  if (!degrees.front().empty()) parse_degrees(degrees.front(), plan, "--plan");
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    Plan segment;
    if (!degrees[i + 1].empty()) parse_degrees(degrees[i + 1], segment, "--plan");
    // All layouts have the same stages.
    if (segment.mesh[Axis::pipeline] == 1) segment.mesh.set(Axis::pipeline, plan.mesh[Axis::pipeline]);
    if (segment.mesh.devices() != plan.mesh.devices()) {
      throw Error(fmt::format("the plan {} has {} devices at its first layers, but {} from layer {} on", quote(text),
                              plan.mesh.devices(), segment.mesh.devices(), firsts[i]),
                  "all layers use the same devices");
    }
    if (firsts[i] <= (i == 0 ? 0 : firsts[i - 1]))
      throw Error(fmt::format("the layouts of the plan {} are not in the order of their layers", quote(text)),
                  notation_hint);
    plan.segments.push_back({firsts[i], segment.mesh});
  }
  join_segments(plan);
  take_signs(text, signs, plan);
  recompute_first_layers(plan);
  join_zero_segments(plan);
  join_table_segments(plan);
  if (!order.empty()) plan.placement = parse_placement(order);
  return plan;
}

}  // namespace ddl
