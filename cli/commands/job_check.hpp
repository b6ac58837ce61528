#pragma once

#include <string>
#include <vector>

#include "cli/documents/check.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"

namespace ddl {

/// What is asked of every file that is checked: the memory of a device, and what a configuration of another tool leaves
/// open.
struct CheckOptions {
  MemoryOptions memory;
  StudyOptions study;
  PlanOptions plan;
  std::vector<std::string> given;   ///< options of configurations that stand on the command line
  bool has_configurations = false;  ///< whether one of the files is a configuration, so that these are not for a job
};

/// Whether a file is a configuration of another tool, as far as it can be read.
[[nodiscard]] bool is_configuration(const std::string& file);

/// Judges the job of a file, which may be a configuration of another tool. What keeps it from being judged is part of the
/// answer.
[[nodiscard]] JobCheck check_job(const std::string& file, const CheckOptions& options);

}  // namespace ddl
