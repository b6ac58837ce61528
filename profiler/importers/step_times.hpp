#pragma once

#include <string>
#include <string_view>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Longest result of step_time.py that is read.
inline constexpr std::size_t max_step_times_bytes = std::size_t{16} << 20U;

/// Whether a JSON text is to be read by import_step_times: it has a step, and no events.
[[nodiscard]] bool is_step_times(std::string_view text);

/// Makes a profile of what `profiler/pytorch/step_time.py --json` says of whole steps: a row each of forward, backward and
/// update, which name PyTorch and its version. What a step takes beside its kernels is told by them where a profile of the
/// kernels is at hand, too.
///
/// Errors are placed: no JSON, another version, a key that is missing or of the wrong kind, times that are none, another
/// model than the one named, and samples, precision or optimizer other than those asked for.
[[nodiscard]] ProfileImport import_step_times(std::string text, const std::string& origin, const Model& model,
                                              const ProfileImportOptions& options);

}  // namespace ddl
