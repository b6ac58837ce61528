#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model_zoo/network/problem.hpp"
#include "profiler/backends/backend_options.hpp"
#include "profiler/profiles/profiling.hpp"
#include "profiler/profiles/shard.hpp"

namespace ddl {

/// The options of `profile`, as typed.
struct ProfileOptions {
  std::string model, backend, precision = "fp32", optimizer = "momentum", machine = "dgx-a100", caches = "step";
  std::string batch, layout, algorithm, problems, output, simulated, blas, implementation, mixed, shard;
  std::vector<std::string> splits, lines, left_out;
  std::optional<std::int64_t> threads, device, sequence;
  std::string input_shape;
  std::optional<double> tolerance, limit;
  bool resume = false, overwrite = false, retry = false, no_sequence = false, graph = false;
};

/// What is measured, on which device, and the output file.
struct ProfileJob {
  std::string backend;
  BackendOptions device;
  ProfilePlan plan;
  std::string output;                 ///< empty: nowhere
  std::string recipe;                 ///< the recipe of mixed precision; empty if there is one precision
  std::optional<Shard> shard;         ///< the measured part of the plan; unset: all of it
  std::vector<std::string> left_out;  ///< lines of the plan that are not measured
  bool resume = false, overwrite = false, retry = false;
};
/// Throws Error for unknown words, for options that contradict each other, and for one of several launched processes
/// without --shard, because each would measure everything.
[[nodiscard]] ProfileJob job_of(const ProfileOptions& options);

/// The plan without these lines. A line of a whole step removes the complete step.
[[nodiscard]] ProfilePlan without(ProfilePlan plan, const std::vector<std::string>& lines);

}  // namespace ddl
