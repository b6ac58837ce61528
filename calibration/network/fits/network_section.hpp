#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/yaml_node.hpp"
#include "estimator/inputs/measured_exchanges.hpp"

namespace ddl {

/// Reads the section `communication` of a coefficients file (docs/coefficients.md), which contains measured times of
/// exchanges. The reader is strict: every number has its unit. Throws Error that points to an invalid part.
[[nodiscard]] std::vector<MeasuredCurve> read_measured_network(const YamlNode& section);

/// Prints the section as text, which read_measured_network parses to the same values.
[[nodiscard]] std::string print_measured_network(std::span<const MeasuredCurve> network);

/// Returns a coefficients file in which this section replaces the file's own section, or is appended.
[[nodiscard]] std::string with_network_section(const std::string& file, std::span<const MeasuredCurve> network);

}  // namespace ddl
