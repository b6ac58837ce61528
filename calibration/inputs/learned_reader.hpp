#pragma once

#include <utility>
#include <vector>

#include "calibration/files/citations.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/learned.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// Reads the `learned` section of a coefficients file (docs/coefficients.md): the factors fitted to runs of each family of
/// plans. The reader is strict. Factors that a family lacks have no effect.
[[nodiscard]] LearnedFamilies read_learned(const YamlNode& section, const Citations& citations);
/// Reads the runs of this section by family, for families that give the error of the fit.
[[nodiscard]] std::vector<std::pair<Family, LearnedRuns>> read_learned_runs(const YamlNode& section);

}  // namespace ddl
