#pragma once

#include <string>

#include "cli/documents/profile.hpp"
#include "cli/options/profile_job.hpp"

namespace ddl {

/// Measures what is asked for, row by row into the output. Throws Error where the device cannot be used, where it runs none
/// of the problems, and where the output is another profile's.
[[nodiscard]] ProfileResult run(ProfileJob job, const std::string& command);

}  // namespace ddl
