#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/documents/check.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"

namespace ddl {

/// The default limit of the search for changes to a job, which must not delay the verdict.
inline constexpr Seconds usual_check_limit{10.0};

/// The options of `check`, which apply to all checked files. They give the memory of a device, and
/// facts that configurations of other tools do not state.
struct CheckOptions {
  MemoryOptions memory;
  StudyOptions study;
  PlanOptions plan;
  std::vector<std::string> set_words{};  ///< values of --set
  std::optional<Seconds> time_limit{};   ///< ends the search for changes to a job; unset: usual_check_limit
  std::vector<std::string> given;        ///< names of the options on the command line that only configurations use
  bool has_configurations = false;       ///< whether at least one file is a configuration of another tool
};

/// Returns whether a file is a configuration of another tool. Returns false for a file that cannot be read.
[[nodiscard]] bool is_configuration(const std::string& file);

/// Checks the job in a file. The file may be a job file, or a configuration of another tool. If an
/// error prevents the check, the returned JobCheck contains the error.
[[nodiscard]] JobCheck check_job(const std::string& file, const CheckOptions& options);

}  // namespace ddl
