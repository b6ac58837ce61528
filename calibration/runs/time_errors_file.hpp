#pragma once

#include <string>
#include <vector>

#include "estimator/inputs/time_errors.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// The share of the runs of one set that intervals cover: with widths fitted to all sets (`held`), and with widths fitted to
/// all sets except this one (`held_left_out`). The factor on all widths (`widened`) and the variances of traits come from
/// all runs in both cases.
struct SetCoverage {
  std::string set;
  int runs = 0;
  double held = 0, held_left_out = 0;
  TimeInterval mean;  ///< geometric means of the ends of the set's intervals, with the set held out of the fit
};

/// A property of runs. A fit leaves out all runs that share its value, and then counts how many of them intervals cover.
enum class HeldOut { set, software, device, network, kind };
inline constexpr EnumNames<HeldOut> held_out_names{"set", "software", "device", "network", "kind"};

/// The share of the runs with one software, on one device, of one family of networks or of one kind of networks that
/// intervals cover, with widths fitted to all other runs. The factor on all widths (`widened`) and the variances of traits
/// come from all runs. A device that is left out has no kernels of its own.
struct GroupCoverage {
  std::string name;
  int runs = 0;
  double held = 0;
  TimeInterval mean;  ///< geometric means of the ends of the intervals
};

/// How often the interval of a ratio of two predicted times covers the ratio of the two measured times.
struct RatioCoverage {
  int pairs = 0;
  double held = 0;         ///< share of covered pairs; n pairs of one question (ErrorRow) have the weight √n
  int told_apart = 0;      ///< pairs of one batch whose predicted ratio has an interval without 1
  double right = 1;        ///< share of these pairs whose measured times have the predicted order
  double mean_width = 0;   ///< mean of ln(high/low)/2
  double mean_single = 0;  ///< mean of ln(high/low)/2 for the intervals of the two single times
};

/// Precisions in which the same kernels run: fp32 and tf32, fp16 and bf16, and each format of products with at most 8 bits.
enum class PrecisionClass { full, half, fp8, nvfp4, mxfp8, mxfp6, mxfp4, int8 };
inline constexpr EnumNames<PrecisionClass> precision_class_names{"full",  "half",  "fp8",   "nvfp4",
                                                                 "mxfp8", "mxfp6", "mxfp4", "int8"};
[[nodiscard]] constexpr PrecisionClass precision_class(Precision precision) {
  if (is_narrow(precision)) {
    constexpr int first = static_cast<int>(Precision::fp8);
    return static_cast<PrecisionClass>(static_cast<int>(PrecisionClass::fp8) + static_cast<int>(precision) - first);
  }
  return is_mixed(precision) ? PrecisionClass::half : PrecisionClass::full;
}

/// The measured runs of one class of models in similar precisions with one software on one device, and how well they are
/// predicted.
struct Evidence {
  ModelClass model_class{};
  PrecisionClass precision{};
  std::string software, device;
  int runs = 0;
  double error = 0;  ///< mean |predicted / measured − 1|
};

/// A file of the errors of predicted times, which `calibrate intervals` writes.
struct TimeErrorsFile {
  std::string source;  ///< description of the runs, and of the fit of the widths
  TimeErrors errors;
  std::vector<SetCoverage> coverage{};
  EnumArray<HeldOut, std::vector<GroupCoverage>> groups{};  ///< not of sets, which are in `coverage`
  std::vector<Evidence> evidence{};
  double widened = 1;  ///< factor on all fitted widths, so that intervals cover runs of held-out sets
  RatioCoverage ratios{};
  /// The share of runs on devices of TimeErrors::new_foreign_device that intervals cover; each left-out group counts the
  /// same.
  double foreign_held = 0;
  int reading_runs = 0;       ///< runs of TimeErrors::reading_samples
  double reading_held = 0;    ///< share of them whose interval covers the run; each set counts the same
  int stand_ins = 0;          ///< predictions with the settings of another software than the run's
  double stand_ins_held = 0;  ///< share of stand-ins whose interval covers the run; each software has the same weight
  int learned_runs = 0;       ///< runs that were predicted with a fit to other runs
  double learned_held = 0;    ///< share of these runs that their intervals cover
  int beyond_runs = 0;        ///< runs that were predicted with a fit to runs on fewer devices
  double beyond_held = 0;     ///< share of these runs that their intervals cover
};

/// Parses a file of time errors. Throws Error with a position in the file for another format,
/// unknown keys, and widths that are not numbers.
[[nodiscard]] TimeErrorsFile parse_time_errors(const std::string& text, const std::string& origin);
[[nodiscard]] std::string print_time_errors(const TimeErrorsFile& file);

/// Returns the bundled file of time errors.
[[nodiscard]] const TimeErrorsFile& bundled_time_errors_file();
[[nodiscard]] const TimeErrors& bundled_time_errors();

}  // namespace ddl
