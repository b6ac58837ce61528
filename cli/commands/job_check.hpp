#pragma once

#include <optional>
#include <string>

#include "cli/documents/check.hpp"
#include "cli/options/margin.hpp"

namespace ddl {

/// What all jobs of one call are held against, in place of what they say.
struct CheckOptions {
  std::optional<Bytes> gpu_memory;
  std::optional<Margin> margin;
};

/// Judges the job of a file. What keeps it from being judged is part of the answer.
[[nodiscard]] JobCheck check_job(const std::string& file, const CheckOptions& options);

}  // namespace ddl
