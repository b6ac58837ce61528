#pragma once

#include <string>
#include <string_view>

#include "calibration/inputs/study.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/chart.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Adds the title of an answer: `llama3-8b on 64 GPUs of dgx-h100, global batch 128, bf16 with adam`. Names the data set
/// only if the user named it.
void add_question(Document& document, const Study& study, std::int64_t gpus, std::int64_t global_batch);

/// Adds a line with a label, like the lines of the answer. Further lines of a long text begin under the text.
void add_card(Document& document, std::string_view label, std::string text);
/// Adds a card as a line: its figure and its details. The figure is left out if the first detail begins with it.
void add_card(Document& document, const Card& card);

/// Adds the answer as four lines with a label (plan, speed, memory, cost), and a line about how certain the time is. `aside`
/// follows the plan. A plan that does not fit, or is not possible, gets its reasons instead. `training`: the length for
/// which the cost is given (shown_length).
void add_headline(Document& document, const Estimate& estimate, const Study& study, const Training& training,
                  const std::string& aside = {});

/// The confidence in a predicted time: its name (`good`, `fair` or `low`; empty without an interval), the interval as
/// percentages, the similar measured runs (also without what they have in common), and the sources of kernel times and of
/// the network.
struct Confidence {
  std::string grade, interval, evidence, in_short, sources;
};
[[nodiscard]] Confidence confidence_of(const Estimate& estimate, const Study& study);
/// Returns the facts of add_headline() as cards, for a page.
[[nodiscard]] Cards answer_cards(const Estimate& estimate, const Study& study, const Training& training);

/// Adds the section with the sources of the numbers: interval, kernel times, network, assumptions, price. `estimate`: the
/// plan with the interval, or null.
void add_sources(Document& document, const Study& study, std::int64_t gpus, const Estimate* estimate = nullptr);

/// Draws a memory bar of 20 characters: `▇` for the expected memory, `▒` up to the upper bound, `░` for the rest of the
/// device's memory. Each part that is not zero has at least one character, if the parts leave room.
[[nodiscard]] std::string memory_gauge(Bytes expected, Bytes at_most, Bytes device_memory);

/// Returns the price of a device with its source: `12.29 USD per GPU hour (list price of 2023)`, or `… (--price)` if it is
/// not the price of the machine file. Empty if the machine has no price.
[[nodiscard]] std::string price_text(const Study& study);
/// Says that a machine has no price, and how to give one.
[[nodiscard]] std::string missing_price_text(const Machine& machine);
/// Returns the last year in the citation of a price, such as 2023; empty if it names none.
[[nodiscard]] std::string year_in(std::string_view citation);
/// Returns the year of the price in the machine file; empty without a price, with `--price`, or if its source names no year.
[[nodiscard]] std::string price_year(const Study& study);
/// Returns whether the price is not that of the machine file, but of `--price`.
[[nodiscard]] bool has_own_price(const Study& study);

}  // namespace ddl
