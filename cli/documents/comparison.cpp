#include "cli/documents/comparison.hpp"

#include <fmt/format.h>

#include "cli/documents/explanation.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

std::string signed_text(double value, const std::string& text) { return value > 0 && text != "0.000" ? "+" + text : text; }

/// Formats one exchange of a plan with its count, message size and time: `12 x 3.06 MiB, 4.2`.
std::string exchange_text(const ExchangeTotal& total, const TimeUnit& unit) {
  if (total.count <= 0) return "-";
  return fmt::format("{:.0f} x {}, {}", total.count, humanize(total.bytes / total.count),
                     fine_figure(total.time.value() * unit.factor));
}

Table terms_table(const Explanation& explained, const PlanComparison& pair, const TimeUnit& unit) {
  const Comparison& comparison = pair.comparison;
  Table table({essential(words("term")), essential(figures(pair.explained_name)), essential(figures(pair.other_name)),
               figures("difference")});
  const auto add_time = [&](const std::string& name, Seconds a, Seconds b) {
    const double difference = (b - a).value() * unit.factor;
    table.add({name, fine_figure(a.value() * unit.factor), fine_figure(b.value() * unit.factor),
               signed_text(difference, fine_figure(difference))});
  };
  const auto add_memory = [&](const std::string& name, Bytes a, Bytes b) {
    table.add({name, humanize(a), humanize(b), signed_text((b - a).value(), humanize(b - a))});
  };
  Seconds whole_a{}, whole_b{};
  for (const PairedTerm<Seconds>& term : comparison.time) {
    whole_a += term.explained;
    whole_b += term.other;
  }
  add_time(fmt::format("{} {}", comparison.basis, unit.name), whole_a, whole_b);
  for (std::size_t i = 0; i < comparison.time.size(); ++i) {
    const PairedTerm<Seconds>& term = comparison.time[i];
    if (term.explained.value() <= 0 && term.other.value() <= 0) continue;
    add_time(fmt::format("  {}", time_parts[i].column), term.explained, term.other);
  }
  add_memory("memory", explained.estimate.memory.total(), pair.other->estimate.memory.total());
  for (const PairedTerm<Bytes>& term : comparison.memory)
    add_memory(fmt::format("  {}", term.name), term.explained, term.other);
  for (const ExchangePair& exchange : paired_exchanges(explained, *pair.other, comparison)) {
    const bool here = exchange.explained.count > 0;
    const Seconds difference = exchange.other.time - exchange.explained.time;
    const double figure = difference.value() * unit.factor;
    table.add({exchange_name(here ? exchange.explained : exchange.other), exchange_text(exchange.explained, unit),
               exchange_text(exchange.other, unit), signed_text(figure, fine_figure(figure))});
  }
  return table;
}

template <class Q>
Json term_to_json(const PairedTerm<Q>& term, const std::string& unit) {
  return {{"term", term.name},
          {"explained_" + unit, term.explained.value()},
          {"other_" + unit, term.other.value()},
          {"difference_" + unit, term.difference().value()}};
}

}  // namespace

void add_comparison(Document& document, const Explanation& explained, const PlanComparison& pair) {
  std::string aside;
  if (pair.other) {
    const Plan& plan = pair.other->estimate.plan;
    aside = fmt::format(" ({})", plan_word(plan));
    if (plan.mesh.devices() != explained.estimate.plan.mesh.devices()) {
      aside += fmt::format(", on {}, not {}", count_text(plan.mesh.devices(), "device"),
                           with_thousands(explained.estimate.plan.mesh.devices()));
    }
  }
  document.section(pair.heading, aside);
  if (!pair.comparison.time.empty()) {
    const Estimate &here = explained.estimate, &there = pair.other->estimate;
    const bool epochs = pair.comparison.basis == "epoch";
    const Seconds longest = epochs ? max(here.epoch, there.epoch) : max(here.time.step_time(), there.time.step_time());
    document.add(terms_table(explained, pair, time_unit(longest)));
  }
  document.paragraph(pair.sentence);
  if (!pair.other || pair.comparison.itself) return;
  const Estimate &here = explained.estimate, &there = pair.other->estimate;
  const std::string ratio = ratio_text(here, there);
  if (ratio.empty()) return;
  document.paragraph(fmt::format(
      "the ratio of the step times, {} over {}, is {}{}", pair.other_name, pair.explained_name, ratio,
      !pair.comparison.both_fit() || differ(here, there).value_or(true) ? ""
                                                                        : ": they are tied within the prediction error"));
}

Json comparison_to_json(const Explanation& explained, const PlanComparison& pair, const Study& study,
                        const Training& training) {
  const Comparison& comparison = pair.comparison;
  Json json;
  json["asked"] = pair.asked;
  json["plan"] = pair.other ? estimate_to_json(pair.other->estimate, 0, study, training) : Json(nullptr);
  json["basis"] = comparison.basis;
  json["time"] = json_list(comparison.time, [](const auto& term) { return term_to_json(term, "s"); });
  json["memory"] = json_list(comparison.memory, [](const auto& term) { return term_to_json(term, "bytes"); });
  json["exchanges"] = Json::array();
  if (pair.other) {
    for (const ExchangePair& exchange : paired_exchanges(explained, *pair.other, comparison)) {
      Json both = exchange_to_json(exchange.explained);
      for (const char* key : {"count", "bytes", "time_s"}) {
        both[std::string("explained_") + key] = both[key];
        both.erase(key);
      }
      both["other_count"] = exchange.other.count;
      both["other_bytes"] = exchange.other.bytes.value();
      both["other_time_s"] = exchange.other.time.value();
      json["exchanges"].push_back(std::move(both));
    }
  }
  json["ratio"] = json["ratio_low"] = json["ratio_high"] = nullptr;
  if (pair.other) {
    if (const auto ratio = ratio_interval(explained.estimate, pair.other->estimate)) {
      json["ratio"] = pair.other->estimate.time.step_time() / explained.estimate.time.step_time();
      json["ratio_low"] = ratio->low;
      json["ratio_high"] = ratio->high;
    }
  }
  json["deciding"] = nullptr;
  if (comparison.deciding_time) json["deciding"] = term_to_json(*comparison.deciding_time, "s");
  if (comparison.deciding_memory) json["deciding"] = term_to_json(*comparison.deciding_memory, "bytes");
  json["sentence"] = pair.sentence;
  return json;
}

}  // namespace ddl
