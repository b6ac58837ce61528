#pragma once

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "core/error.hpp"

namespace ddl {

/// An error about a text that no reader knows. It names the tool that wrote the text, if its first lines show which, and why
/// its numbers are not used.
[[nodiscard]] Error unread_output(const BenchmarkText& text);

}  // namespace ddl
