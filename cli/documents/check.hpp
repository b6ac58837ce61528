#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/chart.hpp"
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

/// The longest sequences with which a plan fits, in tokens: one length for its upper bound of memory, and one for its
/// expected memory. A length is 0 if even the shortest sequences do not fit.
struct LongestSequence {
  std::int64_t fits = 0, at_risk = 0;
};

struct JobCheck;
/// An earlier job with which a job is compared, and the largest increase of memory that is allowed.
struct Growth {
  std::shared_ptr<const JobCheck> earlier;
  std::optional<Bytes> most;  ///< unset: every increase is allowed
};

/// The result of checking a job: whether the job fits, and with which changes it would fit.
struct JobCheck {
  std::string file;  ///< the path, as the user wrote it
  std::optional<JobProblem> problem;
  // The following members are set only if the job could be checked.
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
  std::optional<OutOfCore>
      out_of_core;                 ///< set if the plan fits only with activations on the host or recomputed (out of core)
  std::optional<Growth> growth{};  ///< set if the job is compared with an earlier job
  bool stopped = false;            ///< whether the search for changes was ended early
  bool allows_risk = false;        ///< whether a job at risk passes the check
  std::vector<std::string> notes;  ///< names of a configuration's keys that were not read, or that are not modeled

  [[nodiscard]] Bytes available() const { return device_memory - margin; }
  [[nodiscard]] ExitStatus status() const;
  /// Whether the job needs more memory than the earlier job by more than is allowed.
  [[nodiscard]] bool grew_too_much() const;
};

/// The syntax in which a change is written: keys of a job file, or command-line options.
enum class WordsOfChange { job_file, options };
/// Adds a table of changes that make a plan fit. The first row is the unchanged plan. If the plan
/// fits out of core, the last row is the plan out of core.
void add_changes(Document& document, const Study& study, const MemoryCheck& checked, const std::vector<Remedy>& remedies,
                 const std::optional<OutOfCore>& out_of_core, WordsOfChange words_of);

/// The changes with which a plan that does not fit would fit.
struct WhatFits {
  MemoryCheck checked;
  std::vector<Remedy> remedies;
  std::optional<OutOfCore> out_of_core;
};
/// Looks for changes with which a requested plan would fit. Empty if there are none, if the plan fits, or if it breaks a
/// limit other than memory.
[[nodiscard]] std::optional<WhatFits> what_fits(const Estimator& estimator, const Estimate& estimate, const Study& study);
/// Lists the changes as options.
void add_what_fits(Document& document, const WhatFits& changes, const Study& study);
/// Returns the fastest changed plan that certainly fits, with its time and memory.
[[nodiscard]] std::optional<Card> fitting_card(const std::optional<WhatFits>& changes);

/// Returns the worst exit status of all checks. From worst to best: 2, 1, 3, 0.
[[nodiscard]] ExitStatus worst_status(const std::vector<JobCheck>& checks);

/// Returns the memory of each job, item by item, and the changes with which the job would fit. Jobs
/// that could not be checked are left out, because their problem is printed as an error.
[[nodiscard]] Document checks_document(const std::vector<JobCheck>& checks, bool drawn = false);
[[nodiscard]] nlohmann::ordered_json checks_to_json(const std::vector<JobCheck>& checks);
/// Returns a flat object for each job, for programs. Values are null if the job could not be checked.
[[nodiscard]] nlohmann::ordered_json checks_rows(const std::vector<JobCheck>& checks);
[[nodiscard]] std::vector<FileVerdict> verdicts_of(const std::vector<JobCheck>& checks);

}  // namespace ddl
