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

/// The options of `profile`, as the user typed them.
struct ProfileOptions {
  std::string model, backend, precision = "fp32", optimizer = "momentum", machine = "dgx-a100", caches = "step";
  std::string batch, layout, algorithm, problems, output, simulated, blas, implementation, mixed, shard;
  std::vector<std::string> splits, lines, left_out;
  std::optional<std::int64_t> threads, device, sequence;
  std::string input_shape;
  std::optional<double> tolerance, limit;
  bool resume = false, overwrite = false, retry = false, no_sequence = false, graph = false;
};

/// One measurement: the problems to measure, the measured device, and the output file.
struct ProfileJob {
  std::string backend;
  BackendOptions device;
  ProfilePlan plan;
  std::string output;                 ///< empty: the profile is not written
  std::string recipe;                 ///< `autocast` for mixed precision; empty for a single precision
  std::optional<Shard> shard;         ///< the measured part of the problems; unset: all of them
  std::vector<std::string> left_out;  ///< lines of problems that are not measured
  bool resume = false, overwrite = false, retry = false;
};
/// Converts the options to a measurement. Throws Error for unknown words, and for options that contradict each other. Also
/// throws Error if several processes were launched without --shard, because each process would measure everything.
[[nodiscard]] ProfileJob job_of(const ProfileOptions& options);

/// Returns the plan without the problems in `lines`. If a line is part of a whole training step,
/// all parts of that step are removed.
[[nodiscard]] ProfilePlan without(ProfilePlan plan, const std::vector<std::string>& lines);

}  // namespace ddl
