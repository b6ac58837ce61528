#pragma once

#include <string>
#include <vector>

#include "estimator/inputs/time_errors.hpp"

namespace ddl {

/// How often intervals contain the runs of one set: the shares of runs inside, with widths that were fitted to all sets, and
/// to all other sets.
struct SetCoverage {
  std::string set;
  int runs = 0;
  double held = 0, held_left_out = 0;
  TimeInterval mean;  ///< the geometric mean of its intervals, with the set left out of the fit
};

/// How often intervals of ratios contain the ratios of measured runs.
struct RatioCoverage {
  int pairs = 0;
  double held = 0;         ///< share of the pairs inside; a question with n pairs counts √n times
  double mean_width = 0;   ///< mean half of ln(high/low)
  double mean_single = 0;  ///< the same for the two times themselves
};

/// A file of the errors of predicted times, which `calibrate intervals` writes.
struct TimeErrorsFile {
  std::string source;  ///< description of the runs, and of the fit of the widths
  TimeErrors errors;
  std::vector<SetCoverage> coverage{};
  double widened = 1;  ///< the factor on all fitted widths, with which intervals cover sets that are left out
  RatioCoverage ratios{};
  int learned_runs = 0;     ///< runs that were predicted from a fit to other runs
  double learned_held = 0;  ///< share of these inside their intervals
};

/// Errors are placed: another format, unknown keys, widths that are not numbers.
[[nodiscard]] TimeErrorsFile parse_time_errors(const std::string& text, const std::string& origin);
[[nodiscard]] std::string print_time_errors(const TimeErrorsFile& file);

/// The bundled file.
[[nodiscard]] const TimeErrorsFile& bundled_time_errors_file();
[[nodiscard]] const TimeErrors& bundled_time_errors();

}  // namespace ddl
