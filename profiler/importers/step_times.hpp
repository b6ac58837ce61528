#pragma once

#include <string>
#include <string_view>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Maximum size of a result of step_time.py.
inline constexpr std::size_t max_step_times_bytes = std::size_t{16} << 20U;

/// Whether a JSON text is a file of step times, which import_step_times reads: it has a step, and no events.
[[nodiscard]] bool is_step_times(std::string_view text);

/// Makes a profile from the times of whole steps that `profiler/pytorch/step_time.py --json` prints. The profile has one row
/// each for forward, backward and update, which name PyTorch and its version. Together with a profile of the kernels, the
/// rows determine the overhead of a step beyond its kernels.
///
/// Throws Error with a position in the file for invalid JSON, another version, a key that is missing or of the wrong kind,
/// and invalid times. Model, samples, precision and optimizer must be the requested ones; otherwise an Error is thrown, too.
[[nodiscard]] ProfileImport import_step_times(std::string text, const std::string& origin, const Model& model,
                                              const ProfileImportOptions& options);

}  // namespace ddl
