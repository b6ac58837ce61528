#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/study.hpp"
#include "cli/report.hpp"
#include "estimator/search/memory_check.hpp"

namespace ddl {

/// Why a job cannot be checked.
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
  int line = 1, column = 1;  ///< of the plan
  std::shared_ptr<Study> study;
  Bytes device_memory{}, margin{};
  MemoryCheck checked;
  bool batch_per_gpu = false;  ///< the job gives the batch so
  LargestBatch largest;
  std::optional<MemoryCheck> fewest;
  std::vector<Remedy> remedies;
  std::vector<std::string> notes;  ///< what was not read, and what is not modelled, of a configuration

  [[nodiscard]] Bytes available() const { return device_memory - margin; }
  [[nodiscard]] ExitStatus status() const;
};

/// 2 before 1 before 3 before 0.
[[nodiscard]] ExitStatus worst_status(const std::vector<JobCheck>& checks);

/// What each job needs, item by item, and what else would fit. Jobs with a problem are left out: it is told as an error.
[[nodiscard]] Document checks_document(const std::vector<JobCheck>& checks, bool drawn = false);
/// An object for each job.
[[nodiscard]] nlohmann::ordered_json checks_to_json(const std::vector<JobCheck>& checks);
/// A row for each job, for programs; empty cells where it could not be checked.
[[nodiscard]] nlohmann::ordered_json checks_rows(const std::vector<JobCheck>& checks);
/// Each job for itself.
[[nodiscard]] std::vector<FileVerdict> verdicts_of(const std::vector<JobCheck>& checks);

}  // namespace ddl
