#pragma once

#include <string>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// What `--save-dir` and `--overwrite` say.
struct SaveDirectory {
  std::string path;
  bool overwrite = false;
};

/// Throws Error where the folder cannot be written or must not be replaced: it is a file, lies nowhere, or has something in
/// it, unless it is to be overwritten and has nothing in it but what `--save-dir` writes. Asked before the answer is
/// computed, which may take long.
void check_save_directory(const SaveDirectory& directory);

/// What the folder has of the answer in addition to its job.
struct SavedAnswer {
  std::string plan;        ///< JSON
  std::string candidates;  ///< CSV
  std::string page;        ///< HTML
};

/// Writes everything that a plan is started with, all or nothing: the answer, the job, and what each runtime needs.
/// Returns what there is in the folder, for the report.
[[nodiscard]] Document save_directory(const SaveDirectory& directory, const Study& study, const Estimate& estimate,
                                      const SavedAnswer& answer);

}  // namespace ddl
