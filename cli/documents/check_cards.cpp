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

/// Returns a card whose figure is the first word of `text`: `128` of `128 (2 per GPU)`, `none` of `none: ...`.
Card card_of_size(std::string label, const std::string& text) {
  if (label.front() >= 'a' && label.front() <= 'z') label.front() = static_cast<char>(label.front() - 'a' + 'A');
  const std::size_t end = std::min(text.find(' '), text.size());
  Card card{std::move(label), text.substr(0, text.find_last_not_of(",:;", end == 0 ? 0 : end - 1) + 1)};
  if (end < text.size()) card.details.push_back(text.substr(end + 1));
  return card;
}

}  // namespace

Cards check_cards(const JobCheck& check, const std::vector<std::pair<std::string, std::string>>& sizes) {
  Cards cards;
  cards.cards.push_back(card_of_memory(check));
  if (check.checked.estimate.time.step_time() > Seconds{}) cards.cards.push_back(card_of_speed(check));
  if (check.checked.verdict != Verdict::fits) {
    if (std::optional<Card> fitting = fitting_card(WhatFits{check.checked, check.remedies, {}}))
      cards.cards.push_back(*std::move(fitting));
  }
  for (const auto& [label, text] : sizes) cards.cards.push_back(card_of_size(label, text));
  return cards;
}

}  // namespace ddl
