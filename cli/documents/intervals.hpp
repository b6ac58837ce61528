#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Sets the intervals of the shown plans. Closed forms have none.
void add_intervals(Estimate& estimate, const Study& study, const Estimator& estimator);
void add_intervals(std::vector<Estimate>& estimates, const Study& study, const Estimator& estimator);

/// ` (1.8 to 2.3)`: the interval, to be written after the time, in the unit of humanize(); empty without an interval.
[[nodiscard]] std::string interval_behind(Seconds time, const std::optional<TimeInterval>& interval);
/// `1.8 to 2.3 s`; `-` without an interval.
[[nodiscard]] std::string interval_text(Seconds time, const std::optional<TimeInterval>& interval);
/// The name of intervals in column headings: `90 % interval`.
[[nodiscard]] std::string interval_name();

/// The ratio of the times of two plans of one study, `other` divided by `of`, with its interval; empty if one of them has no
/// interval.
[[nodiscard]] std::optional<TimeInterval> ratio_interval(const Estimate& of, const Estimate& other);
/// Whether `other` is slower or faster than `of` according to the interval; empty if one of them has no interval.
[[nodiscard]] std::optional<bool> differ(const Estimate& of, const Estimate& other);
/// `2 to 4: tied with plan 1, …`; empty if no plan is tied, or if plans have no intervals.
[[nodiscard]] std::string undecided_text(const std::vector<Estimate>& ranked);
/// The ties for programs: for each other plan of a ranking, its rank, its ratio to the first plan, and whether the two
/// differ.
[[nodiscard]] nlohmann::ordered_json ratios_to_json(const std::vector<Estimate>& ranked);
/// `2.10 (1.63 to 2.71)`: the ratio of the times of two compared plans, `other` over `of`; empty without intervals.
[[nodiscard]] std::string ratio_text(const Estimate& of, const Estimate& other);

/// The section with the sources of error that make up an interval; adds nothing without an interval.
void add_width(Document& document, const Estimate& estimate);

}  // namespace ddl
