#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/yaml_node.hpp"
#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// The section `communication` of a coefficients file (docs/coefficients.md): measured times of exchanges. Strict, every
/// number with its unit. An Error placed at the invalid part.
[[nodiscard]] std::vector<MeasuredCurve> read_measured_network(const YamlNode& section);

/// The section as text, which read_measured_network parses to the same values.
[[nodiscard]] std::string print_measured_network(std::span<const MeasuredCurve> network);

/// A coefficients file with this section in place of its own, or appended.
[[nodiscard]] std::string with_network_section(const std::string& file, std::span<const MeasuredCurve> network);

}  // namespace ddl
