#pragma once

#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// The share of all runs that an interval of a time should contain.
inline constexpr double interval_level = 0.9;

/// Error of a predicted time: ln of the factor that 95 % of runs stay below, for either side.
struct ErrorWidth {
  double faster = 0, slower = 0;  ///< if the measured time is faster, or slower
  friend bool operator==(const ErrorWidth&, const ErrorWidth&) = default;
};

/// Factors on a predicted time between which 90 % of measured times lie. 1 is between them.
struct TimeInterval {
  double low = 1, high = 1;
};

/// Errors of predicted times, as measured runs have shown. docs/formulas.md, "How sure a time is", has the formulas.
struct TimeErrors {
  EnumArray<ErrorSource, ErrorWidth> sources{};  ///< widths for fitted times and for times from the datasheet
  /// Factors on the widths of kernels and of exchanges, by the basis of their times. No factor is smaller than the one
  /// before.
  EnumArray<TimeBasis, ErrorWidth> kernel_bases{}, exchange_bases{};
  EnumArray<ModelClass, ErrorWidth> classes{};  ///< errors that no source explains
  double kinds_together = 0.5;                  ///< correlation of the errors of two kinds of kernels
  /// The part of the variance that no source explains which differs between plans of one model on one machine.
  double own_of_plan = 0.5;
  /// Scatter of a run that coefficients were not fitted to, divided by the misfit of the runs that they were fitted to.
  double learned_scatter = 2;
};

/// The squared width of a time's interval to one side; interval_of() takes its root.
[[nodiscard]] double variance_of(const TimeErrors& errors, const TimeSensitivity& time, double ErrorWidth::*side);
[[nodiscard]] TimeInterval interval_of(const TimeErrors& errors, const TimeSensitivity& time);
/// The interval of the ratio b/a of two times of the same model on the same machine, divided by the predicted ratio. Sources
/// that both depend on equally have the same error in both, which cancels.
[[nodiscard]] TimeInterval ratio_interval_of(const TimeErrors& errors, const TimeSensitivity& a, const TimeSensitivity& b);

/// The widths of an interval by source, which interval_of() adds up. Kernels of all kinds are one source, with their
/// correlation included.
struct WidthShare {
  std::string_view name;  ///< name of the source, `kernels`, or `software` for the error that no source explains
  ErrorWidth width;       ///< the squares add up to that of the interval, unless coefficients are fitted to runs
};
[[nodiscard]] std::vector<WidthShare> width_shares(const TimeErrors& errors, const TimeSensitivity& time);

}  // namespace ddl
