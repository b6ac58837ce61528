#pragma once

#include <string>

#include "cli/documents/check.hpp"
#include "cli/options/study_options.hpp"

namespace ddl {

/// Judges the job of a file. What keeps it from being judged is part of the answer.
[[nodiscard]] JobCheck check_job(const std::string& file, const MemoryOptions& options);

}  // namespace ddl
