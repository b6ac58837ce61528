#pragma once

#include <string>
#include <string_view>

#include "calibration/learning/run_fit.hpp"

namespace ddl {

/// A coefficients file with what a fit has learned put in the place of its `learned` section, and its choices in that of the
/// keys of `software`; everything else stays as it is, comments included. `citation`: the runs it was fitted to, in words.
/// Throws Error where the text cannot be extended so.
[[nodiscard]] std::string with_learned(const std::string& text, const RunFit& fit, std::string_view citation);

}  // namespace ddl
