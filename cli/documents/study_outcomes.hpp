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

/// The result of one study: its best plan, or the reason why there is no plan.
struct StudyOutcome {
  std::string model, machine;       ///< as the user typed them
  bool understood = true;           ///< whether the model and the machine exist
  std::shared_ptr<Study> study;     ///< empty if there is no answer
  std::optional<Estimate> best;     ///< the best plan; does not fit only if the user requested this plan
  std::optional<Estimate> nearest;  ///< if no plan is possible, the plan that exceeds the memory by the least
  bool fits_on_devices = true;      ///< whether some plan fits without host memory
  std::string problem, hint;        ///< empty if there is a plan
  std::vector<Default> defaults;
  std::int64_t gpus = 1, global_batch = 1;
  Objective objective = Objective::time;
  Training training;

  /// Returns `best`, which must exist.
  [[nodiscard]] const Estimate& best_estimate() const {
    assert(best);
    return *best;
  }
};

[[nodiscard]] inline bool has_plan(const StudyOutcome& outcome) { return outcome.best && outcome.best->feasible(); }

using Outcomes = std::vector<StudyOutcome>;

/// Labels of studies. A label contains the model if models differ, and the machine if machines differ.
class Labels {
 public:
  explicit Labels(const Outcomes& outcomes);
  [[nodiscard]] bool several_models() const { return models_; }
  [[nodiscard]] std::string of(const StudyOutcome& outcome) const;

 private:
  bool models_ = false, machines_ = false;
};

/// Returns the time by which studies are compared: the time of an epoch, or of the requested training.
[[nodiscard]] Seconds time_of(const StudyOutcome& outcome);
[[nodiscard]] std::optional<double> cost_of(const StudyOutcome& outcome);
/// Returns the quantity that the objective minimizes, for a study's best plan.
[[nodiscard]] double figure_of(const StudyOutcome& outcome);
/// Whether the studies can be ranked. They cannot be ranked by cost if their prices are in different currencies.
[[nodiscard]] bool comparable(const Outcomes& outcomes);
/// Returns the outcomes with a plan that fits, best first. Equally good outcomes keep the order of the request.
[[nodiscard]] std::vector<const StudyOutcome*> ranked(const Outcomes& outcomes);

/// Reports the best plans of several studies side by side, in the order of the request. If no study
/// has an answer, throws the first study's Error.
[[nodiscard]] Report compare_studies(Outcomes outcomes);

}  // namespace ddl
