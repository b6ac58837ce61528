#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/yaml_node.hpp"
#include "estimator/coefficients.hpp"

namespace ddl {

/// The section `communication` of a coefficients file (docs/calibration.md): strict, every number with its unit. An Error
/// placed at what is none.
[[nodiscard]] std::vector<MeasuredNetwork> read_measured_network(const YamlNode& section);

/// The section as text, which read_measured_network reads back to the same values.
[[nodiscard]] std::string print_measured_network(std::span<const MeasuredNetwork> network);

/// A coefficients file with this section in place of its own, or behind its end.
[[nodiscard]] std::string with_network_section(const std::string& file, std::span<const MeasuredNetwork> network);

}  // namespace ddl
