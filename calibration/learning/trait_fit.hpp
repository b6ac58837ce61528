#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "calibration/learning/error_rows.hpp"
#include "estimator/inputs/time_errors.hpp"

namespace ddl {

/// A linear mixed model of ln(measured / predicted). It has a mean and four kinds of random effects: of the publication, of
/// each trait of a run (RunTrait), of the runs with equal traits in a publication, and of the single run. The variances, of
/// maximum likelihood, and the mean are those of first predictions (ErrorRow::first_log_ratio), which are like predictions
/// of unknown runs. The effect of a trait is its best linear unbiased prediction [Robinson, "That BLUP is a Good Thing: The
/// Estimation of Random Effects", Statistical Science 6, 1991] from the predictions of today. The mean of runs with equal
/// traits in a publication counts as a factor of two at most, so that single outliers do not determine the variances.
class TraitFit {
 public:
  /// Fits the variances to rows with all kernel data. Without such rows, all effects are zero.
  explicit TraitFit(std::span<const ErrorRow> rows);

  /// Sets TimeErrors::usual_error and TimeErrors::traits to effects that are fitted without the runs of `left_out`.
  void set_traits(TimeErrors& errors, const LeftOut& left_out) const;

 private:
  static constexpr std::size_t trait_count = run_trait_names.size();

  /// The runs of one publication with equal traits.
  struct Cell {
    EnumArray<HeldOut, std::string> groups;
    std::array<std::string, trait_count> traits;
    std::array<int, trait_count> numbers{};  ///< equal for equal traits
    int publication = 0;
    double runs = 0;
    double first = 0, today = 0;  ///< means of ErrorRow::first_log_ratio and log_ratio
  };
  /// Logarithms of standard deviations: of the traits, publications, cells and single runs.
  using Spreads = std::array<double, trait_count + 3>;

  [[nodiscard]] Eigen::MatrixXd covariance(const std::vector<const Cell*>& cells, const Spreads& spreads) const;
  [[nodiscard]] double log_likelihood(const std::vector<const Cell*>& cells, const Spreads& spreads) const;
  [[nodiscard]] std::vector<const Cell*> cells_without(const LeftOut& left_out) const;

  std::vector<Cell> cells_;
  Spreads spreads_{};
};

}  // namespace ddl
