#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "calibration/runs/run_prediction.hpp"
#include "calibration/runs/validation.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// One coefficient of one family, as runs and prior together have it. Factors and fractions are numbers,
/// unsharded_weight_sync is in seconds per byte, per_iteration in seconds.
struct LearnedCoefficient {
  Coefficient what = Coefficient::kernels;
  double value = 1;
  double low = 0, high = 0;  ///< one standard deviation of the posterior to either side
  double narrowing = 1;      ///< width of the posterior over that of the prior
  /// Whether the runs say more of it than was known: the posterior is less than half as wide as the prior.
  [[nodiscard]] bool determined() const { return narrowing < 0.5; }
};

/// What the runs of one family of plans teach.
struct FamilyFit {
  Family family = 0;
  int runs = 0;
  double misfit = 0;  ///< mean |predicted / measured − 1| of these runs, after the fit
  Learned learned;
  std::vector<LearnedCoefficient> coefficients;  ///< those that any price of these runs depends on
};

/// A fact of the software, of all families: what the file says, what the runs are best explained by, and by how much the
/// alternative explains them worse. The alternative is the other of two, or what the file says of a number.
struct LearnedChoice {
  std::string key;  ///< `gradient_route`
  std::string before, after;
  double margin = 0;  ///< of the runs alone, in logarithms of the posterior; below 0 where they speak for the other
  /// Whether it is the runs that decide.
  [[nodiscard]] bool determined() const { return margin > 1; }
};

/// A fit of measured runs: Coefficients with their software's choices and what is learned of each family.
struct RunFit {
  Coefficients coefficients;
  std::vector<FamilyFit> families;
  std::vector<LearnedChoice> choices;
  int runs = 0, left_out = 0;  ///< left out: of one device, or not of a time that the estimator predicts
};

/// A measured run, and the step that predicts it.
struct TaughtRun {
  double measured = 0;  ///< seconds
  Step step;
  Updates updates;

  /// In seconds, at these coefficients; the host's start of a kernel is one of them.
  template <class T>
  [[nodiscard]] T predicted(const CoefficientValues<T>& x) const {
    Timing<T> timing = run(step, x);
    finish(step, updates, x, timing);
    return timing.iteration();
  }
  [[nodiscard]] bool depends_on(Coefficient what) const { return step.depends_on(what) || updates.depends_on(what); }
};

/// The most probable coefficients under prior and runs (logarithms of predicted over measured, of a tenth width, in which
/// outliers count linearly), and their widths (Laplace). Without runs it is the prior.
[[nodiscard]] FamilyFit fit_family(Family family, std::span<const TaughtRun* const> runs, double launch_overhead = 0);

/// Runs that are learned from together: each is priced once for each choice of the software, and looked at in each fit.
inline constexpr std::size_t most_fitted_runs = 2'000;

/// Fits runs on one machine, and predicts what it was not fitted to.
class RunFitter {
 public:
  /// Throws Error of the machine, the coefficients or a profile, and of more than most_fitted_runs.
  RunFitter(std::span<const MeasuredRun> runs, std::string machine, std::string coefficients,
            const ProfileChoice& profiles = {}, std::string software = {});

  /// What lies at hand and is not used, and why.
  [[nodiscard]] std::vector<std::string> warnings() const { return predictor_.profile_warnings(); }
  /// To all runs.
  [[nodiscard]] RunFit fit();
  /// Each configuration (model, strategy, number of GPUs and degrees, with all its repeats) predicted from a fit to all
  /// others.
  [[nodiscard]] Validation leave_one_out(const BeforeRun& before_run = {});
  /// Runs on more devices predicted from a fit to those on so many or fewer. Throws Error when either are none.
  [[nodiscard]] Validation fit_up_to(int gpus);

 private:
  /// Choices of the software, as bits.
  using Choices = unsigned;
  struct Row {
    MeasuredRun run;
    std::optional<Family> family;  ///< nothing: there is nothing to learn from the run
    std::string configuration;
    std::vector<std::optional<TaughtRun>> taught;  ///< by choices
  };

  [[nodiscard]] Coefficients chosen(Choices choices) const;
  [[nodiscard]] const TaughtRun& taught(Row& row, Choices choices);
  [[nodiscard]] std::vector<Choices> all_choices() const;
  /// Fits the rows that `used` names.
  [[nodiscard]] RunFit fit(const std::vector<bool>& used);
  /// The used rows of each family, and a number that stands for them.
  struct FamilyRows {
    Family family = 0;
    std::vector<std::size_t> rows;
    int number = 0;
  };
  [[nodiscard]] std::vector<FamilyRows> rows_by_family(const std::vector<bool>& used);
  [[nodiscard]] double objective(const std::vector<FamilyRows>& families, Choices choices, double launch_overhead);
  [[nodiscard]] FamilyFit family_fit(const FamilyRows& family, Choices choices, double launch_overhead);
  [[nodiscard]] FamilyRows all_rows_of(Family family);
  /// The first choices with which the steps of all runs of a family take as long as with these.
  [[nodiscard]] Choices alike_choices(Family family, Choices choices);
  /// Where a fit ends: how improbable runs and coefficients are together.
  struct Fitted {
    double objective = 0;
    std::vector<double> places;  ///< of the coefficients, in units of their priors' widths
  };
  /// Leaving a configuration out changes one family alone: what the others teach is fitted once.
  [[nodiscard]] const Fitted& fit_rows(const FamilyRows& family, Choices choices, double launch_overhead);
  /// The start of a kernel, in seconds, that explains these runs best.
  [[nodiscard]] double best_start(const std::vector<FamilyRows>& families, Choices choices);

  std::vector<Row> rows_;
  std::map<std::vector<std::size_t>, int> row_sets_;
  std::map<std::tuple<int, Choices, double>, Fitted> fitted_;
  std::map<Family, std::vector<Choices>> alike_;  ///< by choices
  RunPredictor predictor_;
  /// The start of a kernel, in seconds, that these runs are predicted with before anything is learned. Where some are priced
  /// by the sheet and others were measured, it is none.
  double start_before_ = 0;
  bool one_start_ = true;  ///< the same for all of them
};

/// The `learned` section of a coefficients file, and what it changes of `software`, as YAML (docs/coefficients.md). `source`
/// is one of the file's keys of sources.
[[nodiscard]] std::string learned_section(const RunFit& fit, std::string_view source);

}  // namespace ddl
