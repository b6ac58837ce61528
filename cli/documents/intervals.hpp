#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Sets the intervals of plans that are shown. The closed forms have none.
void add_intervals(Estimate& estimate, const Study& study, const Estimator& estimator);
void add_intervals(std::vector<Estimate>& estimates, const Study& study, const Estimator& estimator);

/// ` (1.8 to 2.3)`, in the unit in which humanize() has the time, for behind it; empty without an interval.
[[nodiscard]] std::string interval_behind(Seconds time, const std::optional<TimeInterval>& interval);
/// `1.8 to 2.3 s`; `-` without an interval.
[[nodiscard]] std::string interval_text(Seconds time, const std::optional<TimeInterval>& interval);
/// How column headings call intervals: `90 % interval`.
[[nodiscard]] std::string interval_name();

/// The interval of the ratio of the times of two plans of one study, `other` over `of`; nothing if one has no interval.
[[nodiscard]] std::optional<TimeInterval> ratio_interval(const Estimate& of, const Estimate& other);
/// Whether the interval says that `other` is slower, or faster: nothing if one has no interval.
[[nodiscard]] std::optional<bool> differ(const Estimate& of, const Estimate& other);
/// `2 to 4: tied with plan 1, …`; empty if none is tied, or none has an interval.
[[nodiscard]] std::string undecided_text(const std::vector<Estimate>& ranked);
/// The same for programs: of each other plan of a ranking its rank, the ratio to the first one, and whether they differ.
[[nodiscard]] nlohmann::ordered_json ratios_to_json(const std::vector<Estimate>& ranked);
/// `2.10 (1.63 to 2.71)`, the ratio of the times of a comparison of `other` with `of`; empty without intervals.
[[nodiscard]] std::string ratio_text(const Estimate& of, const Estimate& other);

/// The section of what the width of an interval is made of; none without an interval.
void add_width(Document& document, const Estimate& estimate);

}  // namespace ddl
