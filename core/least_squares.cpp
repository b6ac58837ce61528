#include "core/least_squares.hpp"

#include <algorithm>
#include <vector>

#include <Eigen/Cholesky>

namespace ddl {

double LeastSquares::objective(const Eigen::VectorXd& x) const {
  double sum = prior_precision * (x - prior).squaredNorm() / 2;
  for (const double residual : residuals(x)) sum += loss(residual);
  return sum;
}

void LeastSquares::normal_equations(const Eigen::VectorXd& x, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const {
  constexpr double apart = 1e-7;
  const Eigen::VectorXd at = residuals(x);
  Eigen::MatrixXd slopes(at.size(), x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    Eigen::VectorXd moved = x;
    moved[i] += apart;
    slopes.col(i) = (residuals(moved) - at) / apart;
  }
  hessian = prior_precision * Eigen::MatrixXd::Identity(x.size(), x.size());
  gradient = prior_precision * (x - prior);
  const Eigen::VectorXd weights = at.unaryExpr(weight);
  hessian += slopes.transpose() * weights.asDiagonal() * slopes;
  gradient += slopes.transpose() * weights.cwiseProduct(at);
}

Eigen::VectorXd minimize(const LeastSquares& problem, Eigen::VectorXd x, const LevenbergMarquardt& settings) {
  double objective = problem.objective(x), damping = settings.damping;
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient;
  for (int round = 0; round < settings.steps; ++round) {
    problem.normal_equations(x, hessian, gradient);
    std::vector<Eigen::Index> free;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const bool held = (x[i] <= problem.least[i] && gradient[i] > 0) || (x[i] >= problem.most[i] && gradient[i] < 0);
      if (!held) free.push_back(i);
    }
    if (free.empty()) break;
    const Eigen::MatrixXd matrix = hessian(free, free);
    const Eigen::VectorXd right = -gradient(free);
    double gain = 0;
    for (int attempt = 0; attempt < 12 && gain <= 0; ++attempt) {
      Eigen::MatrixXd damped = matrix;
      damped.diagonal() *= 1.0 + damping;
      const Eigen::VectorXd step = damped.ldlt().solve(right);
      // The fit has converged if no further gain is expected.
      const double expected = right.dot(step) - step.dot(matrix * step) / 2;
      if (expected < settings.least_gain / 10 * (1 + objective)) return x;
      Eigen::VectorXd next = x;
      next(free) += step.cwiseMax(-settings.longest_step).cwiseMin(settings.longest_step);
      next = next.cwiseMax(problem.least).cwiseMin(problem.most);
      const double found = problem.objective(next);
      const bool better = found < objective;
      damping = better ? std::max(1e-9, damping * settings.relax) : damping * 5;
      if (!better) continue;
      gain = objective - found;
      objective = found;
      x = std::move(next);
    }
    if (gain < settings.least_gain * (1 + objective)) break;
  }
  return x;
}

}  // namespace ddl
