#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// The part of all runs that an interval of a time is to hold.
inline constexpr double interval_level = 0.9;

/// How far a time may be from its prediction: ln of the factor that all but one run in twenty stay below, to either side.
struct ErrorWidth {
  double faster = 0, slower = 0;  ///< of the measured time
  friend bool operator==(const ErrorWidth&, const ErrorWidth&) = default;
};

/// Factors on a predicted time between which nine of ten measured times lie. 1 is between them.
struct TimeInterval {
  double low = 1, high = 1;
};

/// How wrong prices are, as measured runs have shown. docs/formulas.md, "How sure a time is", has the formulas.
struct TimeErrors {
  EnumArray<ErrorSource, ErrorWidth> sources{};  ///< where a price is fitted to this device, or the sheet's
  /// Factors on the widths of kernels and of exchanges by the basis of their times; none is below the one before.
  EnumArray<PriceBasis, ErrorWidth> kernel_bases{}, exchange_bases{};
  EnumArray<ModelClass, ErrorWidth> classes{};  ///< what no source explains
  double kinds_together = 0.5;                  ///< correlation of the errors of two kinds of kernels
  /// Of the variance that no source explains, the part that differs between plans of one model on one machine.
  double own_of_plan = 0.5;
  /// Scatter of a run that coefficients were not fitted to, over the misfit of those that they were.
  double learned_scatter = 2;
};

/// The square of a time's width to one side: what interval_of() takes the root of.
[[nodiscard]] double variance_of(const TimeErrors& errors, const TimeSensitivity& time, double ErrorWidth::*side);
[[nodiscard]] TimeInterval interval_of(const TimeErrors& errors, const TimeSensitivity& time);
/// Of the ratio of two times, b over a, of the same model on the same machine, over the predicted ratio. What both depend on
/// alike is the same error in both, and cancels.
[[nodiscard]] TimeInterval ratio_interval_of(const TimeErrors& errors, const TimeSensitivity& a, const TimeSensitivity& b);

/// The widths of an interval by source: what interval_of() adds up. Kernels of all kinds are one, with their correlation.
struct WidthShare {
  std::string_view name;  ///< of the source, `kernels`, or `software` for what no source explains
  ErrorWidth width;       ///< the squares add up to that of the interval, unless runs were learned from
};
[[nodiscard]] std::vector<WidthShare> width_shares(const TimeErrors& errors, const TimeSensitivity& time);

}  // namespace ddl
