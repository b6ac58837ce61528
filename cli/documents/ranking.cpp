#include "cli/documents/ranking.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/documents/energy.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/goodput.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/synchronization.hpp"
#include "estimator/explain/staging.hpp"
#include "estimator/kernels/shard_times.hpp"

namespace ddl {
namespace {

/// A predicted plan with its rank; a rank of 0 means that the plan has no rank.
struct RankedEstimate {
  const Estimate& estimate;
  int rank = 0;
  const Estimate* first = nullptr;  ///< the first plan of the ranking, for comparisons
  [[nodiscard]] bool has_time() const { return estimate.time.step_time().value() > 0; }
};

void add_memory_fields(Fields<RankedEstimate>& fields) {
  using Row = RankedEstimate;
  const auto add = [&](std::string_view name, auto bytes_of) {
    const auto value = [bytes_of](const Row& row) {
      return row.has_time() ? Json(bytes_of(row.estimate.memory).value()) : Json(nullptr);
    };
    fields.add(fmt::format("{}_bytes", name), value, "memory");
  };
  const auto add_item = [&](std::string_view name, Bytes MemoryBreakdown::*item) {
    add(name, [item](const MemoryBreakdown& memory) { return memory.*item; });
  };
  add("total", [](const MemoryBreakdown& memory) { return memory.total(); });
  add_item("weights", &MemoryBreakdown::weights);
  add_item("gradients", &MemoryBreakdown::gradients);
  add_item("optimizer", &MemoryBreakdown::optimizer);
  add_item("activations", &MemoryBreakdown::activations);
  add_item("input", &MemoryBreakdown::input);
  add_item("workspace", &MemoryBreakdown::workspace);
  const auto workspace_is = [](const Row& row) { return to_string(row.estimate.memory.workspace_origin); };
  fields.add_json("workspace_is", workspace_is, "memory");
  add_item("communication", &MemoryBreakdown::communication);
  add_item("context", &MemoryBreakdown::context);
  add("peak_allocated", [](const MemoryBreakdown& memory) { return memory.allocated(); });
  add_item("peak_reserved", &MemoryBreakdown::peak_reserved);
  add("upper_bound", [](const MemoryBreakdown& memory) { return memory.upper_bound(); });
}

Json findings_to_json(const Estimate& estimate, const Study& study) {
  return json_list(findings_of(study.job(), estimate), [&study](const Finding& finding) -> Json {
    return {{"kind", to_string(finding.kind)}, {"share", finding.share}, {"text", describe(finding, study.model())}};
  });
}

/// Adds the throughput of a plan per device and in total, and its MFU and HFU (shares of the devices' peak).
void add_throughput_fields(Fields<RankedEstimate>& fields, const Study& study) {
  using Row = RankedEstimate;
  const SampleFlops flops = sample_flops(study.job());
  const auto add = [&](std::string_view name, auto value_of) {
    const auto value = [&study, flops, value_of](const Row& row) {
      const std::optional<Throughput> throughput = throughput_of(study.job(), flops, row.estimate);
      return throughput ? Json(value_of(*throughput)) : Json(nullptr);
    };
    fields.add(std::string(name), value, "throughput");
  };
  const auto add_rate = [&](std::string_view name, auto rate_of) {
    add(fmt::format("{}_per_s", name), [rate_of](const Throughput& of) { return or_null(rate_of(of)); });
    const auto value = [&study, flops, rate_of](const Row& row) {
      const std::optional<Throughput> throughput = throughput_of(study.job(), flops, row.estimate);
      const std::optional<double> rate = throughput ? rate_of(*throughput) : std::nullopt;
      return rate ? Json(*rate / static_cast<double>(row.estimate.plan.mesh.devices())) : Json(nullptr);
    };
    fields.add(fmt::format("{}_per_s_per_gpu", name), value, "throughput");
  };
  add_rate("samples", [](const Throughput& of) { return std::optional(of.samples); });
  add_rate("tokens", [](const Throughput& of) { return of.tokens; });
  add("model_flop_per_s_per_gpu", [](const Throughput& of) { return of.model.value(); });
  add("hardware_flop_per_s_per_gpu", [](const Throughput& of) { return of.hardware.value(); });
  add("mfu", [](const Throughput& of) { return or_null(of.model_share); });
  add("hfu", [](const Throughput& of) { return or_null(of.hardware_share); });
}

/// Adds the ends of the intervals of times and costs. Only CSV gets the ratio to the first plan,
/// because a plan's JSON object does not depend on other plans.
void add_interval_fields(Fields<RankedEstimate>& fields, const Study& study, const Training& training) {
  using Row = RankedEstimate;
  constexpr std::string_view object = "interval";
  fields.add_json(
      "level", [](const Row&) { return interval_level; }, object);
  const auto add_ends = [&](const std::string& name, const std::string& unit, auto value_of) {
    const auto add = [&](const std::string& end, double TimeInterval::*factor) {
      const auto value = [value_of, factor](const Row& row) {
        const std::optional<double> middle = value_of(row.estimate);
        if (!row.has_time() || !row.estimate.interval || !middle) return Json(nullptr);
        return Json(*middle * ((*row.estimate.interval).*factor));
      };
      fields.add(fmt::format("{}_{}{}", name, end, unit), value, object);
    };
    add("low", &TimeInterval::low);
    add("high", &TimeInterval::high);
  };
  add_ends("iteration", "_s", [](const Estimate& of) { return std::optional(of.time.step_time().value()); });
  add_ends("epoch", "_s", [](const Estimate& of) { return std::optional(of.epoch.value()); });
  add_ends("cost", "", [&study](const Estimate& of) { return cost_of(of, study, Training{}); });
  if (training.is_whole()) {
    add_ends("training", "_s",
             [&study, training](const Estimate& of) { return std::optional(time_of(of, study, training).value()); });
    add_ends("training_cost", "", [&study, training](const Estimate& of) { return cost_of(of, study, training); });
  }
  const auto add_ratio = [&](const char* name, auto of) {
    const auto value = [of](const Row& row) {
      if (row.first == nullptr || !row.has_time()) return Json(nullptr);
      const std::optional<TimeInterval> ratio = ratio_interval(*row.first, row.estimate);
      return ratio ? Json(of(row, *ratio)) : Json(nullptr);
    };
    fields.add_csv(name, value);
  };
  add_ratio("ratio_to_first",
            [](const Row& row, const TimeInterval&) { return row.estimate.time.step_time() / row.first->time.step_time(); });
  add_ratio("ratio_to_first_low", [](const Row&, const TimeInterval& ratio) { return ratio.low; });
  add_ratio("ratio_to_first_high", [](const Row&, const TimeInterval& ratio) { return ratio.high; });
}

/// Adds the goodput of a whole training. JSON has all of its figures, CSV its share.
void add_goodput_fields(Fields<RankedEstimate>& fields, const Study& study, const Training& training) {
  if (!knows_failures(study.job())) return;
  using Row = RankedEstimate;
  fields.add_json("goodput",
                  [&study, training](const Row& row) { return goodput_to_json(goodput_of(row.estimate, study, training)); });
  fields.add_csv("goodput", [&study, training](const Row& row) {
    const std::optional<Goodput> goodput = goodput_of(row.estimate, study, training);
    return goodput ? Json(goodput->share) : Json(nullptr);
  });
}

/// Adds the energy of a training: of an epoch, if its length is not given.
void add_energy_fields(Fields<RankedEstimate>& fields, const Study& study, const Training& training) {
  using Row = RankedEstimate;
  fields.add_json("energy", [&study, training](const Row& row) { return energy_to_json(row.estimate, study, training); });
  fields.add_csv("energy_kwh",
                 [&study, training](const Row& row) { return or_null(kilowatt_hours(row.estimate, study, training)); });
}

/// All fields of a plan in JSON and CSV. A new key is also a row of refuse_unknown_keys in cli/options/plan_file.cpp, which
/// reads plans of reports. `wants_energy`: whether the power of plans is predicted.
Fields<RankedEstimate> estimate_fields(const Study& study, const Training& training, bool wants_energy) {
  using Row = RankedEstimate;
  Fields<Row> fields;
  fields.add("rank", [](const Row& row) { return row.rank == 0 ? Json(nullptr) : Json(row.rank); });
  for (Field<Plan>& field : plan_fields()) {
    if (field.name == "global_batch") {
      fields.add("feasible", [](const Row& row) { return row.estimate.feasible(); });
      fields.add("verdict",
                 [](const Row& row) { return row.has_time() ? Json(to_string(row.estimate.verdict)) : Json(nullptr); });
    }
    fields.add(
        std::move(field.name), [value = std::move(field.value)](const Row& row) { return value(row.estimate.plan); },
        field.object, static_cast<Fields<Row>::Formats>(field.formats));
  }
  const auto if_priced = [](const auto& of) {
    return [of](const Row& row) { return row.has_time() ? Json(of(row.estimate)) : Json(nullptr); };
  };
  const auto add_time = [&](std::string_view name, const auto& time_of) {
    fields.add(fmt::format("{}_s", name),
               if_priced([time_of](const Estimate& estimate) { return time_of(estimate).value(); }), "time");
  };
  add_time("iteration", [](const Estimate& estimate) { return estimate.time.step_time(); });
  add_time("epoch", [](const Estimate& estimate) { return estimate.epoch; });
  if (training.is_whole()) {
    add_time("training", [&study, training](const Estimate& estimate) { return time_of(estimate, study, training); });
  }
  if (training.evaluation) {
    add_time("evaluation", [&study, training](const Estimate& of) { return evaluation_time(of, study, training); });
  }
  for (const TimePart& part : time_parts)
    add_time(part.name, [part = part.part](const Estimate& estimate) { return estimate.time[part]; });
  if (study.assumptions().staging != Staging::none) {
    fields.add("staging_s", if_priced([&study](const Estimate& of) -> Json {
                 const std::optional<StagedData> staged = staged_data(study.job(), of.plan);
                 return staged ? or_null(staged->time) : Json(nullptr);
               }));
  }
  if (study.assumptions().synchronization != Synchronization::sync) {
    fields.add("mean_staleness",
               if_priced([&study](const Estimate& of) { return mean_staleness(of.plan, study.assumptions()); }));
  }
  fields.add("efficiency", if_priced([](const Estimate& estimate) { return estimate.efficiency; }));
  fields.add("cost", [&study](const Row& row) { return or_null(cost_of(row.estimate, study, Training{})); });
  if (training.is_whole()) {
    fields.add("training_cost",
               [&study, training](const Row& row) { return or_null(cost_of(row.estimate, study, training)); });
    add_goodput_fields(fields, study, training);
  }
  if (wants_energy) add_energy_fields(fields, study, training);
  add_throughput_fields(fields, study);
  fields.add_json("findings", [&study](const Row& row) { return findings_to_json(row.estimate, study); });
  add_memory_fields(fields);
  add_interval_fields(fields, study, training);
  const auto reasons = [&study](const Row& row) {
    Json texts = Json::array();
    for (const Limit& limit : row.estimate.limits) texts.push_back(describe(limit, study.model()));
    return texts;
  };
  fields.add_json("reasons", reasons);
  fields.add_json("reason_codes", [](const Row& row) {
    Json codes = Json::array();
    for (const Limit& limit : row.estimate.limits) codes.push_back(code_of(limit.kind));
    return codes;
  });
  fields.add_csv("reasons", [&study](const Row& row) { return describe(row.estimate.limits, study.model()); });
  fields.add("plan", [](const Row& row) { return plan_word(row.estimate.plan); });
  return fields;
}

/// Returns the shares of a step's time that are spent computing, communicating and waiting.
std::vector<double> spent_shares(const Breakdown& time) {
  std::vector<double> shares(spent_names.size(), 0.0);
  const Seconds all = time.step_time();
  if (all.value() <= 0) return shares;
  for (const TimePart& part : time_parts) shares[static_cast<std::size_t>(part.spent)] += time[part.part] / all;
  return shares;
}

/// Returns the three shares as text: `computing 90 %, communicating 3 %, waiting 7 %`.
std::string spent_text(const std::vector<double>& shares) {
  std::string text;
  for (std::size_t i = 0; i < shares.size(); ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", spent_names[i], share_text(shares[i]));
  return text;
}

/// Makes the table of plans. A part of the step that is zero in all plans gets no column.
class TableOfPlans {
 public:
  TableOfPlans(std::vector<const Estimate*> plans, const Study& study, const Training& training,
               std::optional<double> chance = {})
      : plans_(std::move(plans)),
        study_(study),
        training_(training),
        parts_(time_parts.begin(), time_parts.end()),
        chance_(chance) {
    Seconds longest{};
    for (const Estimate* each : plans_) longest = max(longest, each->time.step_time());
    unit_ = time_unit(longest);
    std::erase_if(parts_, [&](const TimePart& part) {
      return std::ranges::none_of(plans_, [&](const Estimate* each) { return each->time[part.part].value() > 0; });
    });
    const SampleFlops flops = sample_flops(study.job());
    for (const Estimate* each : plans_) throughputs_.push_back(throughput_of(study.job(), flops, *each));
    has_shares_ = std::ranges::any_of(throughputs_, [](const auto& of) { return of && of->model_share.has_value(); });
    has_intervals_ = std::ranges::any_of(plans_, [](const Estimate* each) { return each->interval.has_value(); });
    priced_ = study.machine().price_per_gpu_hour.has_value();
    has_power_ = !plans_.empty() && plans_.front()->power.has_value();
    is_one_verdict_ =
        std::ranges::all_of(plans_, [&](const Estimate* each) { return each->verdict == plans_.front()->verdict; });
  }

  /// `numbers`: the first cell of each row; empty for a table without numbers.
  Table table(const std::vector<std::string>& numbers) {
    Table table(columns(!numbers.empty()));
    std::vector<Plan> plans;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      bars_.shares.push_back(spent_shares(plans_[i]->time));
      std::vector<std::string> cells = row(i);
      if (!numbers.empty()) cells.insert(cells.begin(), numbers[i]);
      table.add(std::move(cells));
      plans.push_back(plans_[i]->plan);
    }
    table.bars = std::move(bars_);
    table.legend = letters_text(plans);
    return table;
  }

 private:
  std::vector<Column> columns(bool with_numbers) {
    const bool at_roofline = study_.kernels().origin() == KernelBasis::roofline;
    std::vector<Column> columns;
    if (with_numbers) columns.push_back(essential(figures("#")));
    columns.push_back(essential(words("plan")));
    columns.push_back(essential(figures(at_roofline ? "step at roofline" : "step")));
    // The interval may be left out before the name of a plan is cut, because users copy the name into --plan.
    if (has_intervals_) columns.push_back(words(interval_name()));
    if (chance_) columns.push_back(essential(figures(fmt::format("step at {}", share_text(*chance_)))));
    bars_.column = columns.size();
    bars_.pieces.assign(spent_names.begin(), spent_names.end());
    bars_.last = Tone::dark;  // waiting, as in charts; the bubble is gray
    columns.insert(columns.end(), {words("where time goes"), essential(figures("memory")), words("verdict")});
    if (!is_one_verdict_) columns.back() = essential(columns.back());
    if (has_shares_) columns.push_back(figures("MFU"));
    columns.push_back(figures(name_of(training_)));
    if (priced_) columns.push_back(figures(study_.machine().currency));
    if (has_power_) columns.push_back(essential(figures("kWh")));
    columns.push_back(figures("eff."));
    columns.insert(columns.end(),
                   {if_asked(words("strategy")), if_asked(words("degrees")), if_asked(figures("step " + unit_.name))});
    for (const TimePart& part : parts_)
      columns.push_back(if_asked(figures(fmt::format("{} {}", &part == parts_.data() ? "=" : "+", part.column))));
    columns.push_back(if_asked(words("with")));
    return columns;
  }

  std::vector<std::string> row(std::size_t i) const {
    const Estimate& e = *plans_[i];
    const bool timed = e.time.step_time().value() > 0;
    std::vector<std::string> row{plan_word(e.plan), timed ? humanize(e.time.step_time()) : "-"};
    if (has_intervals_) row.push_back(interval_text(e.time.step_time(), e.interval));
    if (chance_) row.push_back(timed ? humanize(time_within(e, *chance_)) : "-");
    row.insert(row.end(), {spent_text(bars_.shares.back()), humanize(e.memory.total()),
                           timed ? std::string(to_string(e.verdict)) : ""});
    if (has_shares_) row.push_back(mfu_text(throughputs_[i]));
    row.push_back(humanize(time_of(e, study_, training_)));
    if (priced_) row.push_back(amount(cost_of(e, study_, training_).value_or(0)));
    if (has_power_) row.push_back(amount(kilowatt_hours(e, study_, training_).value_or(0)));
    row.push_back(share_text(e.efficiency));
    row.insert(row.end(), {family_name(e.plan.mesh.family()), degrees_text(e.plan.mesh),
                           figure(e.time.step_time().value() * unit_.factor)});
    for (const TimePart& part : parts_) row.push_back(figure(e.time[part.part].value() * unit_.factor));
    row.push_back(choices_text(e.plan));
    return row;
  }

  std::vector<const Estimate*> plans_;
  const Study& study_;
  const Training& training_;
  std::vector<TimePart> parts_;
  std::optional<double> chance_;
  TimeUnit unit_;
  std::vector<std::optional<Throughput>> throughputs_{};
  bool has_shares_ = false, has_intervals_ = false, priced_ = false, has_power_ = false, is_one_verdict_ = false;
  Bars bars_{};
};

}  // namespace

const Estimate* nearest_miss(const std::vector<Estimate>& rejected) {
  const Estimate* nearest = nullptr;
  for (const Estimate& each : rejected) {
    const bool priced = each.time.step_time().value() > 0;
    const bool nearer = nearest != nullptr && priced &&
                        (nearest->time.step_time().value() <= 0 || each.memory.total() < nearest->memory.total());
    if (nearest == nullptr || nearer) nearest = &each;
  }
  return nearest;
}

Table ranked_table(const std::vector<Estimate>& estimates, const RankedRows& rows, const Study& study,
                   const Training& training) {
  std::vector<const Estimate*> ordered;
  for (const std::size_t position : rows.order) ordered.push_back(&estimates[position]);
  return TableOfPlans(std::move(ordered), study, training, rows.chance).table(row_numbers(rows));
}

Table plan_table(const Estimate& estimate, const Study& study, const Training& training) {
  return TableOfPlans({&estimate}, study, training).table({});
}

Json plans_rows(const std::vector<Estimate>& ranked, const std::vector<Estimate>& rejected, const Study& study,
                const Training& training) {
  std::vector<RankedEstimate> rows;
  int rank = 0;
  for (const Estimate& estimate : ranked) rows.push_back({estimate, ++rank, &ranked.front()});
  for (const Estimate& estimate : rejected) rows.push_back({estimate, 0});
  const bool has_power = !rows.empty() && rows.front().estimate.power.has_value();
  return flat_rows(estimate_fields(study, training, has_power || wants_energy(study)), rows);
}

void add_rejected(Document& document, const std::vector<Estimate>& rejected, const Model& model) {
  constexpr std::ptrdiff_t most_hybrids = 3;  // hybrids that need too much memory, each in a line of its own
  const auto reason = [&](const Estimate& estimate) { return reasons_text(estimate, model); };
  const auto only = [](const Estimate& estimate, Limit::Kind kind) {
    return estimate.limits.size() == 1 && estimate.limits.begin()->kind == kind;
  };
  // If a strategy is impossible at any degree, its hybrids share its line.
  const auto always = [&](const Estimate& estimate) { return only(estimate, Limit::Kind::no_extents); };
  const auto pure = [](const Estimate& estimate) { return std::popcount(estimate.plan.mesh.family()) <= 1; };
  const auto too_large = [&](const Estimate& estimate) { return !pure(estimate) && only(estimate, Limit::Kind::memory); };
  const auto hopeless = std::ranges::find_if(rejected, [&](const Estimate& e) { return pure(e) && always(e); });
  const auto with_it = std::ranges::count_if(rejected, [&](const Estimate& e) { return !pure(e) && always(e); });
  const std::ptrdiff_t large = std::ranges::count_if(rejected, too_large);
  const Estimate* smallest = nullptr;                        // the only described hybrid, if many need too much memory
  std::vector<std::pair<std::string, std::string>> hybrids;  // reason, names
  for (const Estimate& estimate : rejected) {
    const Family family = estimate.plan.mesh.family();
    if (hopeless != rejected.end() && always(estimate)) {
      if (!pure(estimate)) continue;
      const std::string others = with_it > 0 ? fmt::format(" and its {}", count_text(with_it, "hybrid")) : "";
      document.paragraph(fmt::format("{}{}: {}", family_name(family), others, reason(estimate)));
      continue;
    }
    if (pure(estimate)) {
      document.paragraph(fmt::format("{}: {}", family_name(family), reason(estimate)));
      continue;
    }
    if (large > most_hybrids && too_large(estimate)) {
      if (smallest == nullptr || estimate.memory.total() < smallest->memory.total()) smallest = &estimate;
      continue;
    }
    const std::string why = always(estimate)
                                ? reason(estimate)
                                : fmt::format("nearest is {}: {}", degrees_word(estimate.plan.mesh), reason(estimate));
    const auto same = std::ranges::find_if(hybrids, [&](const auto& known) { return known.first == why; });
    if (same == hybrids.end()) {
      hybrids.emplace_back(why, family_name(family));
    } else {
      same->second += ", " + family_name(family);
    }
  }
  if (smallest != nullptr) {
    document.paragraph(fmt::format("{}: nearest is {}: {}; --format json lists all", count_text(large, "hybrid"),
                                   degrees_word(smallest->plan.mesh), reason(*smallest)));
  }
  for (const auto& [why, names] : hybrids) document.paragraph(fmt::format("{}: {}", names, why));
}

Json estimate_to_json(const Estimate& estimate, int rank, const Study& study, const Training& training) {
  const RankedEstimate row{estimate, rank};
  Json json = json_of(estimate_fields(study, training, estimate.power || wants_energy(study)), row);
  // A plan that was not predicted has null instead of its times and memory.
  if (!row.has_time()) json["time"] = json["interval"] = json["throughput"] = json["memory"] = nullptr;
  return json;
}

}  // namespace ddl
