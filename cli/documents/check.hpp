#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/report.hpp"
#include "estimator/out_of_core/out_of_core.hpp"
#include "estimator/search/memory_check.hpp"

namespace ddl {

/// The reason why a job cannot be checked.
struct JobProblem {
  std::string message, hint;
  /// The position in the job's file, 1-based; for an error in another file, the job's first line and column.
  int line = 1, column = 1;
};

/// Two sequence lengths in tokens: the longest with which the plan fits, and the longest with which only its expected
/// memory fits. A length is 0 if even the shortest sequences do not fit.
struct LongestSequence {
  std::int64_t fits = 0, at_risk = 0;
};

/// Whether a job fits, and with which changes it would fit.
struct JobCheck {
  std::string file;  ///< the path, as the user wrote it
  std::optional<JobProblem> problem;
  // The following members are only set without a problem.
  int line = 1, column = 1;  ///< position of the verdict in the file
  std::shared_ptr<Study> study;
  Bytes device_memory{}, margin{};
  MemoryCheck checked;
  bool batch_per_gpu = false;  ///< whether the job gives the batch per GPU
  LargestBatch largest;
  std::optional<MemoryCheck> fewest;
  /// Tokens of a sample for the same plan and batch; empty for a model without a sequence length.
  std::optional<LongestSequence> longest;
  std::vector<Remedy> remedies;
  std::optional<OutOfCore> out_of_core;  ///< set if the plan fits only out of core
  std::vector<std::string> notes;        ///< keys of a configuration that were not read, or are not modeled

  [[nodiscard]] Bytes available() const { return device_memory - margin; }
  [[nodiscard]] ExitStatus status() const;
};

/// The syntax of a change: keys of a job file, or options.
enum class WordsOfChange { job_file, options };
/// A table of changes that make a plan fit. The first row is the plan itself. The last row is the plan out of core, if it
/// fits out of core.
void add_changes(Document& document, const Study& study, const MemoryCheck& checked, const std::vector<Remedy>& remedies,
                 const std::optional<OutOfCore>& out_of_core, WordsOfChange words_of);

/// The changes, as options, with which a requested plan fits. Adds nothing if the plan breaks a limit other than memory.
void add_what_fits(Document& document, const Estimator& estimator, const Estimate& estimate, const Study& study);

/// The worst status, in the order 2, 1, 3, 0.
[[nodiscard]] ExitStatus worst_status(const std::vector<JobCheck>& checks);

/// The memory of each job, item by item, and the changes with which the job would fit. Jobs with a problem are left out,
/// because the problem is printed as an error.
[[nodiscard]] Document checks_document(const std::vector<JobCheck>& checks, bool drawn = false);
/// An object for each job.
[[nodiscard]] nlohmann::ordered_json checks_to_json(const std::vector<JobCheck>& checks);
/// A row for each job, for programs; empty cells if the job could not be checked.
[[nodiscard]] nlohmann::ordered_json checks_rows(const std::vector<JobCheck>& checks);
/// The verdict of each job.
[[nodiscard]] std::vector<FileVerdict> verdicts_of(const std::vector<JobCheck>& checks);

}  // namespace ddl
