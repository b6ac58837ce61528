#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/documents/check.hpp"

namespace ddl {

/// Returns by how much a job's memory is larger than that of an earlier job. Both must have been checked without a problem.
[[nodiscard]] Bytes increase_against(const JobCheck& job, const JobCheck& earlier);

/// Returns the text about a job whose memory grew by more than is allowed. The job must have grown too much.
[[nodiscard]] std::string growth_text(const JobCheck& job);
/// Adds a table of what grew: each item of memory, the total, the upper bound and the step, before and after.
void add_against(Document& document, const JobCheck& job, const JobCheck& earlier);
[[nodiscard]] nlohmann::ordered_json against_to_json(const JobCheck& job, const JobCheck& earlier);

}  // namespace ddl
