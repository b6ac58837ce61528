#pragma once

#include <string>
#include <vector>

#include "estimator/inputs/time_errors.hpp"

namespace ddl {

/// How well intervals hold the runs of one set: the parts of them that lie inside, with widths that were fitted to all sets,
/// and to all others.
struct SetCoverage {
  std::string set;
  int runs = 0;
  double held = 0, held_left_out = 0;
  TimeInterval mean;  ///< the geometric mean of its intervals, left out
};

/// How well intervals of ratios hold the ratios of measured runs.
struct RatioCoverage {
  int pairs = 0;
  double held = 0;         ///< of the pairs; a question with n pairs counts √n times
  double mean_width = 0;   ///< half of ln(high/low), on average
  double mean_single = 0;  ///< the same of the two times themselves
};

/// A file of how wrong predicted times are, which `calibrate intervals` writes.
struct TimeErrorsFile {
  std::string source;  ///< which runs, and how widths were fitted to them
  TimeErrors errors;
  std::vector<SetCoverage> coverage{};
  double widened = 1;  ///< the factor on all fitted widths, with which sets that are left out are held
  RatioCoverage ratios{};
  int learned_runs = 0;     ///< that were predicted from a fit to other runs
  double learned_held = 0;  ///< of these
};

/// Errors are placed: another format, unknown keys, widths that are no numbers.
[[nodiscard]] TimeErrorsFile parse_time_errors(const std::string& text, const std::string& origin);
[[nodiscard]] std::string print_time_errors(const TimeErrorsFile& file);

/// The bundled file, and its widths.
[[nodiscard]] const TimeErrorsFile& bundled_time_errors_file();
[[nodiscard]] const TimeErrors& bundled_time_errors();

}  // namespace ddl
