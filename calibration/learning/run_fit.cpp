#include "calibration/learning/run_fit.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>

#include <Eigen/Cholesky>
#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include "core/error.hpp"
#include "core/least_squares.hpp"

namespace ddl {
namespace {

/// The residual noise of ln(predicted / measured). The noise includes differences between two runs
/// of one configuration, and effects that a formula omits.
constexpr double noise = 0.1;
/// Residuals beyond this many widths count linearly [Huber, Robust Estimation of a Location Parameter, 1964].
constexpr double outlier = 1.0;

double huber(double residual) {
  const double size = std::abs(residual);
  return size <= outlier ? size * size / 2 : outlier * (size - outlier / 2);
}

/// The prior of a coefficient that is fitted to runs.
const Prior& prior_of(Coefficient what) {
  const std::optional<Prior>& prior = row_of(what).prior;
  assert(prior);
  return *prior;
}

/// The value of a coefficient, and its derivative, at a position in units of the prior's width. Position 0 is the prior's
/// mode.
double value_at(Coefficient what, double place) {
  const double width = prior_of(what).width;
  return row_of(what).is_factor() ? std::exp(width * place) : width * place;
}

/// The least-squares problem of the fit. Its unknowns are the positions of the coefficients (value_at).
class Posterior {
 public:
  Posterior(std::span<const FittedRun* const> runs, std::vector<Coefficient> what, double launch_overhead)
      : runs_(runs), what_(std::move(what)), launch_overhead_(launch_overhead) {}

  [[nodiscard]] Eigen::Index size() const { return static_cast<Eigen::Index>(what_.size()); }
  [[nodiscard]] Coefficient at_place(Eigen::Index i) const { return what_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Learned values(const Eigen::VectorXd& places) const {
    Learned values;
    values[Coefficient::launch_overhead] = launch_overhead_;
    for (Eigen::Index i = 0; i < size(); ++i) values[at_place(i)] = value_at(at_place(i), places[i]);
    return values;
  }
  [[nodiscard]] LeastSquares problem() const {
    constexpr double widest = 12;  // maximum distance from the prior, which keeps steps finite
    LeastSquares problem{.residuals = [this](const auto& places) { return residuals(places); },
                         .loss = huber,
                         .weight = [](double r) { return std::abs(r) <= outlier ? 1.0 : outlier / std::abs(r); },
                         .prior = Eigen::VectorXd::Zero(size()),
                         .least = Eigen::VectorXd::Constant(size(), -widest),
                         .most = Eigen::VectorXd::Constant(size(), widest)};
    for (Eigen::Index i = 0; i < size(); ++i) {
      const Prior& prior = prior_of(at_place(i));
      if (!row_of(at_place(i)).is_factor()) problem.least[i] = 0;
      if (prior.most > 0) problem.most[i] = prior.most / prior.width;
    }
    return problem;
  }

 private:
  [[nodiscard]] Eigen::VectorXd residuals(const Eigen::VectorXd& places) const {
    const Learned at = values(places);
    Eigen::VectorXd all(static_cast<Eigen::Index>(runs_.size()));
    std::transform(runs_.begin(), runs_.end(), all.begin(),
                   [&](const FittedRun* run) { return std::log(run->predicted(at) / run->measured) / noise; });
    return all;
  }
  std::span<const FittedRun* const> runs_;
  std::vector<Coefficient> what_;
  double launch_overhead_ = 0;
};

/// Returns the coefficients on which the prediction of at least one of the runs depends. Other
/// coefficients stay unchanged, and are not reported as fitted.
std::vector<Coefficient> coefficients_of(std::span<const FittedRun* const> runs) {
  std::vector<Coefficient> what;
  for (const CoefficientRow& row : coefficient_table) {
    const bool matters =
        std::any_of(runs.begin(), runs.end(), [&](const FittedRun* run) { return run->depends_on(row.coefficient); });
    if (row.prior && matters) what.push_back(row.coefficient);
  }
  return what;
}

/// Describes the result of a fit: `places` are the fitted positions of the coefficients.
FamilyFit describe_fit(Family family, std::span<const FittedRun* const> runs, const std::vector<Coefficient>& what,
                       const Posterior& posterior, const Eigen::VectorXd& places) {
  const LeastSquares problem = posterior.problem();
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient;
  problem.normal_equations(places, hessian, gradient);
  const Eigen::MatrixXd covariance = hessian.ldlt().solve(Eigen::MatrixXd::Identity(posterior.size(), posterior.size()));

  FamilyFit fit;
  fit.family = family;
  fit.runs = static_cast<int>(runs.size());
  const Learned values = posterior.values(places);
  fit.learned = values;
  fit.learned[Coefficient::launch_overhead] = 0;
  for (Eigen::Index i = 0; i < posterior.size(); ++i) {
    const double width = std::sqrt(std::max(0.0, covariance(i, i)));
    LearnedCoefficient& one = fit.coefficients.emplace_back();
    one.what = what[static_cast<std::size_t>(i)];
    one.value = value_at(one.what, places[i]);
    one.low = value_at(one.what, std::max(problem.least[i], places[i] - width));
    one.high = value_at(one.what, std::min(problem.most[i], places[i] + width));
    one.narrowing = std::min(1.0, width);
  }
  for (const FittedRun* run : runs) fit.misfit += std::abs(run->predicted(values) / run->measured - 1.0);
  if (!runs.empty()) fit.misfit /= static_cast<double>(runs.size());
  return fit;
}

/// A property of the software with two values, which a fit to runs may change.
struct Choice {
  std::string_view key;
  std::string_view off, on;
  bool (*is_on)(const Software&);
  void (*turn)(Software&);
  /// The evidence needed to override the file, in logarithms of the posterior. A route is usually written by an expert of
  /// the software and needs strong evidence, from 3 on. Settings that files usually omit need positive evidence, from 1 on
  /// [Kass and Raftery, Bayes Factors, Journal of the American Statistical Association 90, 1995, section 3.2]. With weaker
  /// evidence, a value could change although the runs do not determine it (LearnedChoice::determined).
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

/// Width of the prior of the launch overhead. A kernel of our model may be several kernels of a framework, which take tens
/// of microseconds to launch if the framework interprets its program operation by operation. The prior is half of a normal
/// distribution with its mode at zero.
constexpr double start_width = 5e-5;
/// Relative uncertainty of a launch overhead given in the file: one standard deviation.
constexpr double start_doubt = 0.25;

/// Rounds to a tenth of a microsecond, so that predictions use the value that is written to the file.
double rounded_start(double seconds) { return std::round(seconds * 1e7) / 1e7; }
std::string start_text(double seconds) { return fmt::format("{:.1f} us", seconds * 1e6); }

}  // namespace

FamilyFit fit_family(Family family, std::span<const FittedRun* const> runs, double launch_overhead) {
  const std::vector<Coefficient> what = coefficients_of(runs);
  const Posterior posterior(runs, what, launch_overhead);
  return describe_fit(family, runs, what, posterior, minimize(posterior.problem(), Eigen::VectorXd::Zero(posterior.size())));
}

RunFitter::RunFitter(std::span<const MeasuredRun> runs, std::string machine, std::string coefficients,
                     const ProfileChoice& profiles, std::string software)
    : predictor_(std::move(machine), std::move(coefficients), profiles, std::move(software)) {
  if (runs.size() > most_fitted_runs)
    throw Error(fmt::format("{} runs exceed the maximum of {} that can be fitted together", runs.size(), most_fitted_runs),
                "choose some with --where, or average repeats");
  bool known = false;
  for (const MeasuredRun& each : runs) {
    Row row;
    row.run = in_seconds(each);
    row.fitted_runs.resize(std::size_t{1} << choices().size());
    row.configuration = fmt::format("{} {} {} {} {}", row.run.model, row.run.strategy, row.run.gpus.value_or(0),
                                    row.run.degrees, row.run.chosen[PlanChoice::zero].value_or(0));
    const bool fits = row.run.quantity == "iter_total_s" && row.run.value > 0;
    const std::optional<Family> family = parse_family(row.run.strategy);
    // Runs on one device are not used for fitting (learned_of): their kernels have no fitted factor, so the launch overhead
    // would have to explain all differences. Runs with several layouts of layers have the effects of several families.
    const bool several = family && *family != 0 && row.run.gpus && *row.run.gpus > 1;
    const bool has_layouts = row.run.degrees.find(' ') != std::string::npos;
    if (fits && several && !has_layouts && std::holds_alternative<Seconds>(predictor_.predict(row.run, chosen(0)))) {
      row.family = family;
      const double start = predictor_.launch_overhead(row.run).value();
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
  coefficients.learned_runs.clear();
  coefficients.software.launch_overhead = Seconds{};  // also overrides the launch overhead of the datasheet
  for (std::size_t i = 0; i < choices().size(); ++i) {
    if ((bits >> i & 1U) != 0) choices()[i].turn(coefficients.software);
  }
  return coefficients;
}

const FittedRun& RunFitter::fitted_run(Row& row, Choices bits) {
  std::optional<FittedRun>& known = row.fitted_runs[bits];
  if (!known) {
    // Algorithms of exchanges and cuts of stages are chosen without fitted factors.
    Coefficients coefficients = chosen(bits);
    coefficients.software.launch_overhead = Seconds(start_before_);
    StepTemplate step = predictor_.step_template(row.run, coefficients);
    known = FittedRun{row.run.value, std::move(step.step), std::move(step.updates)};
  }
  return *known;
}

std::vector<RunFitter::Choices> RunFitter::all_choices() const {
  std::vector<Choices> all(std::size_t{1} << choices().size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<RunFitter::FamilyRows> RunFitter::rows_by_family(const std::vector<bool>& used) {
  std::map<Family, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (const std::optional<Family>& family = rows_[i].family; used[i] && family) rows[*family].push_back(i);
  }
  std::vector<FamilyRows> families;
  for (auto& [family, own] : rows) {
    const int number = row_sets_.try_emplace(own, static_cast<int>(row_sets_.size())).first->second;
    families.push_back({family, std::move(own), number});
  }
  return families;
}

RunFitter::FamilyRows RunFitter::all_rows_of(Family family) {
  FamilyRows all{family, {}, 0};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].family == family) all.rows.push_back(i);
  }
  all.number = row_sets_.try_emplace(all.rows, static_cast<int>(row_sets_.size())).first->second;
  return all;
}

RunFitter::Choices RunFitter::alike_choices(Family family, Choices bits) {
  std::vector<Choices>& known = alike_[family];
  if (known.empty()) {
    const FamilyRows all = all_rows_of(family);
    for (const Choices each : all_choices()) {
      const auto is_alike = [&](Choices before) {
        return std::all_of(all.rows.begin(), all.rows.end(), [&](std::size_t row) {
          const FittedRun& one = fitted_run(rows_[row], each);
          const FittedRun& other = fitted_run(rows_[row], before);
          return one.step == other.step && one.updates.take_as_long_as(other.updates);
        });
      };
      const auto found = std::find_if(known.begin(), known.end(), is_alike);
      known.push_back(found != known.end() ? *found : each);
    }
  }
  return known[bits];
}

const RunFitter::Fitted& RunFitter::fit_rows(const FamilyRows& family, Choices bits, double launch_overhead) {
  const Choices own = alike_choices(family.family, bits);
  const auto key = std::tuple(family.number, own, launch_overhead);
  if (const auto known = fitted_.find(key); known != fitted_.end()) return known->second;
  const FamilyRows all = all_rows_of(family.family);
  std::vector<double> begin;
  if (all.number != family.number) begin = fit_rows(all, own, launch_overhead).places;
  std::vector<const FittedRun*> runs;
  for (const std::size_t row : family.rows) runs.push_back(&fitted_run(rows_[row], own));
  const Posterior posterior(runs, coefficients_of(runs), launch_overhead);
  const LeastSquares problem = posterior.problem();
  Eigen::VectorXd places = Eigen::VectorXd::Zero(posterior.size());
  if (begin.size() == static_cast<std::size_t>(places.size())) std::copy(begin.begin(), begin.end(), places.begin());
  places = minimize(problem, std::move(places));
  return fitted_.emplace(key, Fitted{problem.objective(places), {places.begin(), places.end()}}).first->second;
}

double RunFitter::objective(const std::vector<FamilyRows>& families, Choices bits, double launch_overhead) {
  double sum = 0;
  for (const FamilyRows& family : families) sum += fit_rows(family, bits, launch_overhead).objective;
  return sum;
}

FamilyFit RunFitter::family_fit(const FamilyRows& family, Choices bits, double launch_overhead) {
  const std::vector<double>& places = fit_rows(family, bits, launch_overhead).places;
  std::vector<const FittedRun*> runs;
  for (const std::size_t row : family.rows) runs.push_back(&fitted_run(rows_[row], bits));
  const std::vector<Coefficient> what = coefficients_of(runs);
  const Posterior posterior(runs, what, launch_overhead);
  FamilyFit fit = describe_fit(family.family, runs, what, posterior,
                               Eigen::Map<const Eigen::VectorXd>(places.data(), static_cast<Eigen::Index>(places.size())));
  for (const std::size_t row : family.rows) fit.most_devices = std::max(fit.most_devices, rows_[row].run.gpus.value_or(0));
  return fit;
}

double RunFitter::best_start(const std::vector<FamilyRows>& families, Choices bits) {
  const double said = start_before_;
  const auto prior = [&](double start) {
    const double away = said > 0 ? (start / said - 1) / start_doubt : start / start_width;
    return away * away / 2;
  };
  const auto objective = [&](double start) { return prior(start) + this->objective(families, bits, start); };
  // Tries launch overheads. The first ones grow by factors of two, because small overheads do not change the predicted time:
  // the device then never waits. The next ones are around the best overhead.
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
  // A new overhead is accepted if it makes the runs more probable by a factor of e, independent of
  // the prior, as for a LearnedChoice.
  const double margin = unchanged - (lowest - prior(best));
  return margin > 1 ? rounded_start(best) : said;
}

RunFit RunFitter::fit(const std::vector<bool>& used) {
  RunFit best;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (used[i]) (rows_[i].family ? best.runs : best.left_out) += 1;
  }
  const std::vector<FamilyRows> families = rows_by_family(used);
  const double start = best_start(families, 0);
  const std::vector<Choices> all = all_choices();
  const auto against = [](Choices bits) {
    double sum = 0;
    for (std::size_t i = 0; i < choices().size(); ++i) sum += (bits >> i & 1U) != 0 ? choices()[i].against : 0.0;
    return sum;
  };
  std::vector<double> objectives;
  for (const Choices bits : all) objectives.push_back(objective(families, bits, start));
  const auto chosen_bits = *std::min_element(
      all.begin(), all.end(), [&](Choices a, Choices b) { return objectives[a] + against(a) < objectives[b] + against(b); });
  best.coefficients = chosen(chosen_bits);
  // If the runs do not determine the launch overhead, the value of the file, or of the machine's datasheet, is kept.
  best.coefficients.software.launch_overhead = start == start_before_ && one_start_
                                                   ? predictor_.coefficients().software.launch_overhead
                                                   : std::optional(Seconds(start));
  for (std::size_t i = 0; i < choices().size(); ++i) {
    const Choice& choice = choices()[i];
    const Choices other_bits = chosen_bits ^ (1U << i);
    const auto text = [&](const Software& software) { return std::string(choice.is_on(software) ? choice.on : choice.off); };
    best.choices.push_back({std::string(choice.key), text(predictor_.coefficients().software),
                            text(best.coefficients.software), objectives[other_bits] - objectives[chosen_bits]});
  }
  const double otherwise = objective(families, chosen_bits, start_before_);
  best.choices.push_back(
      {"launch_overhead", start_text(start_before_), start_text(start), otherwise - objectives[chosen_bits]});
  for (const FamilyRows& family : families) best.families.push_back(family_fit(family, chosen_bits, start));
  for (const FamilyFit& family : best.families) {
    best.coefficients.learned.emplace_back(family.family, family.learned);
    best.coefficients.learned_runs.emplace_back(family.family, LearnedRuns{family.runs, family.misfit, family.most_devices});
  }
  return best;
}

RunFit RunFitter::fit() { return fit(std::vector<bool>(rows_.size(), true)); }

Validation RunFitter::leave_one_out(const BeforeRun& before_run) {
  Validation validation;
  validation.warnings = predictor_.profile_warnings();
  std::map<std::string, Coefficients> without;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (before_run) before_run(i, rows_.size());
    const Row& row = rows_[i];
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
                "choose a number of GPUs between the smallest and the largest run");
  }
  const Coefficients fitted = fit(used).coefficients;
  Validation validation;
  validation.warnings = predictor_.profile_warnings();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!used[i]) validation.cases.push_back(validation_case(rows_[i].run, predictor_, fitted));
  }
  validation.summary = summarize(validation.cases);
  return validation;
}

std::string learned_section(const RunFit& fit, std::string_view source) {
  const auto number = [](Coefficient what, double value) {
    const CoefficientUnit unit = row_of(what).unit;
    if (unit == CoefficientUnit::seconds) return fmt::format("{:.4g} us", value * 1e6);
    // A time per byte is printed as the time of a gigabyte, because there is no unit of time per byte.
    if (unit == CoefficientUnit::seconds_per_byte) return fmt::format("{:.4g} ms", value * 1e12);
    return fmt::format("{:.4g}", value);
  };
  YAML::Emitter out;
  out << YAML::BeginMap << "learned";
  if (fit.families.empty()) out << YAML::Flow;
  out << YAML::BeginSeq;
  for (const FamilyFit& family : fit.families) {
    out << YAML::BeginMap << "family" << family_name(family.family) << "runs" << family.runs << "misfit"
        << fmt::format("{:.3g}", family.misfit) << "most_gpus" << family.most_devices << "source" << std::string(source);
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
