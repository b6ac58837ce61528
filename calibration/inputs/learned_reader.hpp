#pragma once

#include <utility>
#include <vector>

#include "calibration/files/citations.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/learned.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// Reads the `learned` section of a coefficients file (docs/coefficients.md), which has the fitted factors of each family of
/// plans. The reader is strict. A factor that a family lacks has no effect.
[[nodiscard]] LearnedFamilies read_learned(const YamlNode& section, const Citations& citations);
/// Reads the number of fitted runs and the error of the fit of each family. Families without an error are left out.
[[nodiscard]] std::vector<std::pair<Family, LearnedRuns>> read_learned_runs(const YamlNode& section);

}  // namespace ddl
