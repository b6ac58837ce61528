#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/options/study_options.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/report.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

/// What came of one study: its best plan, or why there is none.
struct StudyOutcome {
  std::string model, machine;       ///< as asked
  bool understood = true;           ///< there are such a model and such a machine
  std::shared_ptr<Study> study;     ///< nothing if what is asked cannot be answered
  std::optional<Estimate> best;     ///< one that does not fit only where that very plan was asked for
  std::optional<Estimate> nearest;  ///< where no plan is possible, one that misses by little
  std::string problem, hint;        ///< empty where there is a plan
  std::vector<Default> defaults;
  std::int64_t gpus = 1, global_batch = 1;
  Objective objective = Objective::time;
  Training training;

  /// `best`, of one that has it.
  [[nodiscard]] const Estimate& best_estimate() const {
    assert(best);
    return *best;
  }
};

/// Whether it has a plan that fits.
[[nodiscard]] inline bool has_plan(const StudyOutcome& outcome) { return outcome.best && outcome.best->feasible(); }

/// The best plans of several studies side by side, in the order in which they were asked for. Throws the first one's Error
/// where none could be answered.
[[nodiscard]] Report compare_studies(std::vector<StudyOutcome> outcomes);

}  // namespace ddl
