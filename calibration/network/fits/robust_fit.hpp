#pragma once

#include <Eigen/Core>

namespace ddl {

/// A sum of terms fitted to times by least absolute relative residuals.
struct AbsoluteFit {
  Eigen::VectorXd coefficients{};  ///< never negative
  Eigen::VectorXd residuals{};     ///< (time − fitted) / time
  bool determined = false;         ///< whether the terms are linearly independent
};
/// Fits coefficients. `terms`: rows × terms, with at least as many rows as terms. Negative coefficients are set to zero.
[[nodiscard]] AbsoluteFit absolute_fit(const Eigen::MatrixXd& terms, const Eigen::VectorXd& times);

/// An M-estimate of a sum of terms, in which outliers have no influence. The iteration starts from `start`.
struct WeightedFit {
  Eigen::VectorXd coefficients{};
  Eigen::MatrixXd unscaled_covariance{};  ///< covariance, if the relative residual of a row has the variance 1
  Eigen::VectorXd residuals{};            ///< (time − fitted) / fitted
  Eigen::VectorXd weights{};              ///< 1 for a row that fits, 0 for an outlier
  Eigen::VectorXd leverages{};            ///< leverage of each row; their sum is the number of free terms
  Eigen::VectorXd scales{};               ///< for each row, the scale by which the residual was divided
};
/// Fits coefficients by an M-estimate. Rows with the same number in `groups` (from 0) share a
/// scale, which is at least the scale of all rows together.
[[nodiscard]] WeightedFit weighted_fit(const Eigen::MatrixXd& terms, const Eigen::VectorXd& times,
                                       const Eigen::VectorXi& groups, const AbsoluteFit& start);

/// Returns the two-sided 95 % quantile of Student's t: |t| is below the quantile with a probability of 95 %. `freedom`:
/// degrees of freedom, at least 1.
[[nodiscard]] double student_t_95(double freedom);

}  // namespace ddl
