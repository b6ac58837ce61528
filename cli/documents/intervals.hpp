#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Sets the intervals of the shown plans. Estimates by closed forms have no interval.
void add_intervals(Estimate& estimate, const Study& study, const Estimator& estimator);
void add_intervals(std::vector<Estimate>& estimates, const Study& study, const Estimator& estimator);

/// ` (1.8 to 2.3)`: the interval, to be written after the time, in the unit of humanize(); empty without an interval.
[[nodiscard]] std::string interval_behind(Seconds time, const std::optional<TimeInterval>& interval);
/// `1.8 to 2.3 s`; `-` without an interval.
[[nodiscard]] std::string interval_text(Seconds time, const std::optional<TimeInterval>& interval);
/// The name of intervals in column headings: `90 % interval`.
[[nodiscard]] std::string interval_name();

/// The ratio of the times of two plans of one study, `other` divided by `of`, with its interval; empty if one of the plans
/// has no interval.
[[nodiscard]] std::optional<TimeInterval> ratio_interval(const Estimate& of, const Estimate& other);
/// Whether `other` is slower or faster than `of`, judged by the interval of their ratio; empty if one of the plans has no
/// interval.
[[nodiscard]] std::optional<bool> differ(const Estimate& of, const Estimate& other);
/// The ranks of tied plans: `2 to 4: tied with plan 1, …`; empty if no plan is tied, or if plans have no intervals.
[[nodiscard]] std::string undecided_text(const std::vector<Estimate>& ranked);
/// Compares each further plan of a ranking with the first plan, for programs: its rank, the ratio of the times, and whether
/// the two plans differ.
[[nodiscard]] nlohmann::ordered_json ratios_to_json(const std::vector<Estimate>& ranked);
/// `2.10 (1.63 to 2.71)`: the ratio of the times of two compared plans, `other` over `of`; empty without intervals.
[[nodiscard]] std::string ratio_text(const Estimate& of, const Estimate& other);

/// The section with the sources of error that make up an interval; adds nothing without an interval.
void add_width(Document& document, const Estimate& estimate);

}  // namespace ddl
