#pragma once

#include <string>
#include <string_view>

#include "calibration/learning/run_fit.hpp"

namespace ddl {

/// Replaces the `learned` section of a coefficients file by a fit, and the values in its section `software` by the fitted
/// choices. Everything else is kept, including comments. `citation`: a description of the runs that were fitted. Throws
/// Error if the text is not a coefficients file that can be extended.
[[nodiscard]] std::string with_learned(const std::string& text, const RunFit& fit, std::string_view citation);

}  // namespace ddl
