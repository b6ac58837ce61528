#pragma once

#include <memory>

#include "cli/commands/profile_run.hpp"
#include "cli/report.hpp"

namespace ddl {

/// What `profile` says of what it measured: counts, what was refused, how steady the device was, closure, and what splits
/// cost. Its exit status says whether problems are left.
[[nodiscard]] Report profile_report(const std::shared_ptr<const ProfileResult>& result);

}  // namespace ddl
