#include "cli/options/what_if.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/setting_values.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"
#include "estimator/exchanges/topology/network.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/kernels/device_kernels.hpp"
#include "estimator/kernels/kernel_time.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

constexpr double least_factor = 1e-3, most_factor = 1e3;
constexpr const char* what_if_hint = "use for example --what-if 'bandwidth(node)*2', 'peak(bf16)*0.8' or 'straggler=1.2'";

/// Throws Error that names the parts that a quantity has.
[[noreturn]] void refuse_part(const SupposedChange& change, const std::vector<std::string>& known) {
  throw Error(fmt::format("--what-if: {} has no part {}", change.quantity, quote(change.part)),
              fmt::format("known parts: {}", fmt::join(known, ", ")));
}

/// The start-up time of an exchange, and the bandwidth of the narrowest of its links, for each node outside nodes.
struct CrossedLinks {
  Seconds latency{};
  Bandwidth narrowest{};
};

/// Returns the links that an exchange between `nodes` nodes crosses: those inside a node, or all levels up to the one that
/// joins the nodes.
CrossedLinks crossed_links(const std::vector<LinkLevel>& levels, int nodes) {
  CrossedLinks crossed{.latency = levels.front().latency, .narrowest = levels.front().bandwidth};
  double joined = 1;  // nodes that the levels so far join
  for (std::size_t i = 1; i < levels.size() && joined < nodes; ++i) {
    const Bandwidth of_node = levels[i].bandwidth * (levels[i].rails / joined);
    crossed.narrowest = i == 1 ? of_node : std::min(crossed.narrowest, of_node);
    crossed.latency = levels[i].latency;
    joined *= levels[i].units;
  }
  return crossed;
}

/// Multiplies the times of measured exchanges as the links that they cross change: the time of the smallest message by the
/// start-up time, and what larger messages take in addition by the time per byte of the narrowest link.
void scale_exchanges(Coefficients& coefficients, const std::vector<LinkLevel>& before, const std::vector<LinkLevel>& after) {
  std::vector<MeasuredCurve> curves = coefficients.exchanges.curves();
  for (MeasuredCurve& curve : curves) {
    if (curve.points.empty()) continue;
    const CrossedLinks was = crossed_links(before, curve.nodes), is = crossed_links(after, curve.nodes);
    const double latency = was.latency > Seconds{} ? is.latency / was.latency : 1, per_byte = was.narrowest / is.narrowest;
    const Seconds start = curve.points.front().time;
    // Repeated measurements vary, so the time of a larger message may be below the time of the smallest one.
    for (MeasuredCurve::Point& point : curve.points)
      point.time = std::min(start, point.time) * latency + std::max(point.time - start, Seconds(0)) * per_byte;
  }
  coefficients.exchanges = MeasuredExchanges(std::move(curves));
}

/// The part of `bandwidth` and `latency` that stands for the link between devices and their host.
constexpr std::string_view host_part = "host";
/// The part of `bandwidth` and `latency` that stands for all levels of the network outside nodes.
constexpr std::string_view outside_part = "between-nodes";

/// Applies a change to each level of the network that the change names, or to the link to the host, if the change names it.
template <class Change, class ChangeOfHost>
void change_levels(StudyInputs& inputs, const SupposedChange& change, const Change& apply,
                   const ChangeOfHost& apply_to_host) {
  Machine& machine = inputs.machine;
  bool is_found = false;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    known.push_back(machine.levels[i].name);
    const bool is_outside = i > 0 && change.part == outside_part;
    if (!change.part.empty() && machine.levels[i].name != change.part && !is_outside) continue;
    is_found = true;
    apply(machine.levels[i], i);
  }
  if (machine.levels.size() > 1 && !contains(known, outside_part)) known.emplace_back(outside_part);
  if (machine.host) {
    known.emplace_back(host_part);
    if (change.part == host_part) {
      is_found = true;
      apply_to_host(*machine.host);
    }
  }
  if (!is_found) refuse_part(change, known);
}

/// Multiplies the peak of a measured device by `factor`, so that its power limit lowers the clock to the same share of the
/// peak.
void keep_clock(std::shared_ptr<const DeviceKernels>& kernels, double factor) {
  if (kernels == nullptr) return;
  auto changed = std::make_shared<DeviceKernels>(*kernels);
  changed->peak *= factor;
  kernels = std::move(changed);
}

void change_peak(StudyInputs& inputs, const SupposedChange& change) {
  bool is_found = false;
  std::vector<std::string> known;
  for (const Precision precision : enum_values<Precision>) {
    std::optional<FlopRate>& peak = inputs.machine.device.peak[precision];
    if (!peak) continue;
    known.emplace_back(to_string(precision));
    if (!change.part.empty() && change.part != to_string(precision)) continue;
    *peak *= change.factor;
    is_found = true;
    if (precision != Precision::bf16) continue;
    keep_clock(inputs.machine.device.kernels, change.factor);
    keep_clock(inputs.machine.device.other_kernels, change.factor);
  }
  if (!is_found) refuse_part(change, known);
}

void change_bandwidth(StudyInputs& inputs, const SupposedChange& change) {
  Machine& machine = inputs.machine;
  const std::size_t last = machine.levels.size() - 1;
  const auto apply = [&](LinkLevel& level, std::size_t number) {
    level.bandwidth *= change.factor;
    if (number != last || machine.network == nullptr) return;
    machine.shape.link_bandwidth *= change.factor;
    machine.shape.global_bandwidth *= change.factor;
    machine.network = make_network(machine);
  };
  change_levels(inputs, change, apply, [&](HostPath& host) { host.bandwidth *= change.factor; });
}

void change_latency(StudyInputs& inputs, const SupposedChange& change) {
  const auto apply = [&](LinkLevel& level, std::size_t) { level.latency *= change.factor; };
  change_levels(inputs, change, apply, [&](HostPath& host) { host.latency *= change.factor; });
}

/// Changes the measured totals of models as much as the predicted kernels of these models change.
void scale_totals(const Device& before, const Device& after, Coefficients& coefficients) {
  std::vector<MeasuredModel> changed = coefficients.models;
  for (MeasuredModel& measured : changed) {
    const Model model = load_model(measured.model);
    const ModelFacts facts = facts_of(model);
    const auto was = measured_scale(facts, before, coefficients, measured.precision);
    const auto is = measured_scale(facts, after, coefficients, measured.precision);
    if (was && is) measured.per_sample *= *was / *is;
  }
  coefficients.models = std::move(changed);
}

/// A quantity of the machine that a supposed case may multiply.
struct SupposedQuantity {
  std::string_view name;
  bool has_parts;
  void (*apply)(StudyInputs& inputs, const SupposedChange& change);
};
constexpr std::array<SupposedQuantity, 6> quantities{{
    {"peak", true, change_peak},
    {"bandwidth", true, change_bandwidth},
    {"latency", true, change_latency},
    {"memory_bandwidth", false,
     [](StudyInputs& inputs, const SupposedChange& change) { inputs.machine.device.memory_bandwidth *= change.factor; }},
    {"memory", false,
     [](StudyInputs& inputs, const SupposedChange& change) { inputs.machine.device.memory *= change.factor; }},
    {"host_speed", false,
     [](StudyInputs& inputs, const SupposedChange& change) { inputs.machine.device.host_speed *= change.factor; }},
}};

const SupposedQuantity* quantity_named(std::string_view name) {
  return find_where(quantities, [&](const SupposedQuantity& each) { return each.name == name; });
}

/// Parses `*2` or `/2` as a factor.
std::optional<double> factor_in(std::string_view text) {
  if (text.size() < 2 || (text.front() != '*' && text.front() != '/')) return std::nullopt;
  const auto number = number_in<double>(text.substr(1));
  if (!number) return std::nullopt;
  const double factor = text.front() == '*' ? *number : 1 / *number;
  // This form of the condition is false for NaN, so NaN is refused.
  return factor >= least_factor && factor <= most_factor ? std::optional(factor) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& message, std::string hint = what_if_hint) {
  throw Error("--what-if: " + message, std::move(hint));
}

/// Parses one change.
SupposedChange parse_change(std::string_view text) {
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    SupposedChange change{.quantity = std::string(text.substr(0, equals)), .value = std::string(text.substr(equals + 1))};
    if (quantity_named(change.quantity) != nullptr) refuse(fmt::format("{} is multiplied, not set", change.quantity));
    if (find_setting(change.quantity) == nullptr) {
      const std::string nearest = suggest(change.quantity, setting_keys([](const SettingRow&) { return true; }));
      refuse(fmt::format("{} is neither a setting nor a quantity of a machine", quote(change.quantity)),
             nearest.starts_with("did you mean") ? nearest : what_if_hint);
    }
    // Throws Error, with "did you mean", for an unknown value.
    static_cast<void>(parse_settings(change.quantity + "=" + change.value, SettingOrigin::option));
    return change;
  }
  const std::size_t sign = text.find_first_of("*/");
  std::string_view name = text.substr(0, sign);
  SupposedChange change;
  if (const std::size_t bracket = name.find('('); bracket != std::string_view::npos) {
    if (!name.ends_with(')') || name.size() < bracket + 3) refuse(fmt::format("{} has no part in brackets", quote(name)));
    change.part = name.substr(bracket + 1, name.size() - bracket - 2);
    name = name.substr(0, bracket);
  }
  change.quantity = name;
  const SupposedQuantity* const quantity = quantity_named(name);
  if (quantity == nullptr) {
    if (name == "network")
      refuse("'network' is not a quantity of a machine", "use bandwidth(between-nodes)*2 or latency(between-nodes)/2");
    std::vector<std::string_view> known;
    for (const SupposedQuantity& each : quantities) known.push_back(each.name);
    const std::string nearest = suggest(std::string(name), known);
    refuse(fmt::format("{} is not a quantity of a machine", quote(name)),
           fmt::format("{}; settings take a value: straggler=1.2", nearest));
  }
  if (!change.part.empty() && !quantity->has_parts) refuse(fmt::format("{} has no parts: {}", change.quantity, quote(text)));
  const auto factor = factor_in(sign == std::string_view::npos ? "" : text.substr(sign));
  if (!factor) refuse(fmt::format("{} has no factor from {:g} to {:g}", quote(text), least_factor, most_factor));
  change.factor = *factor;
  return change;
}

/// Returns the end of the change that begins at `at`. A space ends the change, except a space before a unit:
/// `launch_overhead=2 us`.
std::size_t end_of_change(std::string_view text, std::size_t at) {
  const std::size_t end = std::min(text.find(' ', at), text.size());
  if (end == at || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') return end;
  if (text.substr(at, end - at).find('=') == std::string_view::npos) return end;
  const std::size_t next = std::min(text.find(' ', end + 1), text.size());
  const std::string_view unit = text.substr(end + 1, next - end - 1);
  const bool is_unit = !unit.empty() && unit.find_first_of("0123456789=*()") == std::string_view::npos;
  return is_unit ? next : end;
}

}  // namespace

WhatIf parse_what_if(const std::string& text) {
  WhatIf supposed{.text = text, .changes = {}};
  const std::string_view all = supposed.text;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = end_of_change(all, at);
    if (end > at) supposed.changes.push_back(parse_change(all.substr(at, end - at)));
    at = end + 1;
  }
  if (supposed.changes.empty()) throw Error("--what-if has no change", what_if_hint);
  return supposed;
}

Option add_what_if_option(const Command& command, std::vector<std::string>& cases) {
  return command.add_repeated(
      "--what-if", cases,
      "show what changes if a quantity of the machine is multiplied, or a setting has another value: "
      "bandwidth(between-nodes)*2, peak(bf16)*0.8, straggler=1.2; repeatable",
      "CHANGE");
}

void apply_what_if(const WhatIf& supposed, StudySpec& spec) {
  for (const SupposedChange& change : supposed.changes) {
    if (!change.value.empty())
      spec.settings.override_by(parse_settings(change.quantity + "=" + change.value, SettingOrigin::option));
    // --gpu-memory replaces the memory of the machine.
    if (change.quantity == "memory" && spec.device_memory) *spec.device_memory *= change.factor;
  }
}

void apply_what_if(const WhatIf& supposed, StudyInputs& inputs) {
  const Device before = inputs.machine.device;
  const std::vector<LinkLevel> levels = inputs.machine.levels;
  for (const SupposedChange& change : supposed.changes) {
    if (const SupposedQuantity* const quantity = quantity_named(change.quantity)) quantity->apply(inputs, change);
  }
  if (!inputs.machine.levels.empty()) scale_exchanges(inputs.coefficients, levels, inputs.machine.levels);
  scale_totals(before, inputs.machine.device, inputs.coefficients);
}

}  // namespace ddl
