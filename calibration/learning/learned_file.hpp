#pragma once

#include <string>
#include <string_view>

#include "calibration/learning/run_fit.hpp"

namespace ddl {

/// Replaces the `learned` section of a coefficients file with a fit, and the fitted choices in its section `software`;
/// everything else is kept, comments included. `citation`: a description of the runs it was fitted to. Throws Error if the
/// text cannot be extended in this way.
[[nodiscard]] std::string with_learned(const std::string& text, const RunFit& fit, std::string_view citation);

}  // namespace ddl
