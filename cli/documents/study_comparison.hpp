#pragma once

#include "cli/documents/study_outcomes.hpp"
#include "cli/report/report.hpp"

namespace ddl {

/// Reports the best plans of several studies side by side, in the order of the request. If no study
/// has an answer, throws the first study's Error.
[[nodiscard]] Report compare_studies(Outcomes outcomes);

}  // namespace ddl
