#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// The share of all runs whose measured time should lie in the interval of the predicted time.
inline constexpr double interval_level = 0.9;

/// In WidthShare::name, the error of the factor on kernels that comes from other networks.
inline constexpr std::string_view pooled_factor_name = "factor_of_other_networks";

/// In WidthShare::name, the usual error of similar runs.
inline constexpr std::string_view usual_error_name = "usual error of such runs";

/// Error of a predicted time in each direction, as the logarithm of a factor. In 95 % of runs, the error is smaller.
struct ErrorWidth {
  double faster = 0, slower = 0;  ///< widths for measured times that are shorter and longer than predicted
  friend bool operator==(const ErrorWidth&, const ErrorWidth&) = default;
};

/// A 90 % interval of measured time divided by predicted time, as two factors. The interval contains 1.
struct TimeInterval {
  double low = 1, high = 1;
};

/// By how much ln(measured / predicted) of runs with one trait differs from TimeErrors::usual_error, and the standard
/// deviation of this difference.
struct TraitError {
  std::string name;
  double mean = 0, spread = 0;
};

/// The errors of runs by the values of one trait.
struct TraitErrors {
  double spread = 0;  ///< standard deviation between the values, and so the doubt about a value without measured runs
  std::vector<TraitError> measured{};  ///< sorted by name
};

/// Errors of predicted times, fitted to measured runs. docs/formulas.md, "How sure a time is", has the formulas.
struct TimeErrors {
  EnumArray<ErrorSource, ErrorWidth> sources{};  ///< widths for fitted times and for times from the datasheet
  /// Factors on the widths of kernels and of exchanges, for each basis of a time. A less reliable basis has an equal or
  /// larger factor.
  EnumArray<TimeBasis, ErrorWidth> kernel_bases{}, exchange_bases{};
  EnumArray<ModelClass, ErrorWidth> classes{};  ///< errors of single publications that no source explains
  double usual_error = 0;                       ///< mean of ln(measured / predicted) over publications
  EnumArray<RunTrait, TraitErrors> traits{};
  /// The additional error with a software that no measured run of the model's class had.
  ErrorWidth new_software{};
  /// The additional error on a device of `makers` that no measured run of the network's kind used. Most constants are fitted
  /// to devices of NVIDIA.
  ErrorWidth new_foreign_device{};
  /// The additional error of a step that reads samples (TimeSensitivity::reads_samples). Widths are fitted to other steps.
  ErrorWidth reading_samples{};
  EnumArray<ModelClass, std::vector<std::string>> measured_software{};  ///< sorted names of software with measured runs
  double kinds_together = 0.5;  ///< correlation of the errors of two types of kernels
  /// The variance of the error that differs between plans of one model on one machine, divided by the unexplained variance.
  double own_of_plan = 0.5;
  /// Error of runs that were not used in a fit, divided by the error of the runs of the fit.
  double learned_scatter = 2;
  /// The additional width of a time for each doubling of devices beyond the largest run of the fit.
  double learned_growth = 0;
  std::vector<std::string> makers{};  ///< makers of known devices other than NVIDIA: the first words of the devices' names
};

/// The mean and variance of the error ln(measured / predicted) of a time, given its traits.
struct TraitDoubt {
  double mean = 0, variance = 0;
};
/// Software without measured runs adds no variance here, because TimeErrors::new_software includes it.
[[nodiscard]] TraitDoubt trait_doubt(const TimeErrors& errors, const TimeSensitivity& time);

/// Whether runs of the time's model class were measured with its software.
[[nodiscard]] bool is_measured_software(const TimeErrors& errors, const TimeSensitivity& time);
/// Whether the time's device is of TimeErrors::makers, and no measured run of the network's kind used it.
[[nodiscard]] bool is_new_foreign_device(const TimeErrors& errors, const TimeSensitivity& time);
/// Returns the width of a time's interval in one direction, as the logarithm of a factor. `doubt`: trait_doubt().
[[nodiscard]] double width_of(const TimeErrors& errors, const TimeSensitivity& time, const TraitDoubt& doubt,
                              double ErrorWidth::*side);
[[nodiscard]] TimeInterval interval_of(const TimeErrors& errors, const TimeSensitivity& time);
/// Returns the interval of the measured ratio b/a divided by the predicted ratio, for two times of the same model on the
/// same machine. If both times depend equally on a source of error, the error of this source cancels.
[[nodiscard]] TimeInterval ratio_interval_of(const TimeErrors& errors, const TimeSensitivity& a, const TimeSensitivity& b);

/// The width that one source of error adds to an interval, as in interval_of(). Kernels of all
/// types are one source, with their correlation included.
struct WidthShare {
  std::string_view name;  ///< name of the source, `kernels`, or `software` for the error that no source explains
  /// Without fitted coefficients, the squares add up to the square of the interval's width, without the usual error. The
  /// usual error is added to the root of the sum.
  ErrorWidth width;
};
[[nodiscard]] std::vector<WidthShare> width_shares(const TimeErrors& errors, const TimeSensitivity& time);

}  // namespace ddl
