#include "cli/documents/charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/explanation.hpp"
#include "cli/documents/memory.hpp"
#include "cli/options/plan_notation.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/steps.hpp"
#include "core/enum_array.hpp"
#include "core/units.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "estimator/memory/memory_by_item.hpp"

namespace ddl {
namespace {

/// Maximum number of drawn bars. More bars would be harder to read than a table.
constexpr std::size_t bars_drawn = 12;
/// Plans are omitted if they take this many times as long as the first plan, because the bars of
/// all other plans would become too short.
constexpr double longest_drawn = 5;
/// Maximum number of drawn kernels. If there are more, only the kernels with the longest times are drawn.
constexpr std::size_t kernels_drawn = 500;

/// The color of each part of a step, in the order of time_parts.
constexpr std::array<Tone, time_parts.size()> part_tones{Tone::sky,    Tone::blue,   Tone::green,  Tone::vermilion,
                                                         Tone::orange, Tone::yellow, Tone::purple, Tone::grey,
                                                         Tone::brown,  Tone::dark};

/// Returns a logarithmic axis with ticks at powers of ten. `text` formats the labels.
template <class Text>
ChartAxis logarithmic_axis(std::string title, double least, double most, const Text& text) {
  ChartAxis axis{std::move(title), true, std::pow(10.0, std::floor(std::log10(least))),
                 std::pow(10.0, std::ceil(std::log10(most)))};
  if (axis.to <= axis.from) axis.to = axis.from * 10;
  for (double at = axis.from; at <= axis.to * 1.001; at *= 10) axis.ticks.push_back({at, text(at)});
  return axis;
}

/// Equal kernels of equal layers. They are drawn as a single point.
struct DrawnKernel {
  std::string name;
  double intensity = 0, rate = 0;
  Provenance source = Provenance::roofline;
  Precision precision = Precision::fp32;
  Seconds time{};
  int count = 0;
};

std::vector<DrawnKernel> kernels_of(const Explanation& explanation, const Study& study) {
  const Plan& plan = explanation.estimate.plan;
  std::map<std::pair<int, std::size_t>, DrawnKernel> kernels;  // by kind of layer, and index of the kernel in the layer
  for (const LayerExplanation& layer : explanation.layers) {
    for (std::size_t i = 0; i < layer.detail.kernels.size(); ++i) {
      const TimedKernel& kernel = layer.detail.kernels[i];
      if (!kernel.work || kernel.is_overhead() || kernel.time <= Seconds{}) continue;
      const double samples = layer.detail.shard.samples, flops = kernel.work->flops * samples;
      const Precision precision = kernel.precision.value_or(plan.precision);
      const double bytes = (kernel.work->activation_items * samples + kernel.work->weight_items) * item_bytes(precision);
      if (flops <= 0 || bytes <= 0) continue;
      DrawnKernel& drawn = kernels[{layer.kind, i}];
      if (drawn.count++ > 0) continue;
      const std::string& name = study.model().layers[static_cast<std::size_t>(layer.layer)].name;
      drawn = {fmt::format("{}, {}", name, kernel.pass),
               flops / bytes,
               flops / kernel.time.value(),
               kernel.source,
               precision,
               kernel.time,
               1};
    }
  }
  std::vector<DrawnKernel> all;
  for (auto& [place, kernel] : kernels) all.push_back(std::move(kernel));
  std::ranges::stable_sort(all,
                           [](const DrawnKernel& a, const DrawnKernel& b) { return a.time * a.count > b.time * b.count; });
  if (all.size() > kernels_drawn) all.resize(kernels_drawn);
  return all;
}

/// The color of each Provenance.
constexpr std::array<Tone, enum_values<Provenance>.size()> source_tones{Tone::blue, Tone::sky, Tone::green, Tone::grey};

}  // namespace

Chart time_bars(const std::vector<std::pair<std::string, const Estimate*>>& plans) {
  StackedBars bars;
  bars.unit = "s";
  std::vector<TimePart> parts;
  for (std::size_t p = 0; p < time_parts.size(); ++p) {
    const TimePart& part = time_parts[p];
    if (std::ranges::none_of(plans, [&](const auto& each) { return (each.second->time[part.part]).value() > 0; })) continue;
    parts.push_back(part);
    bars.kinds.push_back({std::string(part.column), part_tones[p]});
  }
  for (const auto& [label, estimate] : plans) {
    Bar bar{label, humanize(estimate->time.step_time()), {}, {}};
    for (const TimePart& part : parts) {
      bar.values.push_back((estimate->time[part.part]).value());
      bar.texts.push_back(humanize(estimate->time[part.part]));
    }
    bars.bars.push_back(std::move(bar));
  }
  return {"Time of a step by part",
          fmt::format("{} as stacked bars; the table has the same numbers",
                      count_text(static_cast<std::int64_t>(plans.size()), "plan")),
          std::move(bars)};
}

Chart time_bars(const std::vector<Estimate>& estimates) {
  std::vector<std::pair<std::string, const Estimate*>> drawn;
  const std::size_t most = std::min(estimates.size(), bars_drawn);
  for (std::size_t i = 0; i < most; ++i) {
    const Estimate& each = estimates[i];
    if (each.time.step_time() > estimates.front().time.step_time() * longest_drawn) continue;
    drawn.emplace_back(
        fmt::format("{}{}", estimates.size() > 1 ? fmt::format("{}. ", i + 1) : std::string(), plan_word(each.plan)), &each);
  }
  Chart chart = time_bars(drawn);
  if (drawn.size() < most)
    chart.title += fmt::format(", of plans that take at most {:g} times as long as the first", longest_drawn);
  return chart;
}

Chart roofline_plot(const Explanation& explanation, const Study& study) {
  const Device& device = study.machine().device;
  const std::vector<DrawnKernel> kernels = kernels_of(explanation, study);
  Plot plot;
  double least_x = 1, most_x = 1000, least_y = 1e12, most_y = 1e12;
  std::set<Precision> precisions;
  for (const DrawnKernel& kernel : kernels) {
    least_x = std::min(least_x, kernel.intensity);
    most_x = std::max(most_x, kernel.intensity);
    least_y = std::min(least_y, kernel.rate);
    most_y = std::max(most_y, kernel.rate);
    precisions.insert(kernel.precision);
  }
  for (const Precision precision : precisions) {
    if (const auto peak = device.peak_at(precision)) most_y = std::max(most_y, peak->value());
  }
  plot.x = logarithmic_axis("FLOPs per byte", least_x, most_x, [](double at) { return fmt::format("{:g}", at); });
  plot.y = logarithmic_axis("", least_y, most_y, [](double at) { return humanize(FlopRate(at)); });
  const double bandwidth = device.memory_bandwidth.value();
  for (const Precision precision : precisions) {
    const auto peak = device.peak_at(precision);
    if (!peak || bandwidth <= 0) continue;
    const double ridge = peak->value() / bandwidth;
    Curve roof{
        Curve::Shape::line,
        {fmt::format("datasheet: {} in {}, {}", humanize(*peak), to_string(precision), humanize(device.memory_bandwidth)),
         precision == explanation.estimate.plan.precision ? Tone::vermilion : Tone::purple},
        {}};
    const double begin = std::max(plot.x.from, plot.y.from / bandwidth);
    if (begin < ridge) roof.points.push_back({begin, begin * bandwidth});
    roof.points.push_back({std::max(begin, ridge), peak->value()});
    if (ridge < plot.x.to) roof.points.push_back({plot.x.to, peak->value()});
    plot.curves.push_back(std::move(roof));
  }
  for (const Provenance source : enum_values<Provenance>) {
    const auto place = static_cast<std::size_t>(source);
    Curve points{Curve::Shape::points, {fmt::format("kernels, {}", to_string(source)), source_tones[place]}, {}};
    for (const DrawnKernel& kernel : kernels) {
      if (kernel.source != source) continue;
      const std::string times = kernel.count > 1 ? fmt::format(", and {} more like it", kernel.count - 1) : std::string();
      points.points.push_back({kernel.intensity, kernel.rate,
                               fmt::format("{}{}: {:.3g} FLOPs per byte, {}, {}", kernel.name, times, kernel.intensity,
                                           humanize(FlopRate(kernel.rate)), humanize(kernel.time))});
    }
    if (!points.points.empty()) plot.curves.push_back(std::move(points));
  }
  return {fmt::format("Kernels and the roofline of {}", device.name),
          "FLOP/s of each kernel against its FLOPs per byte of memory traffic, on logarithmic scales", std::move(plot)};
}

namespace {

/// Returns the key `inputs` of the JSON report as a table.
Table inputs_table(const Study& study) {
  Table table({words("input"), words("value")});
  const nlohmann::ordered_json inputs = inputs_to_json(study);
  for (const auto& [key, value] : inputs.items()) {
    if (value.is_null() || value.is_object()) continue;
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (value.is_boolean()) text = value.get<bool>() ? "yes" : "no";
    if (value.is_number() && key.ends_with("_bytes")) {
      name.erase(name.size() - std::string_view(" bytes").size());
      text = humanize(Bytes(value.get<double>()));
    } else if (value.is_number()) {
      text = whole_text(value.get<double>());
    } else if (value.is_array()) {
      text.clear();
      for (const auto& each : value)
        text += (text.empty() ? "" : ", ") + (each.is_string() ? each.get<std::string>() : each.dump());
    }
    table.add({name, text});
  }
  return table;
}

std::string pace_text(double pace) {
  const double difference = 1 / pace - 1;
  return fmt::format(
      "The schedule, simulated slot by slot, takes {:.1f} % {} than the closed form of the estimate. The drawing is scaled "
      "to the estimate.",
      100 * std::abs(difference), difference > 0 ? "longer" : "less");
}

}  // namespace

void add_plan_figures(Document& document, const Estimator& estimator, const Plan& plan, const Study& study,
                      const PlanTables& tables) {
  const Explanation explanation = explain(estimator, plan);
  if (!explanation.has_time()) return;
  document.section("One step", fmt::format(" in time ({})", family_name(plan.mesh.family())));
  if (const auto timeline = step_timeline(estimator, plan)) {
    document.add(step_lanes(*timeline, plan));
    if (std::abs(timeline->pace - 1) >= 0.0005) document.line(pace_text(timeline->pace), 2);
  } else if (steps_overlap(estimator, plan)) {
    document.line("Stages use older versions of weights, so that steps overlap, which is not drawn.", 2);
  } else if (token_pieces(estimator.job().facts, plan, estimator.job().assumptions) > 1) {
    document.line("Stages pass tokens on in pieces, which is not drawn.", 2);
  } else {
    document.line(fmt::format("The schedule has more than {} slots, which are not drawn.", with_thousands(most_drawn_slots)),
                  2);
  }
  if (const auto timeline = memory_timeline(estimator, plan)) {
    document.section("Memory over time", ", " + fullest_rank_text(plan, explanation.estimate.critical.memory));
    const StageOf fullest = estimator.stage(plan, explanation.estimate.critical.memory);
    document.add(memory_plot(*timeline, memory_by_item(fullest), study.model(), study.device_memory()));
    if (tables.memory_items) {
      Table items = items_table(explanation.estimate.memory);
      items.legend = "is: measured, modeled from the model and the plan, or assumed";
      document.add(std::move(items));
    }
  }
  const Chart roofline = roofline_plot(explanation, study);
  const auto& curves = std::get<Plot>(roofline.drawing).curves;
  if (std::ranges::any_of(curves, [](const Curve& each) { return each.shape == Curve::Shape::points; })) {
    document.folded_section("Kernels", " of one rank");
    document.add(roofline);
  }
  document.folded_section("Sources of the numbers");
  document.line("kernel times: " + kernel_times_text(study), 2);
  document.line("of the kernel time: " + kernel_shares_text(explanation), 2);
  if (const std::string network = network_text(study.coefficients(), study.machine()); !network.empty())
    document.line("network: " + network, 2);
  if (tables.phases) add_phases(document, explanation, study);
  const SourcedMachine sourced = load_sourced_machine(study.spec().machine);
  Table numbers({words("value of the machine"), figures("value"), words("source")});
  for (const SourcedNumber& number : sourced.numbers) numbers.add({number.key, number.value, number.source});
  document.add(std::move(numbers));
  document.folded_section("Inputs");
  document.add(inputs_table(study));
}

}  // namespace ddl
