#include "calibration/run_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <Eigen/Dense>
#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "core/error.hpp"

namespace ddl {
namespace {

using Values = TeachableValues;

/// Logarithms of predicted over measured scatter by this much, whatever is fitted: what two runs of one configuration differ
/// by, and what a formula leaves out.
constexpr double noise = 0.1;
/// Residuals beyond so many widths count linearly [Huber, Robust Estimation of a Location Parameter, 1964].
constexpr double outlier = 1.0;

double huber(double residual) {
  const double size = std::abs(residual);
  return size <= outlier ? size * size / 2 : outlier * (size - outlier / 2);
}

/// A coefficient from its place in units of the prior's width, 0 being the prior's best.
double value_at(const Prior& prior, double place) {
  return prior.is_factor ? std::exp(prior.width * place) : prior.width * place;
}

double derivative_at(const Prior& prior, double place) {
  return prior.is_factor ? prior.width * std::exp(prior.width * place) : prior.width;
}

/// Objective, and one Gauss-Newton step's matrix and gradient, over the places of the coefficients that matter.
class Posterior {
 public:
  Posterior(std::span<const RunFeatures> runs, std::vector<Teachable> what, double kernel_start)
      : runs_(runs), what_(std::move(what)), kernel_start_(kernel_start) {}

  [[nodiscard]] Eigen::Index size() const { return static_cast<Eigen::Index>(what_.size()); }
  [[nodiscard]] Values values(const Eigen::VectorXd& places) const {
    Values values = untaught();
    for (Eigen::Index i = 0; i < size(); ++i) {
      const Teachable what = what_[static_cast<std::size_t>(i)];
      values[index_of(what)] = value_at(prior_of(what), places[i]);
    }
    return values;
  }
  [[nodiscard]] double objective(const Eigen::VectorXd& places) const {
    const Values at = values(places);
    double sum = places.squaredNorm() / 2;
    for (const RunFeatures& run : runs_)
      sum += huber(std::log(predicted_time(run, at, kernel_start_) / run.measured) / noise);
    return sum;
  }
  void linearize(const Eigen::VectorXd& places, Eigen::MatrixXd& hessian, Eigen::VectorXd& gradient) const {
    hessian = Eigen::MatrixXd::Identity(size(), size());
    gradient = places;
    const Values at = values(places);
    Eigen::VectorXd slope(size());
    for (const RunFeatures& run : runs_) {
      const double time = predicted_time(run, at, kernel_start_);
      const double residual = std::log(time / run.measured) / noise;
      for (Eigen::Index i = 0; i < size(); ++i) {
        // The time is linear in each coefficient by itself, but for where the device begins to wait for the host.
        const Teachable what = what_[static_cast<std::size_t>(i)];
        const double step = 1e-3 * prior_of(what).width;
        Values more = at;
        more[index_of(what)] += step;
        const double steepness = (predicted_time(run, more, kernel_start_) - time) / step;
        slope[i] = steepness * derivative_at(prior_of(what), places[i]) / time / noise;
      }
      const double weight = std::abs(residual) <= outlier ? 1.0 : outlier / std::abs(residual);
      hessian += weight * slope * slope.transpose();
      gradient += weight * residual * slope;
    }
  }
  [[nodiscard]] double least(Eigen::Index i) const { return prior_at(i).is_factor ? -widest : 0.0; }
  [[nodiscard]] double most(Eigen::Index i) const {
    const Prior prior = prior_at(i);
    return prior.most > 0 ? prior.most / prior.width : widest;
  }
  [[nodiscard]] Prior prior_at(Eigen::Index i) const { return prior_of(what_[static_cast<std::size_t>(i)]); }

 private:
  /// Nothing is that far from its prior: keeps steps finite.
  static constexpr double widest = 12;

  std::span<const RunFeatures> runs_;
  std::vector<Teachable> what_;
  double kernel_start_ = 0;
};

/// Levenberg-Marquardt with bounds: what lies at one and would leave it stays.
Eigen::VectorXd most_probable(const Posterior& posterior) {
  const Eigen::Index size = posterior.size();
  Eigen::VectorXd places = Eigen::VectorXd::Zero(size);
  if (size == 0) return places;
  double objective = posterior.objective(places), damping = 1e-3;
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient;
  constexpr int enough = 200;
  for (int round = 0; round < enough; ++round) {
    posterior.linearize(places, hessian, gradient);
    std::vector<Eigen::Index> free;
    for (Eigen::Index i = 0; i < size; ++i) {
      const bool held =
          (places[i] <= posterior.least(i) && gradient[i] > 0) || (places[i] >= posterior.most(i) && gradient[i] < 0);
      if (!held) free.push_back(i);
    }
    if (free.empty()) break;
    const auto count = static_cast<Eigen::Index>(free.size());
    Eigen::MatrixXd matrix(count, count);
    Eigen::VectorXd right(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      right[i] = -gradient[free[static_cast<std::size_t>(i)]];
      for (Eigen::Index j = 0; j < count; ++j) {
        matrix(i, j) = hessian(free[static_cast<std::size_t>(i)], free[static_cast<std::size_t>(j)]);
      }
    }
    bool better = false;
    double gain = 0;
    for (int attempt = 0; attempt < 12 && !better; ++attempt) {
      Eigen::MatrixXd damped = matrix;
      damped.diagonal() *= 1.0 + damping;
      const Eigen::VectorXd step = damped.ldlt().solve(right);
      Eigen::VectorXd next = places;
      for (Eigen::Index i = 0; i < count; ++i) {
        const Eigen::Index at = free[static_cast<std::size_t>(i)];
        next[at] = std::clamp(places[at] + step[i], posterior.least(at), posterior.most(at));
      }
      const double found = posterior.objective(next);
      if (found < objective) {
        better = true;
        gain = objective - found;
        objective = found;
        places = next;
        damping = std::max(1e-9, damping / 5);
      } else {
        damping *= 5;
      }
    }
    if (!better || gain < 1e-10 * (1 + objective)) break;
  }
  return places;
}

/// Where a family's fit ends: how improbable runs and coefficients are together.
struct Fitted {
  FamilyFit fit;
  double objective = 0;
};

Fitted fit_one(Family family, std::span<const RunFeatures> runs, double kernel_start) {
  std::vector<Teachable> what;
  for (const Teachable each : all_teachable) {
    // What no price of these runs depends on stays what it was, and is not said to be learned.
    const bool matters = std::any_of(runs.begin(), runs.end(), [&](const RunFeatures& run) {
      return each == Teachable::repeated ? run.repeated_of_kernels > 0 : run.parts[index_of(each)] > 0;
    });
    if (matters) what.push_back(each);
  }
  const Posterior posterior(runs, what, kernel_start);
  const Eigen::VectorXd places = most_probable(posterior);
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient;
  posterior.linearize(places, hessian, gradient);
  const Eigen::MatrixXd covariance = hessian.ldlt().solve(Eigen::MatrixXd::Identity(posterior.size(), posterior.size()));

  Fitted fitted;
  fitted.objective = posterior.objective(places);
  FamilyFit& fit = fitted.fit;
  fit.family = family;
  fit.runs = static_cast<int>(runs.size());
  const Values values = posterior.values(places);
  fit.learned = learned_from(values);
  for (Eigen::Index i = 0; i < posterior.size(); ++i) {
    const Prior prior = posterior.prior_at(i);
    const double width = std::sqrt(std::max(0.0, covariance(i, i)));
    LearnedCoefficient& one = fit.coefficients.emplace_back();
    one.what = what[static_cast<std::size_t>(i)];
    one.value = value_at(prior, places[i]);
    one.low = value_at(prior, std::max(posterior.least(i), places[i] - width));
    one.high = value_at(prior, std::min(posterior.most(i), places[i] + width));
    one.narrowing = std::min(1.0, width);
  }
  for (const RunFeatures& run : runs) fit.misfit += std::abs(predicted_time(run, values, kernel_start) / run.measured - 1.0);
  if (!runs.empty()) fit.misfit /= static_cast<double>(runs.size());
  return fitted;
}

/// A choice of the software that runs may decide.
struct Choice {
  std::string_view key;
  std::string_view off, on;
  bool (*is_on)(const Software&);
  void (*turn)(Software&);
  /// What overruling the file takes, in logarithms of the posterior: strong evidence, from 3 on, where somebody who knows
  /// the software has written a route down; positive evidence, from 1 on, where files mostly say nothing [Kass and Raftery,
  /// Bayes Factors, Journal of the American Statistical Association 90, 1995, section 3.2]. Less would let a value change
  /// without runs that decide it (LearnedChoice::determined).
  double against;
};

constexpr Route other(Route route) { return route == Route::direct ? Route::host : Route::direct; }

const std::array<Choice, 3>& choices() {
  static const std::array<Choice, 3> all{
      {{"gradient_route", "direct", "host", [](const Software& s) { return s.gradient_route == Route::host; },
        [](Software& s) { s.gradient_route = other(s.gradient_route); }, 3},
       {"halo_route", "direct", "host", [](const Software& s) { return s.halo_route == Route::host; },
        [](Software& s) { s.halo_route = other(s.halo_route); }, 3},
       {"layered_gradients_in_hybrids", "no", "yes", [](const Software& s) { return s.layered_gradients_in_hybrids; },
        [](Software& s) { s.layered_gradients_in_hybrids = !s.layered_gradients_in_hybrids; }, 1}}};
  return all;
}

/// What a framework's host takes to start one of our kernels, which may be several of its own: tens of microseconds where it
/// interprets its program operation by operation. Zero at best, and half of a normal of this width.
constexpr double start_width = 5e-5;
/// How far, relative, a start that the file gives may be off: one standard deviation.
constexpr double start_doubt = 0.25;

/// In steps of a tenth of a microsecond, so that what is predicted with and what is written are the same.
double rounded_start(double seconds) { return std::round(seconds * 1e7) / 1e7; }
std::string start_text(double seconds) { return fmt::format("{:.1f} us", seconds * 1e6); }

}  // namespace

Prior prior_of(Teachable what) {
  switch (what) {
    case Teachable::kernels:
      return {true, 0.3};
    case Teachable::gradient_alpha:
    case Teachable::gradient_beta:
    case Teachable::layer_alpha:
    case Teachable::layer_beta:
    case Teachable::halo_alpha:
    case Teachable::halo_beta:
      return {true, 1.0};
    case Teachable::repeated:
      return {false, 0.5, 1.0};
    case Teachable::whole_weights:
      return {false, 1e-9};
    case Teachable::straggling:
      return {false, 0.1};
    case Teachable::per_iteration:
      return {false, 0.05};
  }
  return {};
}

double predicted_time(const RunFeatures& run, const Values& values, double kernel_start) {
  const auto product = [&](Teachable what) { return values[index_of(what)] * run.parts[index_of(what)]; };
  const double kernels =
      values[index_of(Teachable::kernels)] *
      (run.parts[index_of(Teachable::kernels)] + values[index_of(Teachable::repeated)] * run.repeated_of_kernels);
  const double disturbed = kernels + product(Teachable::layer_alpha) + product(Teachable::layer_beta) +
                           product(Teachable::halo_alpha) + product(Teachable::halo_beta);
  const double gradients = product(Teachable::gradient_alpha) + product(Teachable::gradient_beta);
  return run.fixed + std::max(0.0, gradients - run.hidden) + product(Teachable::whole_weights) +
         product(Teachable::per_iteration) + disturbed * (1.0 + values[index_of(Teachable::straggling)] * run.slowest) +
         std::max(0.0, kernel_start * run.starts - disturbed);
}

FamilyFit fit_family(Family family, std::span<const RunFeatures> runs, double kernel_start) {
  return fit_one(family, runs, kernel_start).fit;
}

RunFitter::RunFitter(std::span<const MeasuredRun> runs, std::string machine, std::string coefficients,
                     const ProfileChoice& profiles)
    : predictor_(std::move(machine), std::move(coefficients), profiles) {
  bool known = false;
  for (const MeasuredRun& each : runs) {
    Row row;
    row.run = in_seconds(each);
    row.features.resize(std::size_t{1} << choices().size());
    row.configuration =
        fmt::format("{} {} {} {}", row.run.model, row.run.strategy, row.run.gpus.value_or(0), row.run.degrees);
    const bool fits = row.run.quantity == "iter_total_s" && row.run.value > 0;
    const std::optional<Family> family = parse_family(row.run.strategy);
    // Nothing is learned of one device (learned_of): its kernels have no factor, and their start would have to explain all.
    const bool several = family && *family != 0 && row.run.gpus && *row.run.gpus > 1;
    if (fits && several && std::holds_alternative<Seconds>(predictor_.predict(row.run, chosen(0)))) {
      row.family = family;
      const double start = predictor_.kernel_start(row.run).value();
      one_start_ = one_start_ && (!known || start == start_before_);
      start_before_ = known ? std::min(start_before_, start) : start;
      known = true;
    }
    rows_.push_back(std::move(row));
  }
}

Coefficients RunFitter::chosen(Choices bits) const {
  Coefficients coefficients = predictor_.coefficients();
  coefficients.learned.clear();
  coefficients.software.kernel_start = Seconds{};  // not the sheet's either
  for (std::size_t i = 0; i < choices().size(); ++i) {
    if ((bits >> i & 1U) != 0) choices()[i].turn(coefficients.software);
  }
  return coefficients;
}

const RunFeatures& RunFitter::features(Row& row, Choices bits) {
  std::optional<RunFeatures>& known = row.features[bits];
  if (known) return *known;
  Coefficients coefficients = chosen(bits);
  coefficients.learned.emplace_back(*row.family, Learned{});
  Learned& learned = coefficients.learned.front().second;
  const auto time = [&](double start) {
    coefficients.software.kernel_start = Seconds(start);
    return std::get<Seconds>(predictor_.predict(row.run, coefficients)).value();
  };
  RunFeatures found;
  found.measured = row.run.value;
  // A price is linear in each, where its algorithm is the same: twice as dear costs once more. What the device does is seen
  // where it waits for nobody, what of the gradients is not hidden where it waits as was thought before.
  const auto part = [&](Teachable what, double start, auto&& change, double unit) {
    learned = {};
    const double base = time(start);
    change();
    const double more = std::max(0.0, time(start) - base) / unit;
    learned = {};
    found.parts[index_of(what)] = more;
    return more;
  };
  constexpr double twice = 2, once = 1;
  double known_parts = part(
      Teachable::kernels, 0, [&] { learned.kernels = twice; }, once);
  const double gradients = part(
                               Teachable::gradient_alpha, start_before_, [&] { learned.gradient.alpha = twice; }, once) +
                           part(
                               Teachable::gradient_beta, start_before_, [&] { learned.gradient.beta = twice; }, once);
  MeasuredRun shown = row.run;
  shown.quantity = "iter_comm_gradient_allreduce_s";
  coefficients.software.kernel_start = Seconds(start_before_);
  const double exposed = std::get<Seconds>(predictor_.predict(shown, coefficients)).value();
  known_parts += std::min(exposed, gradients);
  found.hidden = std::max(0.0, gradients - exposed);
  known_parts += part(
      Teachable::layer_alpha, 0, [&] { learned.layer.alpha = twice; }, once);
  known_parts += part(
      Teachable::layer_beta, 0, [&] { learned.layer.beta = twice; }, once);
  known_parts += part(
      Teachable::halo_alpha, 0, [&] { learned.halo.alpha = twice; }, once);
  known_parts += part(
      Teachable::halo_beta, 0, [&] { learned.halo.beta = twice; }, once);
  constexpr double slow = 1e-9;  // a nanosecond a byte
  part(
      Teachable::whole_weights, 0, [&] { learned.whole_weights = SecondsPerByte(slow); }, slow);
  const double delayed = part(
      Teachable::straggling, 0, [&] { learned.straggling = once; }, once);
  part(
      Teachable::per_iteration, 0, [&] { learned.per_iteration = Seconds(once); }, once);
  found.repeated_of_kernels = part(
      Teachable::repeated, 0, [&] { learned.repeated = once; }, once);
  found.parts[index_of(Teachable::repeated)] = 0;
  const double disturbed = found.parts[index_of(Teachable::kernels)] + found.parts[index_of(Teachable::layer_alpha)] +
                           found.parts[index_of(Teachable::layer_beta)] + found.parts[index_of(Teachable::halo_alpha)] +
                           found.parts[index_of(Teachable::halo_beta)];
  if (disturbed > 0) found.slowest = delayed / disturbed;
  // With a start of a second the device waits for the host but for the time that it is busy.
  constexpr double very_slow = 1;
  const double waiting = time(very_slow) - time(0);
  if (waiting > 0) found.starts = waiting + disturbed;
  found.fixed = time(start_before_) - known_parts - std::max(0.0, start_before_ * found.starts - disturbed);
  // The algorithm that is cheapest may change with the factors: what is then not accounted for is not negative.
  found.fixed = std::max(0.0, found.fixed);
  known = found;
  return *known;
}

std::vector<RunFitter::Choices> RunFitter::all_choices() const {
  std::vector<Choices> all(std::size_t{1} << choices().size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

RunFitter::FamilyFits RunFitter::fit_families(const std::vector<bool>& used, Choices bits, double kernel_start) {
  std::map<Family, std::vector<RunFeatures>> runs;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (used[i] && rows_[i].family) runs[*rows_[i].family].push_back(features(rows_[i], bits));
  }
  FamilyFits found;
  for (const auto& [family, own] : runs) {
    Fitted fitted = fit_one(family, own, kernel_start);
    found.objective += fitted.objective;
    found.fits.push_back(std::move(fitted.fit));
  }
  return found;
}

double RunFitter::best_start(const std::vector<bool>& used, Choices bits) {
  const double said = start_before_;
  const auto prior = [&](double start) {
    const double away = said > 0 ? (start / said - 1) / start_doubt : start / start_width;
    return away * away / 2;
  };
  const auto objective = [&](double start) { return fit_families(used, bits, start).objective + prior(start); };
  // In steps of two, since below some start the device waits nowhere; then between the neighbours of the best.
  double best = said, lowest = objective(said);
  const auto consider = [&](double start) {
    const double found = objective(start);
    if (found >= lowest) return false;
    lowest = found;
    best = start;
    return true;
  };
  const double unchanged = lowest;
  if (said > 0) consider(0);
  for (double start = 5e-6; start < 1e-3; start *= 2) consider(start);
  if (best == 0) return best;
  for (double ratio = std::sqrt(2.0); ratio > 1.01; ratio = std::sqrt(ratio)) {
    if (!consider(best * ratio)) consider(best / ratio);
  }
  // As for choices, runs have to be e times as probable otherwise, whatever was thought before.
  const double margin = unchanged - (lowest - prior(best));
  return margin > 1 ? rounded_start(best) : said;
}

RunFit RunFitter::fit(const std::vector<bool>& used) {
  RunFit best;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (used[i]) (rows_[i].family ? best.runs : best.left_out) += 1;
  }
  const double start = best_start(used, 0);
  const std::vector<Choices> all = all_choices();
  const auto against = [](Choices bits) {
    double sum = 0;
    for (std::size_t i = 0; i < choices().size(); ++i) sum += (bits >> i & 1U) != 0 ? choices()[i].against : 0.0;
    return sum;
  };
  std::vector<FamilyFits> fits;
  for (const Choices bits : all) fits.push_back(fit_families(used, bits, start));
  const auto chosen_bits = *std::min_element(all.begin(), all.end(), [&](Choices a, Choices b) {
    return fits[a].objective + against(a) < fits[b].objective + against(b);
  });
  best.coefficients = chosen(chosen_bits);
  // What runs say nothing of stays with the file, or with the machine's sheet.
  best.coefficients.software.kernel_start =
      start == start_before_ && one_start_ ? predictor_.coefficients().software.kernel_start : std::optional(Seconds(start));
  for (std::size_t i = 0; i < choices().size(); ++i) {
    const Choice& choice = choices()[i];
    const Choices other_bits = chosen_bits ^ (1U << i);
    const auto text = [&](const Software& software) { return std::string(choice.is_on(software) ? choice.on : choice.off); };
    best.choices.push_back({std::string(choice.key), text(predictor_.coefficients().software),
                            text(best.coefficients.software), fits[other_bits].objective - fits[chosen_bits].objective});
  }
  const double otherwise = fit_families(used, chosen_bits, start_before_).objective;
  best.choices.push_back(
      {"kernel_start", start_text(start_before_), start_text(start), otherwise - fits[chosen_bits].objective});
  best.families = std::move(fits[chosen_bits].fits);
  for (const FamilyFit& family : best.families) best.coefficients.learned.emplace_back(family.family, family.learned);
  return best;
}

RunFit RunFitter::fit() { return fit(std::vector<bool>(rows_.size(), true)); }

Validation RunFitter::leave_one_out() {
  Validation validation;
  validation.warnings = predictor_.profiles().warnings;
  std::map<std::string, Coefficients> without;
  for (const Row& row : rows_) {
    if (!without.contains(row.configuration)) {
      std::vector<bool> used;
      for (const Row& other : rows_) used.push_back(other.configuration != row.configuration);
      without.emplace(row.configuration, fit(used).coefficients);
    }
    validation.cases.push_back(validation_case(row.run, predictor_, without.at(row.configuration)));
  }
  validation.summary = summarize(validation.cases);
  return validation;
}

Validation RunFitter::fit_up_to(int gpus) {
  std::vector<bool> used;
  for (const Row& row : rows_) used.push_back(row.run.gpus && *row.run.gpus <= gpus);
  const auto count = std::count(used.begin(), used.end(), true);
  if (count == 0 || count == static_cast<std::ptrdiff_t>(used.size())) {
    throw Error(fmt::format("{} of the runs have {} GPUs or fewer", count == 0 ? "none" : "all", gpus),
                "fitted to some, the others are predicted");
  }
  const Coefficients fitted = fit(used).coefficients;
  Validation validation;
  validation.warnings = predictor_.profiles().warnings;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!used[i]) validation.cases.push_back(validation_case(rows_[i].run, predictor_, fitted));
  }
  validation.summary = summarize(validation.cases);
  return validation;
}

std::string learned_section(const RunFit& fit, std::string_view source) {
  const auto number = [](Teachable what, double value) {
    // Of whole weights the time of a gigabyte: no unit is a time per byte.
    if (what == Teachable::per_iteration) return fmt::format("{:.4g} us", value * 1e6);
    if (what == Teachable::whole_weights) return fmt::format("{:.4g} ms", value * 1e12);
    return fmt::format("{:.4g}", value);
  };
  YAML::Emitter out;
  out << YAML::BeginMap << "learned";
  if (fit.families.empty()) out << YAML::Flow;
  out << YAML::BeginSeq;
  for (const FamilyFit& family : fit.families) {
    out << YAML::BeginMap << "family" << family_name(family.family) << "runs" << family.runs << "source"
        << std::string(source);
    for (const LearnedCoefficient& one : family.coefficients) {
      out << std::string(to_string(one.what)) << YAML::Flow << YAML::BeginMap << "value" << number(one.what, one.value)
          << "low" << number(one.what, one.low) << "high" << number(one.what, one.high) << "determined"
          << (one.determined() ? "yes" : "no") << YAML::EndMap;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace ddl
