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

/// Why a job cannot be checked.
struct JobProblem {
  std::string message, hint;
  /// In the job's file, 1-based; of what lies elsewhere its first line and column.
  int line = 1, column = 1;
};

/// The longest samples with which a plan fits, and with which its expected memory does, in tokens; 0 where none does.
struct LongestSequence {
  std::int64_t fits = 0, at_risk = 0;
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
  /// Tokens of a sample, of the same plan and batch; nothing for a model whose samples have no length to choose.
  std::optional<LongestSequence> longest;
  std::vector<Remedy> remedies;
  std::optional<OutOfCore> out_of_core;  ///< if the plan fits so, and not as it is
  std::vector<std::string> notes;        ///< what was not read, and what is not modeled, of a configuration

  [[nodiscard]] Bytes available() const { return device_memory - margin; }
  [[nodiscard]] ExitStatus status() const;
};

/// How a change is written: as keys of a job file, or as options.
enum class WordsOfChange { job_file, options };
/// A table of what makes a plan fit, with the plan itself as its first row, and a line of the plan out of core, if there is
/// one.
void add_changes(Document& document, const Study& study, const MemoryCheck& checked, const std::vector<Remedy>& remedies,
                 const std::optional<OutOfCore>& out_of_core, WordsOfChange words_of);

/// What to change, as options, of a plan that was asked for and lacks nothing but memory; nothing of another.
void add_what_fits(Document& document, const Estimator& estimator, const Estimate& estimate, const Study& study);

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
