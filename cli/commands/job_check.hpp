#pragma once

#include <string>
#include <vector>

#include "cli/documents/check.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"

namespace ddl {

/// What is asked of every file that is checked: the memory of a device, and what a configuration of another tool leaves
/// open. `given` are the options that stand on the command line; of a job file they are none.
struct CheckOptions {
  MemoryOptions memory;
  StudyOptions study;
  PlanOptions plan;
  std::vector<std::string> given;
};

/// Judges the job of a file, which may be a configuration of another tool. What keeps it from being judged is part of the
/// answer.
[[nodiscard]] JobCheck check_job(const std::string& file, const CheckOptions& options);

}  // namespace ddl
