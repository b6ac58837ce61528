#pragma once

#include <functional>

#include <Eigen/Core>

namespace ddl {

/// A robust least-squares problem. The residuals of measurements are a function of n parameters.
/// Each parameter has a normal prior and bounds.
struct LeastSquares {
  /// The residuals at `x`.
  std::function<Eigen::VectorXd(const Eigen::VectorXd& x)> residuals;
  /// The loss of a residual: half of its square for a small residual, and linear for an outlier.
  double (*loss)(double residual) = nullptr;
  /// The weight of a residual's row in the normal equations: loss'(r) / r.
  double (*weight)(double residual) = nullptr;
  Eigen::VectorXd prior;        ///< mean of each parameter
  double prior_precision = 1;   ///< inverse variance of each parameter
  Eigen::VectorXd least, most;  ///< bounds of each parameter

  /// Negative logarithm of the posterior, without its constant.
  [[nodiscard]] double objective(const Eigen::VectorXd& x) const;
  /// Computes the matrix and the gradient of a Gauss–Newton step at `x`. Derivatives are finite differences.
  void normal_equations(const Eigen::VectorXd& x, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const;
};

/// Limits of `minimize`.
struct LevenbergMarquardt {
  int steps = 200;
  double damping = 1e-3, relax = 0.2;  ///< initial damping, and its factor after a step with a lower objective
  double longest_step = 1e300;         ///< maximum change of a parameter in one step
  double least_gain = 1e-10;           ///< the fit has converged if the relative decrease of the objective is below this
};

/// Returns the parameters with the least objective. The search starts at `x` [Levenberg 1944;
/// Marquardt 1963]. A parameter at a bound does not move if the step would cross the bound.
[[nodiscard]] Eigen::VectorXd minimize(const LeastSquares& problem, Eigen::VectorXd x,
                                       const LevenbergMarquardt& settings = {});

}  // namespace ddl
