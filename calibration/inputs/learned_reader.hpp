#pragma once

#include <utility>
#include <vector>

#include "calibration/files/citations.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/learned.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// Reads the `learned` section of a coefficients file (docs/coefficients.md): the factors fitted to runs of each family of
/// plans. Strict; what a family does not name is as the machine's sheet says.
[[nodiscard]] LearnedFamilies read_learned(const YamlNode& section, const Citations& citations);
/// The same section's runs by family, of families that say how well the runs fit.
[[nodiscard]] std::vector<std::pair<Family, LearnedRuns>> read_learned_runs(const YamlNode& section);

}  // namespace ddl
