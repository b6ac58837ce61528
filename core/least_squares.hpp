#pragma once

#include <functional>

#include <Eigen/Core>

namespace ddl {

/// A robust least-squares problem: residuals of measurements as a function of n parameters, each with a normal prior and
/// bounds.
struct LeastSquares {
  /// The residuals at `x`.
  std::function<Eigen::VectorXd(const Eigen::VectorXd& x)> residuals;
  /// The loss of a residual: half of its square for a small residual, and linear for an outlier.
  double (*loss)(double residual) = nullptr;
  /// loss'(r) / r, the weight of a row in the normal equations.
  double (*weight)(double residual) = nullptr;
  Eigen::VectorXd prior;        ///< mean of each parameter
  double prior_precision = 1;   ///< inverse variance of each parameter
  Eigen::VectorXd least, most;  ///< bounds of each parameter

  /// Negative logarithm of the posterior, without its constant.
  [[nodiscard]] double objective(const Eigen::VectorXd& x) const;
  /// The matrix and the gradient of a Gauss–Newton step. Derivatives are finite differences.
  void normal_equations(const Eigen::VectorXd& x, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const;
};

/// Limits of `minimize`.
struct LevenbergMarquardt {
  int steps = 200;
  double damping = 1e-3, relax = 0.2;  ///< the first damping, and its factor after a better step
  double longest_step = 1e300;         ///< maximum change of a parameter in one step
  double least_gain = 1e-10;           ///< the fit has converged if the objective's relative decrease is less
};

/// The parameters with the least objective, from `x` on [Levenberg 1944; Marquardt 1963]. A parameter at a bound stays there
/// if the step would cross the bound.
[[nodiscard]] Eigen::VectorXd minimize(const LeastSquares& problem, Eigen::VectorXd x,
                                       const LevenbergMarquardt& settings = {});

}  // namespace ddl
