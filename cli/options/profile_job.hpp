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

/// The command line of `profile`, as typed.
struct ProfileOptions {
  std::string model, backend, precision = "fp32", optimizer = "momentum", machine = "dgx-a100", caches = "step";
  std::string batch, layout, algorithm, problems, output, simulated, blas, implementation, mixed, shard;
  std::vector<std::string> splits, lines, left_out;
  std::optional<std::int64_t> threads, device, sequence;
  std::string input_shape;
  std::optional<double> tolerance, limit;
  bool resume = false, overwrite = false, retry = false, no_sequence = false, graph = false;
};

/// What is measured, on what, and where it goes.
struct ProfileJob {
  std::string backend;
  BackendOptions device;
  ProfilePlan plan;
  std::string output;                 ///< empty: nowhere
  std::string recipe;                 ///< of mixed precision, where it is not one precision for all
  std::optional<Shard> shard;         ///< which part of the plan is measured; nothing: all
  std::vector<std::string> left_out;  ///< lines of the plan that are not measured
  bool resume = false, overwrite = false, retry = false;
};
/// Throws Error on words that nothing is known by, on options that contradict each other, and in one of several processes
/// that a launcher started where no shard is named: each would measure everything.
[[nodiscard]] ProfileJob job_of(const ProfileOptions& options);

/// The plan without these of its lines, and without the whole step of which one is a part.
[[nodiscard]] ProfilePlan without(ProfilePlan plan, const std::vector<std::string>& lines);

}  // namespace ddl
