#pragma once

#include <string>
#include <vector>

#include "cli/documents/check.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"

namespace ddl {

/// Options for all checked files: the memory of a device, and facts that configurations of other tools do not state.
struct CheckOptions {
  MemoryOptions memory;
  StudyOptions study;
  PlanOptions plan;
  std::vector<std::string> set_words{};  ///< values of --set
  std::vector<std::string> given;        ///< names of the given options that are for configurations
  bool has_configurations = false;       ///< whether one of the files is a configuration, to which these options apply
};

/// Returns whether a file is a configuration of another tool. Returns false for a file that cannot be read.
[[nodiscard]] bool is_configuration(const std::string& file);

/// Checks the job of a file, which may be a configuration of another tool. If an error prevents the check, the result
/// contains the error.
[[nodiscard]] JobCheck check_job(const std::string& file, const CheckOptions& options);

}  // namespace ddl
