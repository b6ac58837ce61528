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

/// The posterior of one coefficient of one family, from runs and prior together. Factors and fractions are dimensionless,
/// unsharded_weight_sync is in seconds per byte, per_iteration in seconds.
struct LearnedCoefficient {
  Coefficient what = Coefficient::kernels;
  double value = 1;
  double low = 0, high = 0;  ///< one standard deviation of the posterior to either side
  double narrowing = 1;      ///< width of the posterior divided by the width of the prior
  /// Whether the runs determine the coefficient: its posterior is less than half as wide as its prior.
  [[nodiscard]] bool determined() const { return narrowing < 0.5; }
};

/// The fit to the runs of one family of plans.
struct FamilyFit {
  Family family = 0;
  int runs = 0;
  int most_devices = 0;  ///< devices of the largest run
  double misfit = 0;     ///< mean |predicted / measured − 1| of the family's runs, after the fit
  Learned learned;
  std::vector<LearnedCoefficient> coefficients;  ///< the coefficients that the prediction of any of these runs depends on
};

/// A property of the software that all families share: its value in the file (`before`), the value that best explains the
/// runs (`after`), and how much worse the alternative is (`margin`). For a yes-or-no property, the alternative is the other
/// value. For a number, the alternative is the value in the file.
struct LearnedChoice {
  std::string key;  ///< `gradient_route`
  std::string before, after;
  double margin = 0;  ///< log posterior of `after` minus log posterior of the alternative, by the runs alone
  /// Whether the runs determine the choice.
  [[nodiscard]] bool determined() const { return margin > 1; }
};

/// A fit to measured runs: Coefficients with the choices of the software, and the fitted factors of each family.
struct RunFit {
  Coefficients coefficients;
  std::vector<FamilyFit> families;
  std::vector<LearnedChoice> choices;
  /// `left_out`: the number of runs that are not used, because they ran on one device, or because
  /// the estimator does not predict their quantity
  int runs = 0, left_out = 0;
};

/// A measured run, and its predicted step as a function of the coefficients.
struct FittedRun {
  double measured = 0;  ///< seconds
  Step step;
  Updates updates;

  /// The time in seconds with these coefficients, including the launch overhead of a kernel.
  template <class T>
  [[nodiscard]] T predicted(const CoefficientValues<T>& x) const {
    Timing<T> timing = run(step, x);
    finish(step, updates, x, timing);
    return timing.step_time();
  }
  [[nodiscard]] bool depends_on(Coefficient what) const { return step.depends_on(what) || updates.depends_on(what); }
};

/// The maximum a posteriori coefficients, and their widths (Laplace approximation). ln(predicted / measured) has a width of
/// a tenth, and outliers count linearly. Without runs, the result is the prior.
[[nodiscard]] FamilyFit fit_family(Family family, std::span<const FittedRun* const> runs, double launch_overhead = 0);

/// Maximum number of runs in a fit. Each run is predicted once for each choice of the software, and its step is evaluated in
/// each fit.
inline constexpr std::size_t most_fitted_runs = 2'000;

/// Fits runs on one machine, and predicts runs that are left out of the fit.
class RunFitter {
 public:
  /// Throws Error if the machine, the coefficients or a profile are invalid, and for more than most_fitted_runs.
  RunFitter(std::span<const MeasuredRun> runs, std::string machine, std::string coefficients,
            const ProfileChoice& profiles = {}, std::string software = {});

  /// Warnings about available data that is not used, with reasons.
  [[nodiscard]] std::vector<std::string> warnings() const { return predictor_.profile_warnings(); }
  /// Fits all runs.
  [[nodiscard]] RunFit fit();
  /// Predicts each configuration (model, strategy, number of GPUs and degrees, with all its repetitions) from a fit to all
  /// other configurations.
  [[nodiscard]] Validation leave_one_out(const BeforeRun& before_run = {});
  /// Fits the runs on at most `gpus` devices, and predicts the runs on more devices. Throws Error
  /// if one of the two sets of runs is empty.
  [[nodiscard]] Validation fit_up_to(int gpus);

 private:
  /// The choices of the software, as one bit for each choice.
  using Choices = unsigned;
  struct Row {
    MeasuredRun run;
    std::optional<Family> family;  ///< unset: nothing can be fitted to the run
    std::string configuration;
    std::vector<std::optional<FittedRun>> fitted_runs;  ///< indexed by Choices
  };

  [[nodiscard]] Coefficients chosen(Choices choices) const;
  [[nodiscard]] const FittedRun& fitted_run(Row& row, Choices choices);
  [[nodiscard]] std::vector<Choices> all_choices() const;
  /// Fits the rows selected by `used`.
  [[nodiscard]] RunFit fit(const std::vector<bool>& used);
  /// The rows of one family that a fit uses. `number` identifies this set of rows.
  struct FamilyRows {
    Family family = 0;
    std::vector<std::size_t> rows;
    int number = 0;
  };
  [[nodiscard]] std::vector<FamilyRows> rows_by_family(const std::vector<bool>& used);
  [[nodiscard]] double objective(const std::vector<FamilyRows>& families, Choices choices, double launch_overhead);
  [[nodiscard]] FamilyFit family_fit(const FamilyRows& family, Choices choices, double launch_overhead);
  [[nodiscard]] FamilyRows all_rows_of(Family family);
  /// Returns the first combination of choices that gives every run of the family the same predicted time as `choices` does.
  [[nodiscard]] Choices alike_choices(Family family, Choices choices);
  /// The result of a fit: the negative log probability of runs and coefficients.
  struct Fitted {
    double objective = 0;
    std::vector<double> places;  ///< values of the coefficients, in units of their priors' widths
  };
  /// If a configuration is left out, only the fit of its family changes, so the fits of the other families are cached.
  [[nodiscard]] const Fitted& fit_rows(const FamilyRows& family, Choices choices, double launch_overhead);
  /// The launch overhead of a kernel, in seconds, that explains the runs of these families best.
  [[nodiscard]] double best_start(const std::vector<FamilyRows>& families, Choices choices);

  std::vector<Row> rows_;
  std::map<std::vector<std::size_t>, int> row_sets_;
  std::map<std::tuple<int, Choices, double>, Fitted> fitted_;
  std::map<Family, std::vector<Choices>> alike_;  ///< results of alike_choices(), indexed by its argument
  RunPredictor predictor_;
  /// The launch overhead of a kernel, in seconds, before any fit. If the runs have different
  /// overheads, this is the smallest one.
  double start_before_ = 0;
  bool one_start_ = true;  ///< whether the launch overhead is equal for all runs
};

/// The `learned` section of a coefficients file, and the changes of `software`, as YAML (docs/coefficients.md). `source`
/// must be a key of the file's sources.
[[nodiscard]] std::string learned_section(const RunFit& fit, std::string_view source);

}  // namespace ddl
