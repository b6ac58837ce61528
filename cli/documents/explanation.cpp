#include "cli/documents/explanation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/documents/estimate.hpp"
#include "cli/documents/fields.hpp"
#include "cli/documents/memory.hpp"
#include "cli/formats/table.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

/// The axes of an exchange, in the order of a placement.
std::vector<std::string_view> axis_names(Family axes) {
  std::vector<std::string_view> names;
  for (const Axis axis : all_axes) {
    if ((axes & family_bit(axis)) != 0) names.push_back(to_string(axis));
  }
  return names;
}

/// The axes of an exchange along which the plan divides anything.
std::string among(Family axes) {
  std::string text;
  for (const std::string_view name : axis_names(axes)) text.append(text.empty() ? "" : "+").append(name);
  return text;
}

std::string_view route_name(Route route) { return route == Route::host ? "host" : "direct"; }

bool is_of_sample(const Study& study, const LayerExplanation& layer) {
  return study.job().facts.of_sample[static_cast<std::size_t>(layer.layer)];
}

/// What runs on the rank: `64×56×56 → 64×56×56`; of a layer of the sample, which reads nothing, what it is.
std::string shapes_text(const LayerShard& shard, bool of_sample) {
  if (of_sample) return to_string(shard.output);
  std::string text;
  for (const TensorShape& input : shard.inputs) text += (text.empty() ? "" : ", ") + to_string(input);
  return text + " → " + to_string(shard.output);
}

/// The first of a few layers that are alike, and how many they are.
struct LikeLayers {
  const LayerExplanation* first = nullptr;
  int count = 0;
  Breakdown time;
};

std::vector<LikeLayers> grouped(const Explanation& explanation) {
  std::vector<LikeLayers> groups;
  for (const LayerExplanation& layer : explanation.layers) {
    const auto alike = [&](const LikeLayers& group) {
      return group.first->kind == layer.kind && group.first->stage == layer.stage;
    };
    auto found = std::find_if(groups.begin(), groups.end(), alike);
    if (found == groups.end()) found = groups.insert(groups.end(), {&layer, 0, {}});
    found->count += 1;
    for (const TimePart& part : time_parts) found->time.*part.part += layer.time.*part.part;
  }
  return groups;
}

/// Of the layer's own kernels: what a whole step takes beside them is none of its problems.
PriceSource kernel_source(const LayerExplanation& layer) {
  PriceSource source = PriceSource::measured;
  for (const PricedKernel& kernel : layer.prices.kernels) {
    if (!kernel.is_beside_kernels()) source = farther(source, kernel.source);
  }
  return source;
}

/// Exchanges of one micro-batch on one line: `allgather 3.06 MiB among 4 filter (ring), …`.
std::string exchanges_text(const LayerExplanation& layer) {
  std::string text;
  for (const PricedExchange& one : layer.prices.exchanges) {
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
  std::erase_if(parts, [&](const TimePart& part) { return (time.*part.part).value() <= 0; });
  return parts;
}

/// `leaf, φ 2: 4 flows on 2 links`.
std::string busiest_text(const std::optional<BusyLink>& busiest) {
  if (!busiest) return {};
  const auto count = [](double number, std::string_view thing) {
    return fmt::format("{:.3g} {}{}", number, thing, number == 1 ? "" : "s");
  };
  return fmt::format("{}, φ {:.3g}: {} on {}{}", busiest->level, busiest->phi, count(busiest->flows, "flow"),
                     count(busiest->links, "link"), busiest->measured ? " (measured)" : "");
}

std::string phases_table(const Explanation& explanation, const TimeUnit& unit) {
  const Breakdown& time = explanation.estimate.time;
  Table table({{"phase", Align::left},
               {unit.name, Align::right},
               {"share", Align::right},
               {"hidden " + unit.name, Align::right},
               {"from", Align::left},
               {"busiest link", Align::left},
               {"what", Align::left}});
  for (const PhaseShare& phase : explanation.phases) {
    if (phase.time.value() <= 0 && phase.hidden.value() <= 0) continue;
    table.add({std::string(phase.what.column), fine_figure(phase.time.value() * unit.factor),
               share_text(phase.time / time.iteration()), fine_figure(phase.hidden.value() * unit.factor),
               std::string(letter(phase.source)), busiest_text(phase.busiest), describe(phase, explanation.estimate)});
  }
  table.add({"iteration", fine_figure(time.iteration().value() * unit.factor), share_text(1), "", "", "", ""});
  return table.text();
}

std::string layers_table(const Explanation& explanation, const Study& study, const TimeUnit& unit) {
  const Breakdown& whole = explanation.estimate.time;
  const std::vector<TimePart> parts = parts_above_zero(whole);
  const bool stages = explanation.estimate.plan.mesh[Axis::pipeline] > 1;
  const std::vector<LikeLayers> groups = grouped(explanation);
  const bool exchanges = std::any_of(groups.begin(), groups.end(),
                                     [](const LikeLayers& group) { return !exchanges_text(*group.first).empty(); });
  std::vector<Table::Column> columns{{"layer", Align::left}, {"×", Align::right}};
  if (stages) columns.push_back({"stage", Align::right});
  columns.push_back({"problem of one rank", Align::left});
  columns.push_back({"from", Align::left});
  columns.push_back({unit.name, Align::right});
  for (const TimePart& part : parts)
    columns.push_back({fmt::format("{}{}", &part == parts.data() ? "= " : "+ ", part.column), Align::right});
  if (exchanges) columns.push_back({"exchanges of a micro-batch", Align::left});
  Table table(std::move(columns));
  const auto add_times = [&](std::vector<std::string>& row, const Breakdown& time) {
    row.push_back(fine_figure(time.iteration().value() * unit.factor));
    for (const TimePart& part : parts) row.push_back(fine_figure((time.*part.part).value() * unit.factor));
  };
  for (const LikeLayers& group : groups) {
    const LayerExplanation& first = *group.first;
    const Layer& layer = study.model().layers[static_cast<std::size_t>(first.layer)];
    std::vector<std::string> row{layer.name, fmt::format("{}", group.count)};
    if (stages) row.push_back(fmt::format("{}", first.stage + 1));
    row.push_back(
        fmt::format("{} {}", layer.operation->type(), shapes_text(first.prices.shard, is_of_sample(study, first))));
    row.emplace_back(letter(kernel_source(first)));
    add_times(row, group.time);
    if (exchanges) row.push_back(exchanges_text(first));
    table.add(std::move(row));
  }
  std::vector<std::string> last{"iteration", fmt::format("{}", explanation.layers.size())};
  if (stages) last.emplace_back();
  last.insert(last.end(), {"", ""});
  add_times(last, whole);
  if (exchanges) last.emplace_back();
  table.add(std::move(last));
  return table.text();
}

std::string memory_table(const MemoryBreakdown& memory, Bytes capacity) {
  Table table({{"item", Align::left}, {"memory", Align::right}, {"share", Align::right}, {"is", Align::left}});
  for (const MemoryItem item : all_memory_items) {
    const Bytes bytes = memory.of(item);
    if (bytes <= Bytes{} && item > MemoryItem::activations) continue;
    table.add({std::string(to_string(item)), humanize(bytes), share_text(bytes / memory.total()),
               std::string(to_string(origin_of(memory, item)))});
  }
  table.add({"all", humanize(memory.total()), share_text(1.0), ""});
  table.add({"reserved", humanize(memory.peak_reserved + memory.context + memory.outside_buffers), "", ""});
  table.add({"at most", humanize(memory.upper_bound()), "", ""});
  table.add({"device", humanize(capacity), "", ""});
  return table.text();
}

/// What the letters of the prices that occur stand for.
std::string legend(const Explanation& explanation, bool profile) {
  std::set<PriceSource> used;
  for (const PhaseShare& phase : explanation.phases) {
    if (phase.time.value() > 0 || phase.hidden.value() > 0) used.insert(phase.source);
  }
  for (const LayerExplanation& layer : explanation.layers) used.insert(kernel_source(layer));
  std::string text;
  for (const PriceSource source : used) {
    const char* meaning = "";
    switch (source) {
      case PriceSource::measured:
        meaning = "measured";
        break;
      case PriceSource::interpolated:
        meaning = profile ? "interpolated between measured neighbours"
                          : "interpolated: the model's measured total, shared out by work";
        break;
      case PriceSource::curve:
        meaning = profile ? "curve fitted to other problems measured on this device" : "curve fitted to other measurements";
        break;
      case PriceSource::roofline:
        meaning = "roofline, α and β of the data sheet";
        break;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", letter(source), meaning);
  }
  return text;
}

/// Where the layer's share of a part of the iteration is held back: of what the layers exchange together, the link of the
/// whole.
std::optional<BusyLink> busiest_of(const LayerExplanation& layer, const PhaseShare& phase) {
  const auto own = [&](Purpose purpose) {
    const PricedExchange* one = most_held_back(layer, purpose);
    return one != nullptr ? std::optional(one->busy) : std::nullopt;
  };
  if (phase.what.part == &Breakdown::layer_collectives) return own(Purpose::layer);
  if (phase.what.part == &Breakdown::halo) return own(Purpose::halo);
  const bool takes_part = phase.what.part == &Breakdown::gradient_exchange ? layer.costs.gradient_parameters > 0
                                                                           : (layer.time.*phase.what.part).value() > 0;
  return takes_part ? phase.busiest : std::nullopt;
}

/// The parts of an iteration in which anything is exchanged.
constexpr std::array<Seconds Breakdown::*, 4> exchanging_parts{&Breakdown::gradient_exchange, &Breakdown::layer_collectives,
                                                               &Breakdown::halo, &Breakdown::pipeline};

Json shape_to_json(const TensorShape& shape) {
  Json json = Json::array({shape.channels});
  for (int d = 0; d < shape.rank; ++d) json.push_back(shape.extent[static_cast<std::size_t>(d)]);
  return json;
}

Json problem_to_json(const PricedKernel& kernel, const LayerExplanation& layer, const Plan& plan) {
  const double samples = layer.prices.shard.samples;
  const std::optional<Work>& work = kernel.work;
  Json json;
  json["pass"] = kernel.pass;
  json["flops"] = work ? Json(work->flops * samples) : Json(nullptr);
  json["bytes"] = work ? Json((work->activation_items * samples + work->weight_items) *
                              item_bytes(kernel.precision.value_or(plan.precision)))
                       : Json(nullptr);
  json["time_s"] = kernel.time.value();
  json["runs"] = runs_per_iteration(plan, kernel.phase);
  json["source"] = to_string(kernel.source);
  return json;
}

Json lines_to_json(const LayerPrices& prices) {
  Json json = Json::array();
  for (const PricedProblem& each : prices.problems) {
    json.push_back({{"problem", each.line}, {"time_s", each.time.value()}, {"source", to_string(each.source)}});
  }
  return json;
}

Json priced_exchange_to_json(const PricedExchange& one, const Plan& plan) {
  Json json;
  json["operation"] = to_string(one.exchange.operation);
  json["axes"] = axis_names(one.exchange.axes);
  json["phase"] = to_string(one.exchange.phase);
  json["purpose"] = to_string(one.exchange.purpose);
  json["ranks"] = one.ranks;
  json["bytes"] = one.message.value();
  json["messages"] = one.exchange.messages;
  json["algorithm"] = one.algorithm;
  json["route"] = route_name(one.route);
  json["time_s"] = one.time.value();
  json["link"] = one.busy.level;
  json["phi"] = one.busy.phi;
  json["runs"] = runs_per_iteration(plan, one.exchange.phase);
  json["source"] = to_string(PriceSource::roofline);
  return json;
}

std::string limits_text(const Explanation& explanation, const Study& study) {
  return explanation.estimate.limits.empty() ? "" : reasons_text(explanation.estimate, study.model());
}

/// Everything that is said of a layer to programs.
Fields<LayerExplanation> layer_fields(const Explanation& explanation, const Study& study) {
  using Row = LayerExplanation;
  using Formats = Field<Row>::Formats;
  const Plan& plan = explanation.estimate.plan;
  const auto layer_of = [&study](const Row& own) -> const Layer& {
    return study.model().layers[static_cast<std::size_t>(own.layer)];
  };
  Fields<Row> fields;
  const auto add = [&](std::string name, auto value, Formats formats = Formats::both, std::string_view object = {}) {
    fields.push_back({std::move(name), [value](const Row& own) { return Json(value(own)); }, object, formats});
  };
  add("name", [layer_of](const Row& own) { return layer_of(own).name; });
  add("operation", [layer_of](const Row& own) { return layer_of(own).operation->type(); });
  add("attributes", [layer_of](const Row& own) { return layer_of(own).operation->attributes(); });
  add("stage", [](const Row& own) { return own.stage + 1; });
  add("samples", [](const Row& own) { return own.prices.shard.samples; });
  add(
      "shapes", [&study](const Row& own) { return shapes_text(own.prices.shard, is_of_sample(study, own)); }, Formats::csv);
  add(
      "input_shapes",
      [&study](const Row& own) {
        Json shapes = Json::array();
        if (is_of_sample(study, own)) return shapes;
        for (const TensorShape& input : own.prices.shard.inputs) shapes.push_back(shape_to_json(input));
        return shapes;
      },
      Formats::json);
  add(
      "output_shape", [](const Row& own) { return shape_to_json(own.prices.shard.output); }, Formats::json);
  add("parameters", [](const Row& own) { return own.costs.parameters; });
  add(
      "problems",
      [&plan](const Row& own) {
        Json problems = Json::array();
        for (const PricedKernel& kernel : own.prices.kernels) problems.push_back(problem_to_json(kernel, own, plan));
        return problems;
      },
      Formats::json);
  if (study.kernels().measured() != nullptr)
    add(
        "measurable", [](const Row& own) { return lines_to_json(own.prices); }, Formats::json);
  add(
      "update",
      [](const Row& own) {
        return Json{{"time_s", own.costs.update.value()}, {"source", to_string(own.prices.update_source)}};
      },
      Formats::json);
  add(
      "exchanges",
      [&plan](const Row& own) {
        Json exchanges = Json::array();
        for (const PricedExchange& exchange : own.prices.exchanges) {
          if (exchange.ranks > 1) exchanges.push_back(priced_exchange_to_json(exchange, plan));
        }
        return exchanges;
      },
      Formats::json);
  add(
      "source", [](const Row& own) { return to_string(kernel_source(own)); }, Formats::csv);
  add(
      "kernel_forward_s", [](const Row& own) { return own.costs.forward.value(); }, Formats::csv);
  add(
      "kernel_backward_s", [](const Row& own) { return own.costs.backward.value(); }, Formats::csv);
  add(
      "exchanges", [](const Row& own) { return exchanges_text(own); }, Formats::csv);
  add(
      "iteration_s", [](const Row& own) { return own.time.iteration().value(); }, Formats::both, "time");
  for (const TimePart& part : time_parts) {
    add(
        fmt::format("{}_s", part.name), [part = part.part](const Row& own) { return (own.time.*part).value(); },
        Formats::both, "time");
  }
  // Two columns for each part of an iteration in which anything is exchanged: `halo_link,halo_phi`.
  for (const TimePart& part : time_parts) {
    if (std::find(exchanging_parts.begin(), exchanging_parts.end(), part.part) == exchanging_parts.end()) continue;
    const auto add_of_busiest = [&](std::string_view what, auto of) {
      add(
          fmt::format("{}_{}", part.name, what),
          [&explanation, of, part = part.part](const Row& own) {
            Json value;
            for (const PhaseShare& phase : explanation.phases) {
              if (phase.what.part != part) continue;
              if (const std::optional<BusyLink> busiest = busiest_of(own, phase)) value = of(*busiest);
            }
            return value;
          },
          Formats::csv);
    };
    add_of_busiest("link", [](const BusyLink& busiest) { return busiest.level; });
    add_of_busiest("phi", [](const BusyLink& busiest) { return busiest.phi; });
  }
  add("kept_bytes", [](const Row& own) { return own.costs.kept.value(); });
  add(
      "reasons", [reasons = limits_text(explanation, study)](const Row&) { return reasons; }, Formats::csv);
  return fields;
}

}  // namespace

std::string fine_figure(double value) {
  if (value == 0) return "-";
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : (size >= 9.995 ? 1 : (size >= 0.9995 ? 2 : 3));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  return text == "-0.000" ? "0.000" : text;  // zero has no sign
}

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

std::string explanation_text(const Explanation& explanation, const Study& study, const Style& style) {
  if (!explanation.priced()) return {};
  const Plan& plan = explanation.estimate.plan;
  const TimeUnit unit = time_unit(explanation.estimate.time.iteration());
  std::string out = "\n" + style.bold("Phases") + " of an iteration\n" + phases_table(explanation, unit);
  out += style.faint("  from: " + legend(explanation, study.kernels().measured() != nullptr)) + "\n";
  if (explanation.congested) {
    out += fmt::format("  among others on the network: {} to {} {} per iteration (5 to 95 %)\n",
                       fine_figure(explanation.congested->low.value() * unit.factor),
                       fine_figure(explanation.congested->high.value() * unit.factor), unit.name);
  }
  out += "\n" + style.bold("Layers") + " and what each adds to the iteration\n" + layers_table(explanation, study, unit);
  out +=
      "\n" + style.bold("Memory") + " per device, " + fullest_rank_text(plan, explanation.estimate.deciding.memory) + "\n";
  return out + memory_table(explanation.estimate.memory, study.machine().device.memory);
}

Json busiest_to_json(const std::optional<BusyLink>& busiest) {
  if (!busiest) return nullptr;
  Json json;
  json["level"] = busiest->level;
  json["flows"] = busiest->flows;
  json["links"] = busiest->links;
  json["phi"] = busiest->phi;
  json["source"] = busiest->measured ? "measured" : "model";
  return json;
}

Json phases_to_json(const Explanation& explanation) {
  Json json = Json::array();
  for (const PhaseShare& phase : explanation.phases) {
    Json one;
    one["phase"] = phase.what.name;
    one["time_s"] = phase.time.value();
    one["share"] = phase.time / explanation.estimate.time.iteration();
    one["hidden_s"] = phase.hidden.value();
    one["source"] = to_string(phase.source);
    one["what"] = describe(phase, explanation.estimate);
    one["busiest_link"] = busiest_to_json(phase.busiest);
    json.push_back(std::move(one));
  }
  return json;
}

Json exchange_to_json(const ExchangeTotal& exchange) {
  Json json;
  json["operation"] = to_string(exchange.operation);
  json["axes"] = axis_names(exchange.axes);
  json["phase"] = to_string(exchange.phase);
  json["purpose"] = to_string(exchange.purpose);
  json["count"] = exchange.count;
  json["bytes"] = exchange.bytes.value();
  json["time_s"] = exchange.time.value();
  return json;
}

Json layers_to_json(const Explanation& explanation, const Study& study) {
  const Fields<LayerExplanation> fields = layer_fields(explanation, study);
  Json json = Json::array();
  for (const LayerExplanation& layer : explanation.layers) json.push_back(json_of(fields, layer));
  return json;
}

std::string layers_csv(const Explanation& explanation, const Study& study) {
  const Fields<LayerExplanation> fields = layer_fields(explanation, study);
  if (!explanation.layers.empty()) return csv_of(fields, explanation.layers);
  // The columns, and why there is nothing in them.
  Json row = csv_row<LayerExplanation>(fields, nullptr);
  row["reasons"] = limits_text(explanation, study);
  return csv_of(Json::array({row}));
}

}  // namespace ddl
