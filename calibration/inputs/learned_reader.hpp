#pragma once

#include <utility>
#include <vector>

#include "calibration/files/citations.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/learned.hpp"
#include "estimator/inputs/sensitivity.hpp"

namespace ddl {

/// Reads the `learned` section of a coefficients file (docs/coefficients.md): the factors fitted to runs of each family of
/// plans. The reader is strict. If a family lacks a factor, the factor has no effect.
[[nodiscard]] LearnedFamilies read_learned(const YamlNode& section, const Citations& citations);
/// Reads the number of fitted runs and the error of the fit, for each family in the section that has an error of its fit.
[[nodiscard]] std::vector<std::pair<Family, LearnedRuns>> read_learned_runs(const YamlNode& section);

}  // namespace ddl
