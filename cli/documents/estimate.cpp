#include "cli/documents/estimate.hpp"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/documents/fields.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/units.hpp"
#include "estimator/kernels/shard_prices.hpp"
#include "estimator/memory/fresh_memory.hpp"
#include "profiler/backend_options.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

/// A plan that was priced, and its place among others; 0 for none.
struct RankedEstimate {
  const Estimate& estimate;
  int rank = 0;
  [[nodiscard]] bool priced() const { return estimate.time.iteration().value() > 0; }
};

Fields<RankedEstimate> memory_fields() {
  using Row = RankedEstimate;
  using Item = Bytes MemoryBreakdown::*;
  Fields<Row> fields;
  const auto add = [&](std::string_view name, auto bytes_of) {
    const auto value = [bytes_of](const Row& row) {
      return row.priced() ? Json(bytes_of(row.estimate.memory).value()) : Json(nullptr);
    };
    fields.push_back({fmt::format("{}_bytes", name), value, "memory"});
  };
  const auto add_items = [&](std::initializer_list<std::pair<std::string_view, Item>> items) {
    for (const auto& [name, item] : items) add(name, [item = item](const MemoryBreakdown& memory) { return memory.*item; });
  };
  add("total", [](const MemoryBreakdown& memory) { return memory.total(); });
  add_items({{"weights", &MemoryBreakdown::weights},
             {"gradients", &MemoryBreakdown::gradients},
             {"optimizer", &MemoryBreakdown::optimizer},
             {"activations", &MemoryBreakdown::activations},
             {"input", &MemoryBreakdown::input},
             {"workspace", &MemoryBreakdown::workspace}});
  fields.push_back({"workspace_is", [](const Row& row) { return Json(to_string(row.estimate.memory.workspace_origin)); },
                    "memory", Field<Row>::Formats::json});
  add_items({{"communication", &MemoryBreakdown::communication}, {"context", &MemoryBreakdown::context}});
  add("peak_allocated", [](const MemoryBreakdown& memory) { return memory.allocated(); });
  add("peak_reserved", [](const MemoryBreakdown& memory) { return memory.peak_reserved; });
  add("upper_bound", [](const MemoryBreakdown& memory) { return memory.upper_bound(); });
  return fields;
}

Json findings_to_json(const Estimate& estimate, const Study& study) {
  Json json = Json::array();
  for (const Finding& finding : findings_of(study.job(), estimate))
    json.push_back(
        {{"kind", to_string(finding.kind)}, {"share", finding.share}, {"text", describe(finding, study.model())}});
  return json;
}

/// Everything that is said of a plan to programs.
Fields<RankedEstimate> estimate_fields(const Study& study) {
  using Row = RankedEstimate;
  using Formats = Field<Row>::Formats;
  Fields<Row> fields{{"rank", [](const Row& row) { return row.rank == 0 ? Json(nullptr) : Json(row.rank); }}};
  for (Field<Plan>& field : plan_fields()) {
    if (field.name == "global_batch")
      fields.push_back({"feasible", [](const Row& row) { return Json(row.estimate.feasible()); }});
    fields.push_back({std::move(field.name),
                      [value = std::move(field.value)](const Row& row) { return value(row.estimate.plan); }, field.object});
  }
  const auto add_time = [&](std::string_view name, auto time_of) {
    fields.push_back(
        {fmt::format("{}_s", name),
         [time_of](const Row& row) { return row.priced() ? Json(time_of(row.estimate).value()) : Json(nullptr); }, "time"});
  };
  add_time("iteration", [](const Estimate& estimate) { return estimate.time.iteration(); });
  add_time("epoch", [](const Estimate& estimate) { return estimate.epoch; });
  for (const TimePart& part : time_parts)
    add_time(part.name, [part = part.part](const Estimate& estimate) { return estimate.time.*part; });
  fields.push_back(
      {"efficiency", [](const Row& row) { return row.priced() ? Json(row.estimate.efficiency) : Json(nullptr); }});
  fields.push_back({"cost", [&study](const Row& row) {
                      const std::optional<double> cost = cost_of(row.estimate, study.machine());
                      return cost ? Json(*cost) : Json(nullptr);
                    }});
  fields.push_back(
      {"findings", [&study](const Row& row) { return findings_to_json(row.estimate, study); }, {}, Formats::json});
  for (Field<Row>& field : memory_fields()) fields.push_back(std::move(field));
  const auto reasons = [&study](const Row& row) {
    Json texts = Json::array();
    for (const Limit& limit : row.estimate.limits) texts.push_back(describe(limit, study.model()));
    return texts;
  };
  fields.push_back({"reasons", reasons, {}, Formats::json});
  fields.push_back({"reasons",
                    [&study](const Row& row) { return Json(describe(row.estimate.limits, study.model())); },
                    {},
                    Formats::csv});
  return fields;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (Family family = 0; family < (Family{1} << axis_count); ++family) names.push_back(family_name(family));
  return names;
}

/// What a whole step takes beside its kernels, on lines of their own; empty where nobody measured it.
std::string beside_kernels_text(const Study& study) {
  const ShardPrices* const measured = study.kernels().measured();
  if (measured == nullptr) return {};
  const auto part = [](const StepOverhead& overhead) {
    return overhead.factor < 1 ? fmt::format("{:.1f} % less", 100 * (1 - overhead.factor))
                               : fmt::format("{} a kernel", humanize(overhead.per_kernel));
  };
  std::string text;
  if (!measured->steps().empty()) {
    text = fmt::format("  beside kernels: forward {}, backward {}, update {}, from {}\n",
                       part(measured->overhead(Phase::forward)), part(measured->overhead(Phase::backward)),
                       part(measured->update_overhead()), measured->steps());
  }
  if (const SecondsPerByte touch = measured->fresh_memory(); touch.value() > 0) {
    text += fmt::format("  first touch of fresh memory: {} a MiB, in tensors of {} and more\n", humanize(touch * 1_MiB),
                        humanize(mapping_threshold));
  }
  return text;
}

Json beside_kernels_to_json(const ShardPrices& measured) {
  Json json;
  const auto add = [&](std::string_view name, const StepOverhead& overhead) {
    json[std::string(name)] = {{"per_kernel_s", overhead.per_kernel.value()}, {"factor", overhead.factor}};
  };
  add("forward", measured.overhead(Phase::forward));
  add("backward", measured.overhead(Phase::backward));
  add("update", measured.update_overhead());
  json["from"] = measured.steps().empty() ? Json(nullptr) : Json(measured.steps());
  json["fresh_memory_s_per_byte"] = measured.fresh_memory().value();
  return json;
}

}  // namespace

TimeUnit time_unit(Seconds longest) {
  if (longest.value() < 10e-3) return {"us", 1e6};
  if (longest.value() < 10) return {"ms", 1e3};
  return {"s", 1.0};
}

std::string figure(double value) {
  if (value == 0) return "-";
  if (value < 0.05) return "0.0";
  return value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

std::string amount(double value) { return value < 99.995 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value); }

std::optional<double> cost_of(const Estimate& estimate, const Machine& machine) {
  if (!machine.price_per_gpu_hour || estimate.epoch.value() <= 0) return std::nullopt;
  return *machine.price_per_gpu_hour * static_cast<double>(estimate.plan.mesh.devices()) * estimate.epoch.value() / 3600.0;
}

std::string reasons_text(const Estimate& estimate, const Model& model) {
  return estimate.limits.empty() ? std::string("cannot be divided so") : describe(estimate.limits, model);
}

std::string plan_line(const Estimate& estimate, const Study& study, const std::string& besides, const Style& style) {
  std::string line =
      style.bold(fmt::format("{} ({})", family_name(estimate.plan.mesh.family()), degrees_text(estimate.plan.mesh)));
  if (!estimate.feasible()) {
    const bool memory_alone = std::all_of(estimate.limits.begin(), estimate.limits.end(),
                                          [](const Limit& limit) { return limit.kind == Limit::Kind::memory; });
    return line + style.bold(memory_alone ? " does not fit" : " cannot be") + ": " + reasons_text(estimate, study.model());
  }
  return line + fmt::format(": {} per epoch{}, {} of {} per GPU", humanize(estimate.epoch), besides,
                            humanize(estimate.memory.total()), humanize(study.machine().device.memory));
}

std::string kernel_times_text(const Study& study) {
  const ShardPrices* measured = study.kernels().measured();
  if (measured == nullptr) return std::string(to_string(study.kernels().origin()));
  std::string text = "profile of " + measured->name();
  // A script that does not ask for it has the other layout, and other kernels.
  if (!has_layout(study.model())) return text;
  if (measured->layout() == to_string(ImageLayout::channels_last)) text += ", images channels-last (torch.channels_last)";
  if (measured->layout() == to_string(ImageLayout::channels_first)) text += ", images channels-first (PyTorch's default)";
  if (measured->layout() == "both") text += ", images channels-last and channels-first";
  return text;
}

std::string kernel_shares_text(const Explanation& explanation) {
  const auto shares = kernel_time_shares(explanation);
  std::string text;
  for (const PriceSource source : price_sources) {
    const double share = shares[static_cast<std::size_t>(source)];
    if (share <= 0) continue;
    const std::string percent = share < 0.005 ? "under 1" : fmt::format("{:.0f}", share * 100);
    text += fmt::format("{}{} % {}", text.empty() ? "" : ", ", percent, to_string(source));
  }
  return text;
}

Json kernel_shares_to_json(const Explanation& explanation) {
  const auto shares = kernel_time_shares(explanation);
  Json json;
  for (const PriceSource source : price_sources)
    json[std::string(to_string(source))] = shares[static_cast<std::size_t>(source)];
  return json;
}

std::string study_lines(const Study& study, std::int64_t gpus, std::int64_t global_batch) {
  return fmt::format("{} on {}, {} of {}, global batch {}, {} with {}{}\nkernel times: {}\n{}", study.model().name,
                     study.dataset().name, count_text(gpus, "GPU"), study.machine().name, with_thousands(global_batch),
                     to_string(study.precision()), to_string(study.optimizer()),
                     study.spec().assumptions.linear_kernels ? ", ideal" : "", kernel_times_text(study),
                     beside_kernels_text(study));
}

std::string defaults_text(const std::vector<Default>& defaults, const Style& style) {
  if (defaults.empty()) return {};
  Table table({{"option", Table::Align::left}, {"value", Table::Align::left}, {"why", Table::Align::left}});
  for (const Default& each : defaults) table.add({each.option, each.value, each.reason});
  return "\n" + style.bold("Defaults in force") + "\n" + table.text();
}

const Estimate* nearest_miss(const std::vector<Estimate>& rejected) {
  const Estimate* nearest = nullptr;
  for (const Estimate& each : rejected) {
    const bool priced = each.time.iteration().value() > 0;
    const bool nearer = nearest != nullptr && priced &&
                        (nearest->time.iteration().value() <= 0 || each.memory.total() < nearest->memory.total());
    if (nearest == nullptr || nearer) nearest = &each;
  }
  return nearest;
}

Table ranked_table(const std::vector<Estimate>& estimates, const Study& study, bool with_ranks) {
  using Align = Table::Align;
  Seconds longest{};
  for (const Estimate& estimate : estimates) longest = max(longest, estimate.time.iteration());
  const TimeUnit unit = time_unit(longest);
  const bool priced = study.machine().price_per_gpu_hour.has_value();
  const auto any = [&](auto part) {
    return std::any_of(estimates.begin(), estimates.end(), [&](const Estimate& e) { return part(e.time).value() > 0; });
  };
  // A part that no plan has gets no column.
  std::vector<TimePart> parts(time_parts.begin(), time_parts.end());
  std::erase_if(parts, [&](const TimePart& part) { return !any([&](const Breakdown& time) { return time.*part.part; }); });

  std::vector<Table::Column> columns{
      {"#", Align::right}, {"strategy", Align::left}, {"degrees", Align::left}, {"epoch", Align::right}};
  if (priced) columns.push_back({study.machine().currency, Align::right});
  columns.push_back({"eff.", Align::right});
  columns.push_back({"memory", Align::right});
  columns.push_back({"iteration " + unit.name, Align::right});
  for (const TimePart& part : parts)
    columns.push_back({fmt::format("{} {}", &part == parts.data() ? "=" : "+", part.column), Align::right});
  columns.push_back({"with", Align::left});
  if (!with_ranks) columns.erase(columns.begin());
  Table table(std::move(columns));
  int rank = 0;
  for (const Estimate& e : estimates) {
    std::vector<std::string> row{std::to_string(++rank), family_name(e.plan.mesh.family()), degrees_text(e.plan.mesh),
                                 humanize(e.epoch)};
    if (priced) row.push_back(amount(cost_of(e, study.machine()).value_or(0)));
    row.push_back(fmt::format("{:.0f} %", e.efficiency * 100));
    row.push_back(humanize(e.memory.total()) + (e.feasible() ? "" : " !"));
    row.push_back(figure(e.time.iteration().value() * unit.factor));
    for (const TimePart& part : parts) row.push_back(figure((e.time.*part.part).value() * unit.factor));
    row.push_back(choices_text(e.plan));
    if (!with_ranks) row.erase(row.begin());
    table.add(std::move(row));
  }
  return table;
}

std::string plans_csv(const std::vector<Estimate>& ranked, const std::vector<Estimate>& rejected, const Study& study) {
  std::vector<RankedEstimate> rows;
  int rank = 0;
  for (const Estimate& estimate : ranked) rows.push_back({estimate, ++rank});
  for (const Estimate& estimate : rejected) rows.push_back({estimate, 0});
  return csv_of(estimate_fields(study), rows);
}

std::string rejected_text(const std::vector<Estimate>& rejected, const Model& model) {
  const auto reason = [&](const Estimate& estimate) { return reasons_text(estimate, model); };
  // Hybrids of a strategy that is impossible in any degree go with that one.
  const auto always = [](const Estimate& estimate) {
    return estimate.limits.size() == 1 && estimate.limits.begin()->kind == Limit::Kind::no_extents;
  };
  const auto pure = [](const Estimate& estimate) { return std::popcount(estimate.plan.mesh.family()) <= 1; };
  const auto hopeless =
      std::find_if(rejected.begin(), rejected.end(), [&](const Estimate& e) { return pure(e) && always(e); });
  const auto with_it =
      std::count_if(rejected.begin(), rejected.end(), [&](const Estimate& e) { return !pure(e) && always(e); });
  std::string out;
  std::vector<std::pair<std::string, std::string>> hybrids;  // reason, names
  for (const Estimate& estimate : rejected) {
    const Family family = estimate.plan.mesh.family();
    if (hopeless != rejected.end() && always(estimate)) {
      if (!pure(estimate)) continue;
      const std::string others = with_it > 0 ? fmt::format(" and its {}", count_text(with_it, "hybrid")) : "";
      out += "  " + wrap_text(fmt::format("{}{}: {}", family_name(family), others, reason(estimate)), 116, "    ") + "\n";
      continue;
    }
    if (pure(estimate)) {
      out += "  " + wrap_text(fmt::format("{}: {}", family_name(family), reason(estimate)), 116, "    ") + "\n";
      continue;
    }
    const std::string why = always(estimate)
                                ? reason(estimate)
                                : fmt::format("nearest is {}: {}", degrees_text(estimate.plan.mesh), reason(estimate));
    const auto same = std::find_if(hybrids.begin(), hybrids.end(), [&](const auto& known) { return known.first == why; });
    if (same == hybrids.end()) {
      hybrids.emplace_back(why, family_name(family));
    } else {
      same->second += ", " + family_name(family);
    }
  }
  for (const auto& [why, names] : hybrids) out += "  " + wrap_text(fmt::format("{}: {}", names, why), 116, "    ") + "\n";
  return out;
}

Json estimate_to_json(const Estimate& estimate, int rank, const Study& study) {
  const RankedEstimate row{estimate, rank};
  Json json = json_of(estimate_fields(study), row);
  // A plan that was never priced has no times to report.
  if (!row.priced()) json["time"] = json["memory"] = nullptr;
  return json;
}

Json inputs_to_json(const Study& study) {
  Json json;
  json["model"] = study.model().name;
  json["parameters"] = study.model().parameters();
  json["dataset"] = study.dataset().name;
  json["samples_per_epoch"] = study.job().samples_per_epoch;
  json["machine"] = study.machine().name;
  json["device_memory_bytes"] = study.machine().device.memory.value();
  json["coefficients"] = study.coefficients().name.empty() ? Json(nullptr) : Json(study.coefficients().name);
  json["software"] = study.coefficients().software.name.empty() ? Json(nullptr) : Json(study.coefficients().software.name);
  json["kernel_times"] = kernel_times_text(study);
  if (const ShardPrices* const measured = study.kernels().measured()) {
    json["profiles"] = Json::array();
    for (const FoundProfile& each : study.profiles().profiles) json["profiles"].push_back(each.path);
    json["beside_kernels"] = beside_kernels_to_json(*measured);
  }
  json["precision"] = to_string(study.precision());
  json["mixed_precision"] = is_mixed(study.precision()) ? Json(mixed_precision_text(study)) : Json(nullptr);
  json["optimizer"] = to_string(study.optimizer());
  json["older_framework"] = study.assumptions().older_framework;
  return json;
}

std::string suggest_family(const std::string& text) {
  const std::vector<std::string> known = family_names();
  return suggest(text, std::vector<std::string>(known.begin(), known.end()));
}

std::optional<int> zero_stage_of_all(std::string_view families) {
  std::optional<int> least;
  for (std::size_t start = 0; start <= families.size();) {
    const std::size_t end = std::min(families.find(',', start), families.size());
    const int stage = zero_stage_in(families.substr(start, end - start));
    least = std::min(least.value_or(stage), stage);
    start = end + 1;
  }
  return least == 0 ? std::nullopt : least;
}

std::vector<Family> parse_families(const std::string& text) {
  std::vector<Family> families;
  if (text.empty()) return families;
  std::size_t start = 0;
  while (true) {
    const std::size_t comma = text.find(',', start);
    const std::string name = text.substr(start, comma == std::string::npos ? comma : comma - start);
    const std::optional<Family> family = parse_family(name);
    if (!family) throw Error(fmt::format("no strategy is called {}", quote(name)), suggest_family(name));
    families.push_back(*family);
    if (comma == std::string::npos) return families;
    start = comma + 1;
  }
}

}  // namespace ddl
