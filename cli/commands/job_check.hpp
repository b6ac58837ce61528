#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/study.hpp"
#include "cli/exit_status.hpp"
#include "cli/options/margin.hpp"
#include "estimator/search/fitting.hpp"

namespace ddl {

/// What all jobs of one call are held against, in place of what they say.
struct CheckOptions {
  std::optional<Bytes> gpu_memory;
  std::optional<Margin> margin;
};

/// Why a job cannot be judged.
struct JobProblem {
  std::string message, hint;
  /// In the job's file, 1-based; of what lies elsewhere its first line and column.
  int line = 1, column = 1;
};

/// Whether one job fits, and what else would.
struct JobCheck {
  std::string file;  ///< as the user wrote it
  std::optional<JobProblem> problem;
  // Without a problem:
  int line = 1, column = 1;      ///< of the plan
  std::shared_ptr<Study> study;  ///< its machine has the memory of its sheet
  Bytes device_memory{}, margin{};
  Fitting fitting;
  bool batch_per_gpu = false;  ///< the job gives the batch so
  LargestBatch largest;
  std::optional<Fitting> fewest;
  std::vector<Remedy> remedies;

  [[nodiscard]] Bytes available() const { return device_memory - margin; }
  [[nodiscard]] ExitStatus status() const;
};

/// Judges the job of a file. What keeps it from being judged is part of the answer.
[[nodiscard]] JobCheck check_job(const std::string& file, const CheckOptions& options);

/// 2 before 1 before 3 before 0.
[[nodiscard]] ExitStatus worst_status(const std::vector<JobCheck>& checks);

}  // namespace ddl
