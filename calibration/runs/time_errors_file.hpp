#pragma once

#include <string>
#include <vector>

#include "estimator/inputs/time_errors.hpp"

namespace ddl {

/// The share of the runs of one set that intervals cover: with widths fitted to all sets (`held`), and with widths fitted to
/// all sets except this one (`held_left_out`).
struct SetCoverage {
  std::string set;
  int runs = 0;
  double held = 0, held_left_out = 0;
  TimeInterval mean;  ///< geometric means of the ends of the set's intervals, with the set held out of the fit
};

/// How often the interval of a ratio of two predicted times covers the ratio of the two measured times.
struct RatioCoverage {
  int pairs = 0;
  double held = 0;         ///< share of covered pairs; n pairs of one question (ErrorRow) have the weight √n
  double mean_width = 0;   ///< mean of ln(high/low)/2
  double mean_single = 0;  ///< mean of ln(high/low)/2 for the intervals of the two single times
};

/// A file of the errors of predicted times, which `calibrate intervals` writes.
struct TimeErrorsFile {
  std::string source;  ///< description of the runs, and of the fit of the widths
  TimeErrors errors;
  std::vector<SetCoverage> coverage{};
  double widened = 1;  ///< factor on all fitted widths, so that intervals cover runs of held-out sets
  RatioCoverage ratios{};
  int learned_runs = 0;     ///< runs that were predicted with a fit to other runs
  double learned_held = 0;  ///< share of these runs that their intervals cover
};

/// Parses a file of time errors. Throws Error with a position in the file for another format,
/// unknown keys, and widths that are not numbers.
[[nodiscard]] TimeErrorsFile parse_time_errors(const std::string& text, const std::string& origin);
[[nodiscard]] std::string print_time_errors(const TimeErrorsFile& file);

/// Returns the bundled file of time errors.
[[nodiscard]] const TimeErrorsFile& bundled_time_errors_file();
[[nodiscard]] const TimeErrors& bundled_time_errors();

}  // namespace ddl
