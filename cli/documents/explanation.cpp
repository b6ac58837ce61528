#include "cli/documents/explanation.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/documents/estimate.hpp"
#include "cli/documents/memory.hpp"
#include "cli/options/plan_notation.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/enum_array.hpp"
#include "core/find.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Returns the names of axes, in the order of a placement.
std::vector<std::string_view> names_of(Family axes) {
  std::vector<std::string_view> names;
  for (const Axis axis : all_axes) {
    if ((axes & family_bit(axis)) != 0) names.push_back(to_string(axis));
  }
  return names;
}

/// Returns the names of axes as one word: `data+tensor`.
std::string among(Family axes) { return fmt::format("{}", fmt::join(names_of(axes), "+")); }

std::string_view route_name(Route route) { return route == Route::host ? "host" : "direct"; }

bool is_of_sample(const Study& study, const LayerExplanation& layer) {
  return study.job().facts.of_sample[static_cast<std::size_t>(layer.layer)];
}

/// Returns the shapes on which a rank computes a layer: `64×56×56 → 64×56×56`. With `of_sample`, the layer is a tensor of
/// the sample and reads no other tensor, so the text contains only the output shape.
std::string shapes_text(const LayerShard& shard, bool of_sample) {
  if (of_sample) return to_string(shard.output);
  std::string text;
  for (const TensorShape& input : shard.inputs) text += (text.empty() ? "" : ", ") + to_string(input);
  return text + " → " + to_string(shard.output);
}

/// Equal layers of one stage: the first layer, and the number of layers.
struct LikeLayers {
  const LayerExplanation* first = nullptr;
  int count = 0;
  Breakdown time;
  Seconds host_waiting{};
};

std::vector<LikeLayers> grouped(const Explanation& explanation) {
  std::vector<LikeLayers> groups;
  const Plan& plan = explanation.estimate.plan;
  for (const LayerExplanation& layer : explanation.layers) {
    const auto alike = [&](const LikeLayers& group) {
      return group.first->kind == layer.kind && group.first->stage == layer.stage &&
             zero_stage_of(plan, group.first->layer) == zero_stage_of(plan, layer.layer) &&
             (plan.recompute_segments.empty() || group.first->runs_again == layer.runs_again);
    };
    auto found = std::ranges::find_if(groups, alike);
    if (found == groups.end()) found = groups.insert(groups.end(), {&layer, 0, {}});
    found->count += 1;
    found->host_waiting += layer.host_waiting;
    for (const TimePart& part : time_parts) found->time[part.part] += layer.time[part.part];
  }
  return groups;
}

/// Returns the least certain provenance among the layer's kernel times; empty if the layer runs no kernels. Step time
/// outside of kernels does not count.
std::optional<Provenance> kernel_source(const LayerExplanation& layer) {
  std::optional<Provenance> source;
  for (const TimedKernel& kernel : layer.detail.kernels) {
    if (!kernel.is_overhead()) source = least_certain(source.value_or(Provenance::measured), kernel.source);
  }
  return source;
}

/// Returns the exchanges of a layer for one micro-batch, on one line: `allgather 3.06 MiB among 4 filter (ring), …`.
std::string exchanges_text(const LayerExplanation& layer) {
  std::string text;
  for (const TimedExchange& one : layer.detail.exchanges) {
    if (one.ranks <= 1) continue;
    const std::string times = one.exchange.messages > 1 ? fmt::format("{} x ", one.exchange.messages) : "";
    text += fmt::format("{}{}{} {} among {:.0f} {}", text.empty() ? "" : "; ", times,
                        one.exchange.operation == Collective::point_to_point ? "halo" : to_string(one.exchange.operation),
                        humanize(one.message), one.ranks, among(one.exchange.axes));
  }
  return text;
}

std::vector<TimePart> parts_above_zero(const Breakdown& time) {
  std::vector<TimePart> parts(time_parts.begin(), time_parts.end());
  std::erase_if(parts, [&](const TimePart& part) { return (time[part.part]).value() <= 0; });
  return parts;
}

/// Describes the busiest link of an exchange: `leaf, φ 2: 4 flows on 2 links`.
std::string busiest_text(const std::optional<Bottleneck>& busiest) {
  if (!busiest) return {};
  const auto count = [](double number, std::string_view thing) {
    return fmt::format("{:.3g} {}{}", number, thing, number == 1 ? "" : "s");
  };
  return fmt::format("{}, φ {:.3g}: {} on {}{}", busiest->level, busiest->phi, count(busiest->flows, "flow"),
                     count(busiest->links, "link"), busiest->measured ? " (measured)" : "");
}

Table phases_table(const Explanation& explanation, const TimeUnit& unit) {
  const Breakdown& time = explanation.estimate.time;
  Table table({essential(words("phase")), essential(figures(unit.name)), essential(figures("share")),
               figures("hidden " + unit.name), words("from"), prose("what"), prose("busiest link")});
  for (const PhaseShare& phase : explanation.phases) {
    if (phase.time.value() <= 0 && phase.hidden.value() <= 0) continue;
    table.add({std::string(phase.what.column), fine_figure(phase.time.value() * unit.factor),
               share_text(phase.time / time.step_time()), fine_figure(phase.hidden.value() * unit.factor),
               std::string(letter(phase.source)), describe(phase, explanation.estimate), busiest_text(phase.busiest)});
  }
  table.add({"step", fine_figure(time.step_time().value() * unit.factor), share_text(1), "", "", "", ""});
  return table;
}

std::string layout_word(const Plan& plan, const ModelFacts& facts, const LayerExplanation& layer) {
  const auto index = static_cast<std::size_t>(layer.layer);
  if (!plan.table_segments.empty() && facts.is_of_table(index))
    return std::string(to_string(tables_of(plan, static_cast<std::size_t>(facts.of_table[index]))));
  const bool again = !plan.recompute_segments.empty() && layer.runs_again;
  const std::string zero = plan.zero_segments.empty() ? "" : fmt::format(" z{}", zero_stage_of(plan, layer.layer));
  return degrees_word(mesh_of(plan, layer.layer)) + zero + (again ? " ac" : "");
}

Table layers_table(const Explanation& explanation, const Study& study, const TimeUnit& unit) {
  const Breakdown& whole = explanation.estimate.time;
  const std::vector<TimePart> parts = parts_above_zero(whole);
  const bool stages = explanation.estimate.plan.mesh[Axis::pipeline] > 1;
  const std::vector<LikeLayers> groups = grouped(explanation);
  const bool exchanges =
      std::ranges::any_of(groups, [](const LikeLayers& group) { return !exchanges_text(*group.first).empty(); });
  std::vector<Column> columns{essential(words("layer")), essential(figures("×"))};
  if (stages) columns.push_back(figures("stage"));
  const Plan& plan = explanation.estimate.plan;
  const bool segments = has_layouts(plan);
  if (segments) columns.push_back(essential(words("layout")));
  columns.insert(columns.end(),
                 {essential(words("problem per rank")), words("from"), essential(figures(unit.name)), figures("share")});
  for (const TimePart& part : parts)
    columns.push_back(if_asked(figures(fmt::format("{}{}", &part == parts.data() ? "= " : "+ ", part.column))));
  if (exchanges) columns.push_back(words("communication per micro-batch"));
  Table table(std::move(columns));
  std::string layout;
  const auto add = [&](std::vector<std::string> row, const std::string& stage, const std::string& problem,
                       std::string_view from, const Breakdown& time, const std::string& exchanged) {
    if (stages) row.push_back(stage);
    if (segments) row.push_back(layout);
    row.insert(row.end(), {problem, std::string(from), fine_figure(time.step_time().value() * unit.factor),
                           whole.step_time().value() > 0 ? share_text(time.step_time() / whole.step_time()) : "-"});
    for (const TimePart& part : parts) row.push_back(fine_figure((time[part.part]).value() * unit.factor));
    if (exchanges) row.push_back(exchanged);
    table.add(std::move(row));
  };
  constexpr double rounding = 1e-9;
  Seconds rest = whole[Part::waiting];  // waiting outside of layers, which has a row of its own
  for (const LikeLayers& group : groups) {
    const LayerExplanation& first = *group.first;
    const Layer& layer = study.model().layers[static_cast<std::size_t>(first.layer)];
    Breakdown time = group.time;
    time[Part::waiting] = group.host_waiting;
    rest -= group.host_waiting;
    if (segments) layout = layout_word(plan, study.job().facts, first);
    const std::optional<Provenance> source = kernel_source(first);
    add({layer.name, std::to_string(group.count)}, std::to_string(first.stage + 1),
        fmt::format("{} {}", layer.operation->type(), shapes_text(first.detail.shard, is_of_sample(study, first))),
        source ? letter(*source) : "-", time, exchanges_text(first));
  }
  layout.clear();
  if (rest > whole[Part::waiting] * rounding) {
    Breakdown time;
    time[Part::waiting] = rest;
    add({"waiting", ""}, "", "", "", time, "");
  }
  add({"step", std::to_string(explanation.layers.size())}, "", "", "", whole, "");
  return table;
}

Table memory_table(const MemoryBreakdown& memory, const Study& study) {
  Table table = items_table(memory, MemoryItem::activations);
  table.add({"all", humanize(memory.total()), share_text(1.0), ""});
  table.add({std::string(held_name), humanize(memory.held()), "", ""});
  table.add({"at most", humanize(memory.upper_bound()), "", ""});
  table.add({"device", humanize(study.device_memory()), "", ""});
  if (study.margin() > Bytes{}) table.add({"kept free", humanize(study.margin()), "", ""});
  return table;
}

/// The meaning of each provenance if no profile is used.
constexpr EnumNames<Provenance> meanings{
    "measured", "interpolated: the model's measured total, distributed to the layers by work",
    "curve, or α and β, fitted to other measurements", "roofline, α and β of the datasheet"};
/// The meaning of each provenance if a profile of the device is used.
constexpr EnumNames<Provenance> meanings_by_profile{
    meanings[Provenance::measured], "interpolated between measured neighbors",
    "curve fitted to other kernels measured on this device", meanings[Provenance::roofline]};

/// Returns the legend for the provenance letters that occur in the tables.
std::string legend(const Explanation& explanation, bool profile) {
  std::set<Provenance> used;
  for (const PhaseShare& phase : explanation.phases) {
    if (phase.time.value() > 0 || phase.hidden.value() > 0) used.insert(phase.source);
  }
  for (const LayerExplanation& layer : explanation.layers) {
    if (const auto source = kernel_source(layer)) used.insert(*source);
  }
  std::string text;
  for (const Provenance source : used) {
    const auto place = static_cast<std::size_t>(source);
    const std::string_view meaning = (profile ? meanings_by_profile : meanings)[place];
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", letter(source), meaning);
  }
  return text;
}

/// Returns the busiest link of a layer in a part of the step. Gradients of several layers are
/// exchanged together; for such an exchange, this is the busiest link of the whole exchange.
std::optional<Bottleneck> busiest_of(const LayerExplanation& layer, const PhaseShare& phase) {
  const auto own = [&](Purpose purpose) {
    const TimedExchange* one = most_slowed(layer, purpose);
    return one != nullptr && !one->bottleneck.level.empty() ? std::optional(one->bottleneck) : std::nullopt;
  };
  if (phase.what.part == Part::layer_collectives) return own(Purpose::layer);
  if (phase.what.part == Part::halo) return own(Purpose::halo);
  const bool takes_part = phase.what.part == Part::gradient_exchange ? layer.costs.exchanged_parameters() > 0
                                                                     : (layer.time[phase.what.part]).value() > 0;
  return takes_part ? phase.busiest : std::nullopt;
}

/// The parts of a step in which ranks exchange data.
constexpr std::array<Part, 4> exchanging_parts{Part::gradient_exchange, Part::layer_collectives, Part::halo, Part::pipeline};

Json problem_to_json(const TimedKernel& kernel, const LayerExplanation& layer, const Plan& plan) {
  const double samples = layer.detail.shard.samples;
  const std::optional<Work>& work = kernel.work;
  Json json;
  json["pass"] = kernel.pass;
  json["flops"] = work ? Json(work->flops * samples) : Json(nullptr);
  json["bytes"] = work ? Json((work->activation_items * samples + work->weight_items) *
                              item_bytes(kernel.precision.value_or(plan.precision)))
                       : Json(nullptr);
  json["time_s"] = kernel.time.value();
  json["runs"] = runs_per_iteration(plan, layer, kernel.phase);
  json["source"] = to_string(kernel.source);
  return json;
}

Json lines_to_json(const LayerDetail& detail) {
  return json_list(detail.problems, [](const TimedProblem& each) -> Json {
    return {{"problem", each.line}, {"time_s", each.time.value()}, {"source", to_string(each.source)}};
  });
}

Json timed_exchange_to_json(const TimedExchange& one, const LayerExplanation& layer, const Plan& plan) {
  Json json;
  json["operation"] = to_string(one.exchange.operation);
  json["axes"] = names_of(one.exchange.axes);
  json["phase"] = to_string(one.exchange.phase);
  json["purpose"] = to_string(one.exchange.purpose);
  json["ranks"] = one.ranks;
  json["bytes"] = one.message.value();
  json["messages"] = one.exchange.messages;
  json["algorithm"] = one.algorithm;
  json["route"] = route_name(one.route);
  json["time_s"] = one.time.value();
  json["hidden_s"] = one.hidden.value();
  json["link"] = one.bottleneck.level;
  json["phi"] = one.bottleneck.phi;
  json["runs"] = runs_per_iteration(plan, layer, one.exchange.phase);
  json["source"] = to_string(Provenance::roofline);
  return json;
}

std::string limits_text(const Explanation& explanation, const Study& study) {
  return explanation.estimate.limits.empty() ? "" : reasons_text(explanation.estimate, study.model());
}

/// Returns all fields of a layer in JSON and CSV.
Fields<LayerExplanation> layer_fields(const Explanation& explanation, const Study& study) {
  using Row = LayerExplanation;
  const Plan& plan = explanation.estimate.plan;
  const auto layer_of = [&study](const Row& own) -> const Layer& {
    return study.model().layers[static_cast<std::size_t>(own.layer)];
  };
  Fields<Row> fields;
  fields.add("name", [layer_of](const Row& own) { return layer_of(own).name; });
  fields.add("operation", [layer_of](const Row& own) { return layer_of(own).operation->type(); });
  fields.add("attributes", [layer_of](const Row& own) { return layer_of(own).operation->attributes(); });
  fields.add("stage", [](const Row& own) { return own.stage + 1; });
  if (has_layouts(plan)) {
    fields.add("layout", [&plan, &study](const Row& own) { return layout_word(plan, study.job().facts, own); });
  }
  fields.add("samples", [](const Row& own) { return own.detail.shard.samples; });
  fields.add_csv("shapes", [&study](const Row& own) { return shapes_text(own.detail.shard, is_of_sample(study, own)); });
  fields.add_json("input_shapes", [&study](const Row& own) {
    return is_of_sample(study, own) ? Json::array() : json_list(own.detail.shard.inputs, shape_to_json);
  });
  fields.add_json("output_shape", [](const Row& own) { return shape_to_json(own.detail.shard.output); });
  fields.add("parameters", [](const Row& own) { return own.costs[LayerCount::parameters]; });
  fields.add_json("problems", [&plan](const Row& own) {
    return json_list(own.detail.kernels, [&](const TimedKernel& kernel) { return problem_to_json(kernel, own, plan); });
  });
  if (study.kernels().measured() != nullptr)
    fields.add_json("measurable", [](const Row& own) { return lines_to_json(own.detail); });
  fields.add_json("update", [](const Row& own) -> Json {
    return {{"time_s", own.costs[LayerTime::update].value()}, {"source", to_string(own.detail.update_source)}};
  });
  fields.add_json("exchanges", [&plan](const Row& own) {
    Json exchanges = Json::array();
    for (const TimedExchange& exchange : own.detail.exchanges) {
      if (exchange.ranks > 1) exchanges.push_back(timed_exchange_to_json(exchange, own, plan));
    }
    return exchanges;
  });
  fields.add_csv("source", [](const Row& own) {
    const std::optional<Provenance> source = kernel_source(own);
    return source ? Json(to_string(*source)) : Json(nullptr);
  });
  fields.add_csv("kernel_forward_s", [](const Row& own) { return own.costs[LayerTime::forward].value(); });
  fields.add_csv("kernel_backward_s", [](const Row& own) { return own.costs[LayerTime::backward].value(); });
  fields.add_csv("exchanges", exchanges_text);
  fields.add(
      "iteration_s", [](const Row& own) { return own.time.step_time().value(); }, "time");
  for (const TimePart& part : time_parts) {
    fields.add(
        fmt::format("{}_s", part.name), [part = part.part](const Row& own) { return (own.time[part]).value(); }, "time");
  }
  // Adds two columns for each part of a step that contains exchanges, such as `halo_link` and `halo_phi`.
  for (const TimePart& part : time_parts) {
    if (!contains(exchanging_parts, part.part)) continue;
    const auto add_of_busiest = [&](std::string_view what, auto of) {
      fields.add_csv(fmt::format("{}_{}", part.name, what), [&explanation, of, part = part.part](const Row& own) {
        Json value;
        for (const PhaseShare& phase : explanation.phases) {
          if (phase.what.part != part) continue;
          if (const std::optional<Bottleneck> busiest = busiest_of(own, phase)) value = of(*busiest);
        }
        return value;
      });
    };
    add_of_busiest("link", [](const Bottleneck& busiest) { return busiest.level; });
    add_of_busiest("phi", [](const Bottleneck& busiest) { return busiest.phi; });
  }
  fields.add("kept_bytes", [](const Row& own) { return own.costs[LayerBytes::kept].value(); });
  fields.add_csv("reasons", [reasons = limits_text(explanation, study)](const Row&) { return reasons; });
  return fields;
}

}  // namespace

std::string exchange_name(const ExchangeTotal& exchange) {
  switch (exchange.purpose) {
    case Purpose::gradient:
      return fmt::format("{} of {}", to_string(exchange.operation),
                         exchange.operation == Collective::allgather ? "weights" : "gradients");
    case Purpose::pipeline:
      return "transfers between stages";
    case Purpose::halo:
    case Purpose::layer:
      break;
  }
  return fmt::format("{} among {}, {}",
                     exchange.operation == Collective::point_to_point ? "halos" : to_string(exchange.operation),
                     among(exchange.axes), to_string(exchange.phase));
}

void add_phases(Document& document, const Explanation& explanation, const Study& study) {
  if (!explanation.has_time()) return;
  Table phases = phases_table(explanation, time_unit(explanation.estimate.time.step_time()));
  phases.legend = "from: " + legend(explanation, study.kernels().measured() != nullptr);
  document.add(std::move(phases));
}

void add_explanation(Document& document, const Explanation& explanation, const Study& study) {
  if (!explanation.has_time()) return;
  const Estimate& estimate = explanation.estimate;
  const TimeUnit unit = time_unit(estimate.time.step_time());
  document.section("Phases", " of a step");
  add_phases(document, explanation, study);
  if (explanation.congested) {
    document.line(fmt::format("with other jobs on the network: {} to {} {} per step (5th to 95th percentile)",
                              fine_figure(explanation.congested->low.value() * unit.factor),
                              fine_figure(explanation.congested->high.value() * unit.factor), unit.name),
                  2);
  }
  document.section("Layers", " and what each adds to the step");
  document.add(layers_table(explanation, study, unit));
  document.section("Memory", " per device, " + fullest_rank_text(estimate.plan, estimate.critical.memory));
  document.add(memory_table(estimate.memory, study));
  add_communicators(document, estimate, study);
}

Json busiest_to_json(const std::optional<Bottleneck>& busiest) {
  if (!busiest) return nullptr;
  return {{"level", busiest->level},
          {"flows", busiest->flows},
          {"links", busiest->links},
          {"phi", busiest->phi},
          {"source", busiest->measured ? "measured" : "model"}};
}

Json phases_to_json(const Explanation& explanation) {
  return json_list(explanation.phases, [&](const PhaseShare& phase) -> Json {
    return {{"phase", phase.what.name},
            {"time_s", phase.time.value()},
            {"share", phase.time / explanation.estimate.time.step_time()},
            {"hidden_s", phase.hidden.value()},
            {"source", to_string(phase.source)},
            {"what", describe(phase, explanation.estimate)},
            {"busiest_link", busiest_to_json(phase.busiest)}};
  });
}

Json exchange_to_json(const ExchangeTotal& exchange) {
  Json json;
  json["operation"] = to_string(exchange.operation);
  json["axes"] = names_of(exchange.axes);
  json["phase"] = to_string(exchange.phase);
  json["purpose"] = to_string(exchange.purpose);
  json["count"] = exchange.count;
  json["bytes"] = exchange.bytes.value();
  json["time_s"] = exchange.time.value();
  return json;
}

Json layers_to_json(const Explanation& explanation, const Study& study) {
  const Fields<LayerExplanation> fields = layer_fields(explanation, study);
  return json_list(explanation.layers, [&](const LayerExplanation& layer) { return json_of(fields, layer); });
}

Json layer_rows(const Explanation& explanation, const Study& study) {
  const Fields<LayerExplanation> fields = layer_fields(explanation, study);
  if (!explanation.layers.empty()) return flat_rows(fields, explanation.layers);
  // An impossible plan has one row with the reasons, so that the CSV keeps its columns.
  Json row = flat_row<LayerExplanation>(fields, nullptr);
  row["reasons"] = limits_text(explanation, study);
  return Json::array({row});
}

}  // namespace ddl
