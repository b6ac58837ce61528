#pragma once

#include <string>
#include <vector>

#include "cli/documents/check.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/study_options.hpp"

namespace ddl {

/// Options for every checked file: the memory of a device, and facts that a configuration of another tool does not state.
struct CheckOptions {
  MemoryOptions memory;
  StudyOptions study;
  PlanOptions plan;
  std::vector<std::string> set_words{};  ///< of --set
  std::vector<std::string> given;        ///< options of configurations on the command line
  bool has_configurations = false;       ///< whether one of the files is a configuration, to which these options apply
};

/// Whether a file is a configuration of another tool, as far as it can be read.
[[nodiscard]] bool is_configuration(const std::string& file);

/// Checks the job of a file, which may be a configuration of another tool. An error that prevents the check is part of the
/// result.
[[nodiscard]] JobCheck check_job(const std::string& file, const CheckOptions& options);

}  // namespace ddl
