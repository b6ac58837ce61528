#pragma once

#include <string_view>
#include <vector>

#include "calibration/files/citations.hpp"
#include "core/yaml_node.hpp"
#include "estimator/inputs/software.hpp"

namespace ddl {

/// A fact of a software that files can say: `overlaps_gradients: {value: yes, source: …}`.
struct SoftwareKey {
  std::string_view key;
  /// The software does so on any machine, so that its own file may say it; else only coefficients may, of measured runs.
  bool is_general;
  /// Throws Error at a value that makes no sense.
  void (*read)(const YamlNode& value, Software& software);
  std::string_view former{};  ///< the key in files of older versions, where it was another
};
[[nodiscard]] const std::vector<SoftwareKey>& software_keys();

}  // namespace ddl
