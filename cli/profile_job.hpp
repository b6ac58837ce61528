#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/backend_options.hpp"
#include "profiler/profiling.hpp"

namespace ddl {

/// The command line of `profile`, as typed.
struct ProfileOptions {
  std::string model, backend, precision = "fp32", optimizer = "momentum", machine = "dgx-a100", caches = "step";
  std::string batch, layout, algorithm, problems, output, simulated, blas, implementation, mixed;
  std::vector<std::string> splits, lines, left_out;
  std::optional<std::int64_t> threads, device;
  std::optional<double> tolerance, limit;
  bool resume = false, overwrite = false, retry = false, no_sequence = false, graph = false;
};

/// What is measured, on what, and where it goes.
struct ProfileJob {
  std::string backend;
  BackendOptions device;
  ProfilePlan plan;
  std::string output;  ///< empty: nowhere
  std::string recipe;  ///< of mixed precision, where it is not one precision for all
};
/// Throws Error on words that nothing is known by, and on options that contradict each other.
[[nodiscard]] ProfileJob job_of(const ProfileOptions& options);

}  // namespace ddl
