#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Sets the interval of each estimated time. Estimates by closed forms have no interval.
void add_intervals(Estimate& estimate, const Study& study, const Estimator& estimator);
void add_intervals(std::vector<Estimate>& estimates, const Study& study, const Estimator& estimator);

/// Returns an interval in the unit that humanize() chooses for `time`, to be written after the
/// time: ` (1.8 to 2.3)`. Empty without an interval.
[[nodiscard]] std::string interval_behind(Seconds time, const std::optional<TimeInterval>& interval);
/// Returns an interval with its unit: `1.8 to 2.3 s`; `-` without an interval.
[[nodiscard]] std::string interval_text(Seconds time, const std::optional<TimeInterval>& interval);
/// The name of intervals in column headings: `90 % interval`.
[[nodiscard]] std::string interval_name();

/// Returns the probability that a time is at most `limit` times as long as predicted. The logarithm of the error has a
/// normal distribution on each side of the prediction, which reaches the end of the interval. Without an interval: 0 or 1.
[[nodiscard]] double chance_within(double limit, const std::optional<TimeInterval>& interval);
/// Returns the time that a step does not exceed with probability `chance`, which is above 0 and below 1. Without an
/// interval: the predicted time.
[[nodiscard]] Seconds time_within(const Estimate& estimate, double chance);
/// Whether a limit that is met with probability `chance` is also met at the upper end of the interval.
[[nodiscard]] bool is_sure(double chance);
[[nodiscard]] bool is_likely(double chance);

/// Returns the time of `other` divided by the time of `of`, with an interval. Both plans must be of
/// one study. Empty if one of the plans has no interval.
[[nodiscard]] std::optional<TimeInterval> ratio_interval(const Estimate& of, const Estimate& other);
/// Whether `other` is slower or faster than `of`, judged by the interval of their ratio; empty if one of the plans has no
/// interval.
[[nodiscard]] std::optional<bool> differ(const Estimate& of, const Estimate& other);
/// Compares each further plan of a ranking with the first plan, for programs: its rank, the ratio of the times, and whether
/// the two plans differ.
[[nodiscard]] nlohmann::ordered_json ratios_to_json(const std::vector<Estimate>& ranked);
/// Returns the time of `other` divided by the time of `of`, with an interval: `2.10 (1.63 to
/// 2.71)`. Empty without intervals.
[[nodiscard]] std::string ratio_text(const Estimate& of, const Estimate& other);

/// Returns the elasticity of the step time to the times of a source (WidthShare::name): the relative change of the step,
/// divided by the relative change of these times. 1 for the error that no source explains.
[[nodiscard]] double elasticity(const TimeSensitivity& time, std::string_view source);
/// Adds the section about the sources of error that widen an interval, and the command that narrows the interval most. Adds
/// nothing without an interval.
void add_width(Document& document, const Estimate& estimate, const StudySpec& spec);

}  // namespace ddl
