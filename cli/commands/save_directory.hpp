#pragma once

#include <string>
#include <string_view>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The values of `--save-dir` and `--overwrite`.
struct SaveDirectory {
  std::string path;
  bool overwrite = false;
  std::string_view
      launcher{};  ///< the launcher whose files are written, in addition to those of Slurm; empty: all launchers
};

/// Throws Error if the folder cannot be written, or must not be replaced: it is a file, its parent is missing, or it is not
/// empty. With `overwrite`, a folder that is not empty is refused only if it contains files that `--save-dir` did not write,
/// or files that have changed since then. Callers check the folder before the search, because a search may take long.
void check_save_directory(const SaveDirectory& directory);

/// The contents of the saved files, except those of the job.
struct SavedAnswer {
  std::string plan;        ///< JSON
  std::string candidates;  ///< CSV
  std::string page;        ///< HTML
};

/// Writes everything needed to launch a plan: the answer, the job, and the files of each runtime. If a file cannot be
/// written, no file is written. Returns the list of the folder's files, for the report.
[[nodiscard]] Document save_directory(const SaveDirectory& directory, const Study& study, const Estimate& estimate,
                                      const SavedAnswer& answer);

}  // namespace ddl
