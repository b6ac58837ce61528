#include "cli/documents/check_cards.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/documents/throughput.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

Card card_of_memory(const JobCheck& check) {
  const MemoryBreakdown& memory = check.checked.estimate.memory;
  const Bytes total = memory.total(), most = memory.upper_bound(), available = check.available();
  Card card{"Memory", humanize(total)};
  card.about = "of " + humanize(available);
  card.badge = to_string(check.checked.verdict);
  card.grade = check.checked.verdict == Verdict::fits      ? Grade::good
               : check.checked.verdict == Verdict::at_risk ? Grade::risk
                                                           : Grade::bad;
  const std::string text = fmt::format("{} of {}, at most {}", humanize(total), humanize(available), humanize(most));
  card.gauge = Gauge{total.value(), total.value(), most.value(), 0, available.value(), true, text};
  card.details.push_back("at most " + humanize(most));
  if (total > available) card.details.push_back(humanize(total - available) + " too much");
  card.details.push_back(fmt::format("{} for {}", humanize(memory.of(memory.largest())), to_string(memory.largest())));
  return card;
}

Card card_of_speed(const JobCheck& check) {
  const Job& job = check.study->job();
  const Estimate& estimate = check.checked.estimate;
  Card card{"Speed", humanize(estimate.time.step_time()), "per step"};
  if (const auto throughput = throughput_of(job, sample_flops(job), estimate))
    card.details.push_back(throughput_in_short(*throughput));
  return card;
}

Card card_of_size(const FittingSize& size) {
  std::string label = size.label;
  if (label.front() >= 'a' && label.front() <= 'z') label.front() = static_cast<char>(label.front() - 'a' + 'A');
  Card card{std::move(label), size.figure};
  const std::size_t start = size.rest.find_first_not_of(" ,:;");
  if (start != std::string::npos) card.details.push_back(size.rest.substr(start));
  return card;
}

}  // namespace

Cards check_cards(const JobCheck& check, const std::vector<FittingSize>& sizes) {
  Cards cards;
  cards.cards.push_back(card_of_memory(check));
  if (check.checked.estimate.time.step_time() > Seconds{}) cards.cards.push_back(card_of_speed(check));
  if (check.checked.verdict != Verdict::fits) {
    if (std::optional<Card> fitting = fitting_card(WhatFits{check.checked, check.remedies, {}}))
      cards.cards.push_back(*std::move(fitting));
  }
  for (const FittingSize& each : sizes) cards.cards.push_back(card_of_size(each));
  return cards;
}

}  // namespace ddl
