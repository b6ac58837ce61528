#pragma once

#include "calibration/citations.hpp"
#include "core/yaml_node.hpp"
#include "estimator/learned.hpp"

namespace ddl {

/// Reads the `learned` section of a coefficients file (docs/coefficients.md): what runs have taught of each family of plans.
/// Strict; what a family does not name is as the machine's sheet says.
[[nodiscard]] LearnedFamilies read_learned(const YamlNode& section, const Citations& citations);

}  // namespace ddl
