#pragma once

#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// The share of all runs that an interval of a time should contain.
inline constexpr double interval_level = 0.9;

/// Error of a predicted time to one side: the logarithm of the factor that 95 % of runs stay below.
struct ErrorWidth {
  double faster = 0, slower = 0;  ///< for measured times that are shorter, and longer, than predicted
  friend bool operator==(const ErrorWidth&, const ErrorWidth&) = default;
};

/// The factors of a 90 % interval: measured time divided by predicted time lies between them. The interval contains 1.
struct TimeInterval {
  double low = 1, high = 1;
};

/// Errors of predicted times, as measured runs have shown. docs/formulas.md, "How sure a time is", has the formulas.
struct TimeErrors {
  EnumArray<ErrorSource, ErrorWidth> sources{};  ///< widths for fitted times and for times from the datasheet
  /// Factors on the widths of kernels and of exchanges, by the basis of their times. The factors do not decrease.
  EnumArray<TimeBasis, ErrorWidth> kernel_bases{}, exchange_bases{};
  EnumArray<ModelClass, ErrorWidth> classes{};  ///< errors that no source explains
  double kinds_together = 0.5;                  ///< correlation of the errors of two kinds of kernels
  /// Of the variance that no source explains, the part that differs between plans of one model on one machine.
  double own_of_plan = 0.5;
  /// Error of runs that were not used in a fit, divided by the error of the runs that were.
  double learned_scatter = 2;
};

/// The squared width of a time's interval on one side; interval_of() takes the square root.
[[nodiscard]] double variance_of(const TimeErrors& errors, const TimeSensitivity& time, double ErrorWidth::*side);
[[nodiscard]] TimeInterval interval_of(const TimeErrors& errors, const TimeSensitivity& time);
/// The interval of the ratio b/a of two times of the same model on the same machine, divided by the predicted ratio. If both
/// times depend equally on a source, the error of this source cancels.
[[nodiscard]] TimeInterval ratio_interval_of(const TimeErrors& errors, const TimeSensitivity& a, const TimeSensitivity& b);

/// The widths of an interval by source, which interval_of() adds up. Kernels of all kinds are one source, with their
/// correlation included.
struct WidthShare {
  std::string_view name;  ///< name of the source, `kernels`, or `software` for the error that no source explains
  ErrorWidth width;       ///< without fitted coefficients, the squares add up to the square of the interval's width
};
[[nodiscard]] std::vector<WidthShare> width_shares(const TimeErrors& errors, const TimeSensitivity& time);

}  // namespace ddl
