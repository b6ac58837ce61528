#pragma once

#include <Eigen/Core>

namespace ddl {

/// A sum of terms fitted to times by least absolute relative residuals.
struct AbsoluteFit {
  Eigen::VectorXd coefficients{};  ///< none below zero
  Eigen::VectorXd residuals{};     ///< (time − fitted) / time
  bool determined = false;         ///< no term is a combination of the others
};
/// `terms` is rows × terms, at least as many rows as terms. A coefficient that would be negative is zero.
[[nodiscard]] AbsoluteFit absolute_fit(const Eigen::MatrixXd& terms, const Eigen::VectorXd& times);

/// The same with each row's influence fading, to none for outliers, from `start` on: an M-estimate.
struct WeightedFit {
  Eigen::VectorXd coefficients{};
  Eigen::MatrixXd unscaled_covariance{};  ///< times the variance of a row's relative residual it is the covariance
  Eigen::VectorXd residuals{};            ///< (time − fitted) / fitted
  Eigen::VectorXd weights{};              ///< 1 for a row that fits, 0 for an outlier
  Eigen::VectorXd leverages{};            ///< of each row on its own fit; their sum is the number of free terms
  Eigen::VectorXd scales{};               ///< what residuals were compared with
};
/// Rows with equal `groups` (from 0) share a scale, at least that of all rows.
[[nodiscard]] WeightedFit weighted_fit(const Eigen::MatrixXd& terms, const Eigen::VectorXd& times,
                                       const Eigen::VectorXi& groups, const AbsoluteFit& start);

/// Two-sided: the value that |t| stays below with 95 % at this many degrees of freedom, at least 1.
[[nodiscard]] double student_t_95(double freedom);

}  // namespace ddl
