#include "calibration/learning/trait_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <Eigen/Cholesky>

namespace ddl {
namespace {

constexpr double largest_mean = 0.7;  // ln 2
constexpr double usual_spread = 0.1, least_spread = 0.01;

double variance_of(double log_spread) { return std::exp(2 * log_spread); }

}  // namespace

TraitFit::TraitFit(std::span<const ErrorRow> rows) {
  struct Sum {
    double runs = 0, first = 0, today = 0;
  };
  using Groups = EnumArray<HeldOut, std::string>;
  std::map<std::pair<Groups, std::array<std::string, trait_count>>, Sum> sums;
  for (const ErrorRow& row : rows) {
    if (row.known != KnownKernels::all) continue;
    std::array<std::string, trait_count> traits;
    for (std::size_t i = 0; i < trait_count; ++i) traits[i] = row.time.traits[i];
    Groups groups;
    for (const HeldOut by : enum_values<HeldOut>) groups[by] = group_of(by, row);
    Sum& sum = sums[{groups, traits}];
    sum.runs += 1;
    sum.first += row.first_log_ratio;
    sum.today += row.log_ratio;
  }
  std::map<std::string, int> publications;
  std::map<std::tuple<std::size_t, std::string, std::string>, int> numbers;
  const auto number_in = [](auto& known, const auto& key) {
    return known.emplace(key, static_cast<int>(known.size())).first->second;
  };
  const auto mean = [](double sum, double runs) { return std::clamp(sum / runs, -largest_mean, largest_mean); };
  for (const auto& [key, sum] : sums) {
    const auto& [groups, traits] = key;
    const std::string& set = groups[HeldOut::set];
    Cell cell{
        groups, traits, {}, number_in(publications, set), sum.runs, mean(sum.first, sum.runs), mean(sum.today, sum.runs)};
    for (std::size_t i = 0; i < trait_count; ++i) {
      // Runs of other publications do not have the same trait if the trait is not known.
      cell.numbers[i] = number_in(numbers, std::tuple(i, traits[i], traits[i].empty() ? set : std::string()));
    }
    cells_.push_back(std::move(cell));
  }
  spreads_.fill(std::log(usual_spread));
  const std::vector<const Cell*> all = cells_without({});
  if (all.size() < 2) return;
  double best = log_likelihood(all, spreads_);
  for (double step = 0.8; step > 0.04; step /= 2) {
    for (bool better = true; better;) {
      better = false;
      for (double& spread : spreads_) {
        const double before = spread;
        for (const double by : {step, -step}) {
          spread = std::max(std::log(least_spread), before + by);
          const double found = log_likelihood(all, spreads_);
          if (found > best + 1e-3) {
            best = found;
            better = true;
            break;
          }
          spread = before;
        }
      }
    }
  }
}

Eigen::MatrixXd TraitFit::covariance(const std::vector<const Cell*>& cells, const Spreads& spreads) const {
  const auto count = static_cast<Eigen::Index>(cells.size());
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(count, count);
  for (Eigen::Index row = 0; row < count; ++row) {
    const Cell& a = *cells[static_cast<std::size_t>(row)];
    for (Eigen::Index column = 0; column <= row; ++column) {
      const Cell& b = *cells[static_cast<std::size_t>(column)];
      double& sum = result(row, column);
      for (std::size_t i = 0; i < trait_count; ++i) sum += a.numbers[i] == b.numbers[i] ? variance_of(spreads[i]) : 0;
      if (a.publication == b.publication) sum += variance_of(spreads[trait_count]);
      result(column, row) = sum;
    }
    result(row, row) += variance_of(spreads[trait_count + 1]) + variance_of(spreads[trait_count + 2]) / a.runs;
  }
  return result;
}

double TraitFit::log_likelihood(const std::vector<const Cell*>& cells, const Spreads& spreads) const {
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance(cells, spreads));
  const auto count = static_cast<Eigen::Index>(cells.size());
  Eigen::VectorXd ones = Eigen::VectorXd::Ones(count), means(count);
  for (Eigen::Index i = 0; i < count; ++i) means(i) = cells[static_cast<std::size_t>(i)]->first;
  factor.matrixL().solveInPlace(ones);
  factor.matrixL().solveInPlace(means);
  const Eigen::VectorXd residuals = means - ones * (ones.dot(means) / ones.squaredNorm());
  const Eigen::MatrixXd& lower = factor.matrixLLT();
  return -residuals.squaredNorm() / 2 - lower.diagonal().array().log().sum();
}

std::vector<const TraitFit::Cell*> TraitFit::cells_without(const LeftOut& left_out) const {
  std::vector<const Cell*> cells;
  for (const Cell& cell : cells_) {
    if (left_out.name.empty() || cell.groups[left_out.by] != left_out.name) cells.push_back(&cell);
  }
  return cells;
}

void TraitFit::set_traits(TimeErrors& errors, const LeftOut& left_out) const {
  const std::vector<const Cell*> cells = cells_without(left_out);
  errors.usual_error = 0;
  errors.traits = {};
  if (cells.size() < 2) return;
  const auto count = static_cast<Eigen::Index>(cells.size());
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance(cells, spreads_));
  Eigen::VectorXd first(count), today(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    first(i) = cells[static_cast<std::size_t>(i)]->first;
    today(i) = cells[static_cast<std::size_t>(i)]->today;
  }
  Eigen::VectorXd weights = factor.solve(Eigen::VectorXd::Ones(count));
  weights /= weights.sum();
  errors.usual_error = weights.dot(first);
  const Eigen::VectorXd residuals = factor.solve(today - Eigen::VectorXd::Constant(count, weights.dot(today)));
  for (std::size_t trait = 0; trait < trait_count; ++trait) {
    const double variance = variance_of(spreads_[trait]);
    errors.traits[trait].spread = std::sqrt(variance);
    std::map<std::string, Eigen::VectorXd> shared;  // for each value of the trait, its covariance with all cells
    for (Eigen::Index i = 0; i < count; ++i) {
      const std::string& name = cells[static_cast<std::size_t>(i)]->traits[trait];
      if (name.empty()) continue;
      Eigen::VectorXd& with = shared.try_emplace(name, Eigen::VectorXd::Zero(count)).first->second;
      with(i) = variance;
    }
    for (const auto& [name, with] : shared) {
      const double left = variance - with.dot(factor.solve(with));
      errors.traits[trait].measured.push_back({name, with.dot(residuals), std::sqrt(std::max(0.0, left))});
    }
  }
}

}  // namespace ddl
