#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/documents/energy.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/goodput.hpp"
#include "cli/documents/headline.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/chart.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "estimator/kernels/shard_times.hpp"

namespace ddl {
namespace {

Card speed_in_card(const Estimate& estimate, const Study& study) {
  const Seconds step = estimate.time.step_time();
  Card card{"Speed", humanize(step)};
  card.about = study.kernels().origin() == KernelBasis::roofline ? "per step, with kernels at the roofline" : "per step";
  if (estimate.interval) {
    // The scale begins at zero, so that the length of the interval can be compared with the prediction.
    const double value = step.value(), high = value * estimate.interval->high;
    const std::string text = fmt::format("{} ({})", interval_text(step, estimate.interval), interval_name());
    card.gauge = Gauge{value, value * estimate.interval->low, high, 0, high * 1.15, false, text};
    card.details.push_back(text);
  }
  const auto throughput = throughput_of(study.job(), sample_flops(study.job()), estimate);
  if (!throughput) return card;
  card.details.push_back(device_rate_text(*throughput, estimate.plan, study.machine().device) +
                         (throughput->model_share ? ", MFU " + share_text(*throughput->model_share) : ""));
  return card;
}

Card memory_in_card(const Estimate& estimate, const Study& study) {
  const MemoryBreakdown& memory = estimate.memory;
  const Bytes device = study.device_memory();
  Card card{"Memory", humanize(memory.total())};
  card.about = "of " + humanize(device);
  card.badge = to_string(estimate.verdict);
  card.grade = estimate.verdict == Verdict::fits      ? Grade::good
               : estimate.verdict == Verdict::at_risk ? Grade::risk
                                                      : Grade::bad;
  const std::string most = memory.upper_bound() > memory.total() ? "at most " + humanize(memory.upper_bound()) : "";
  const std::string text =
      fmt::format("{} of {}{}", humanize(memory.total()), humanize(device), most.empty() ? "" : ", " + most);
  card.gauge =
      Gauge{memory.total().value(), memory.total().value(), memory.upper_bound().value(), 0, device.value(), true, text};
  if (!most.empty()) card.details.push_back(most);
  if (study.margin() > Bytes{})
    card.details.push_back(fmt::format("{} of the device are left free", humanize(study.margin())));
  return card;
}

Card cost_in_card(const Estimate& estimate, const Study& study, const Training& training) {
  const std::string time = humanize(time_of(estimate, study, training)), purpose = purpose_of(training);
  const std::optional<double> cost = cost_of(estimate, study, training);
  const Machine& machine = study.machine();
  if (!cost) {
    Card card{"Time", time, purpose};
    card.details.push_back(missing_price_text(machine));
    return card;
  }
  Card card{"Cost", fmt::format("{} {}", amount(*cost), machine.currency), purpose};
  card.details = {fmt::format("{} {}", time, purpose), "at " + price_text(study)};
  return card;
}

Card goodput_in_card(const Goodput& goodput) {
  Card card{"Goodput", fmt::format("{:.3g} %", 100 * goodput.share)};
  card.details.push_back(goodput_text(goodput));
  return card;
}

Card energy_in_card(const Estimate& estimate, const Study& study, const Training& training) {
  const std::optional<double> energy = kilowatt_hours(estimate, study, training);
  Card card{"Energy", energy ? amount(*energy) + " kWh" : "unknown", purpose_of(training)};
  card.details.push_back(energy_text(estimate, study, training));
  return card;
}

}  // namespace

Cards answer_cards(const Estimate& estimate, const Study& study, const Training& training) {
  Cards cards;
  Card plan{"Plan", plan_word(estimate.plan)};
  if (const std::string words = plan_words(estimate.plan); !words.empty()) plan.details.push_back(words);
  cards.cards.push_back(std::move(plan));
  if (!estimate.feasible()) {
    Card reasons{"Not possible", ""};
    reasons.details.push_back(reasons_text(estimate, study.model()));
    if (estimate.memory.total() > Bytes{}) cards.cards.push_back(memory_in_card(estimate, study));
    cards.cards.push_back(std::move(reasons));
    return cards;
  }
  cards.cards.push_back(speed_in_card(estimate, study));
  cards.cards.push_back(memory_in_card(estimate, study));
  cards.cards.push_back(cost_in_card(estimate, study, training));
  if (const auto goodput = goodput_of(estimate, study, training)) cards.cards.push_back(goodput_in_card(*goodput));
  if (wants_energy(study) || estimate.power) cards.cards.push_back(energy_in_card(estimate, study, training));
  const Confidence confidence = confidence_of(estimate, study);
  Card card{"Confidence", confidence.grade.empty() ? "unknown" : confidence.grade};
  if (!confidence.interval.empty()) card.details.push_back(confidence.interval);
  if (!confidence.evidence.empty()) card.details.push_back(confidence.evidence);
  card.details.push_back(confidence.sources);
  cards.cards.push_back(std::move(card));
  return cards;
}

}  // namespace ddl
