#include "calibration/kernels/kernel_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>

#include <Eigen/Core>

#include "core/least_squares.hpp"
#include "core/statistics.hpp"
#include "estimator/kernels/kernel_model.hpp"

namespace ddl {
namespace {

constexpr double robust_width = 0.1;   ///< logarithm of the ratio above which the weight of a row decreases
constexpr double prior_width = 1.5;    ///< standard deviation of a constant's prior, as a logit between its bounds
constexpr double prior_weight = 0.02;  ///< weight of the prior, relative to one row
constexpr double widest = 9;           ///< largest logit of a constant between its bounds
constexpr std::uint64_t tenths = 10, left_out_tenths = 3;

/// The constants in which products of experts differ from other products in training: they run the same kernels, but each
/// has weights of its own, and a launch.
constexpr std::array<std::string_view, 3> of_experts{"start", "bandwidth", "expert"};

/// The rows of one family: kernels of one kind and precision, in one pass, or in several passes that were timed together.
struct FamilyRows {
  KernelKind kind;
  Precision precision;
  Conditions conditions;
  std::vector<Pass> passes;
  std::vector<std::size_t> rows;
};

/// Maps a constant to an unbounded number: the logit of its position between its bounds, on a logarithmic scale.
double to_free(const KernelConstant& constant, double value) {
  const double part = std::log(value / constant.least) / std::log(constant.most / constant.least);
  const double inside = std::clamp(part, 1e-4, 1 - 1e-4);
  return std::log(inside / (1 - inside));
}
double to_constant(const KernelConstant& constant, double free) {
  return constant.least * std::pow(constant.most / constant.least, 1 / (1 + std::exp(-free)));
}

double pseudo_huber(double residual) { return std::hypot(1, residual / robust_width) - 1; }
double pseudo_huber_weight(double residual) {
  return 1 / (std::hypot(1, residual / robust_width) * robust_width * robust_width);
}

/// A pseudo-random number that depends only on the shape of a kernel, so that every fit holds out the same rows.
std::uint64_t hash_of(const KernelShape& shape) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const float each : place_of(shape)) {
    hash = (hash ^ static_cast<std::uint64_t>(std::llround(static_cast<double>(each) * 4096))) * 1099511628211ULL;
  }
  hash ^= hash >> 29U;
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 32U);
}

class Fitter {
 public:
  Fitter(std::span<const KernelSample> samples, const Device& device, const KernelFitSettings& settings)
      : samples_(samples.begin(), samples.end()), device_(device), settings_(settings) {
    std::map<Precision, KernelModel> models;
    for (KernelSample& sample : samples_) {
      const auto model = models.try_emplace(sample.precision, device, sample.precision).first;
      take_off_copies(sample, model->second);
    }
  }

  KernelFit fit() {
    for (const FamilyRows& group : groups()) fit_group(group);
    return std::move(fit_);
  }

 private:
  /// Handles rows that time a kernel together with copies: kernels of another kind that only move elements. The time of the
  /// copies is predicted from other measurements of the device, and subtracted, so that the time of the first kernel
  /// remains. Rows in which the copies take most of the time are not changed.
  static void take_off_copies(KernelSample& sample, const KernelModel& model) {
    constexpr double least_rest = 0.3;
    const auto is_copy = [&](const auto& kernel) {
      return kernel.first.kernel_kind() == KernelKind::elementwise &&
             sample.kernels.front().first.kernel_kind() != KernelKind::elementwise;
    };
    Seconds copies{};
    for (const auto& kernel : sample.kernels) {
      if (is_copy(kernel)) copies += model.seconds(kernel.first, kernel.second, 1);
    }
    if (!(copies > Seconds{}) || sample.time - copies < sample.time * least_rest) return;
    sample.time -= copies;
    std::erase_if(sample.kernels, is_copy);
  }

  /// Returns the rows in groups. Groups with few passes come first. So the constants of single
  /// passes are known when rows are fitted that time several passes together.
  [[nodiscard]] std::vector<FamilyRows> groups() const {
    std::map<std::tuple<std::size_t, KernelKind, Precision, Conditions, std::vector<Pass>>, std::vector<std::size_t>> rows;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const auto& kernels = samples_[i].kernels;
      const KernelKind kind = kernels.front().first.kernel_kind();
      std::vector<Pass> passes;
      bool same = true;
      for (const auto& [work, pass] : kernels) {
        same = same && work.kernel_kind() == kind;
        if (std::find(passes.begin(), passes.end(), pass) == passes.end()) passes.push_back(pass);
      }
      // If kernels of several kinds were timed together, their times cannot be separated.
      if (same) rows[{passes.size(), kind, samples_[i].precision, samples_[i].conditions, passes}].push_back(i);
    }
    std::vector<FamilyRows> groups;
    for (auto& [key, own] : rows) {
      const auto& [count, kind, precision, conditions, passes] = key;
      groups.push_back({kind, precision, conditions, passes, std::move(own)});
    }
    return groups;
  }

  [[nodiscard]] const KernelFamily* known(const FamilyRows& group, Pass pass) const {
    for (const KernelFamily& family : fit_.families) {
      if (family.kind == group.kind && family.precision == group.precision && family.pass == pass) return &family;
    }
    for (const KernelFamily& family : settings_.known) {
      const bool alike = item_bytes(family.precision) == item_bytes(group.precision);
      if (family.kind == group.kind && alike && family.pass == pass) return &family;
    }
    return nullptr;
  }

  /// The fitted products of the pass in which a group of experts' products was measured; null for other groups.
  [[nodiscard]] const KernelFamily* products_like(const FamilyRows& group) const {
    if (group.kind != KernelKind::grouped_product) return nullptr;
    for (const KernelFamily& family : fit_.families) {
      if (family.kind == KernelKind::matrix_product && family.precision == group.precision &&
          family.conditions == group.conditions && family.pass == group.passes.front())
        return &family;
    }
    return nullptr;
  }

  /// The predicted time of a row in seconds. `constants` are used for all passes without known constants.
  [[nodiscard]] double time(const FamilyRows& group, std::size_t row, std::span<const double> constants,
                            const DevicePeaks& peaks) const {
    const KernelForm& form = form_of(group.kind);
    double sum = 0;
    for (const auto& [work, pass] : samples_[row].kernels) {
      const KernelFamily* const family = group.passes.size() > 1 ? known(group, pass) : nullptr;
      sum += form.time(shape_of(work, 1, item_bytes(group.precision)), peaks,
                       family != nullptr ? std::span<const double>(family->constants) : constants);
    }
    return sum;
  }

  [[nodiscard]] std::vector<double> constants_of(const FamilyRows& group, const std::vector<std::size_t>& rows) const {
    const KernelForm& form = form_of(group.kind);
    const DevicePeaks peaks = device_peaks(device_, group.precision);
    const auto count = static_cast<Eigen::Index>(form.constants.size());
    // Few products of experts are measured; most of their constants are those of products in the same pass.
    const KernelFamily* const products = products_like(group);
    const auto is_fitted = [&](const KernelConstant& constant) {
      if (products != nullptr && std::find(of_experts.begin(), of_experts.end(), constant.name) == of_experts.end())
        return false;
      return constant.is_fitted || (constant.is_of_repeated && group.conditions == Conditions::repeated);
    };
    Eigen::VectorXd usual(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      const KernelConstant& constant = form.constants[static_cast<std::size_t>(i)];
      // Constants that only repeated kernels determine start in the middle of their range.
      usual[i] = constant.is_fitted ? to_free(constant, constant.usual) : 0.0;
    }
    const auto constants = [&](const Eigen::VectorXd& free) {
      std::vector<double> values(form.constants.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const KernelConstant& constant = form.constants[i];
        const double fixed = products != nullptr ? products->constants[i] : constant.usual;
        values[i] = is_fitted(constant) ? to_constant(constant, free[static_cast<Eigen::Index>(i)]) : fixed;
      }
      return values;
    };
    const auto residuals = [&](const Eigen::VectorXd& free) {
      const std::vector<double> values = constants(free);
      Eigen::VectorXd all(static_cast<Eigen::Index>(rows.size()));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        all[static_cast<Eigen::Index>(i)] = std::log(time(group, rows[i], values, peaks) / samples_[rows[i]].time.value());
      }
      return all;
    };
    const LeastSquares problem{.residuals = residuals,
                               .loss = pseudo_huber,
                               .weight = pseudo_huber_weight,
                               .prior = usual,
                               .prior_precision = 2 * prior_weight / (prior_width * prior_width),
                               .least = Eigen::VectorXd::Constant(count, -widest),
                               .most = Eigen::VectorXd::Constant(count, widest)};
    return constants(
        minimize(problem, usual, {.steps = 60, .damping = 1e-2, .relax = 0.3, .longest_step = 1, .least_gain = 1e-7}));
  }

  /// Returns a family with constants that are fitted to `rows`. Its residuals come from the rows that time a single kernel.
  [[nodiscard]] KernelFamily family_of(const FamilyRows& group, const std::vector<std::size_t>& rows,
                                       std::size_t most) const {
    KernelFamily family{.kind = group.kind,
                        .pass = group.passes.front(),
                        .precision = group.precision,
                        .conditions = group.conditions,
                        .constants = constants_of(group, rows),
                        .rows = static_cast<int>(rows.size()),
                        .source = settings_.source};
    const DevicePeaks peaks = device_peaks(device_, group.precision);
    std::vector<std::pair<std::uint64_t, KernelResidual>> residuals;
    for (const std::size_t row : rows) {
      if (samples_[row].kernels.size() > 1) continue;
      const KernelShape shape = shape_of(samples_[row].kernels.front().first, 1, item_bytes(group.precision));
      const double ratio = samples_[row].time.value() / time(group, row, family.constants, peaks);
      residuals.push_back({hash_of(shape), {place_of(shape), static_cast<float>(std::log(ratio))}});
    }
    std::sort(residuals.begin(), residuals.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second.place) < std::tie(b.first, b.second.place);
    });
    if (residuals.size() > most) residuals.resize(most);
    for (const auto& [hash, residual] : residuals) family.residuals.push_back(residual);
    return family;
  }

  void fit_group(const FamilyRows& group) {
    if (group.passes.size() > 1 &&
        std::all_of(group.passes.begin(), group.passes.end(), [&](Pass pass) { return known(group, pass) != nullptr; })) {
      return;
    }
    constexpr std::size_t least_rows = 4;
    if (group.rows.size() < least_rows) return;
    // Computes the errors of held-out rows first, and then the errors of all rows.
    std::vector<std::size_t> fitted, left_out;
    for (const std::size_t row : group.rows) {
      const KernelShape shape = shape_of(samples_[row].kernels.front().first, 1, item_bytes(group.precision));
      (hash_of(shape) % tenths < left_out_tenths ? left_out : fitted).push_back(row);
    }
    KernelFitReport report{.kind = group.kind, .passes = {}, .precision = group.precision, .rows = group.rows.size()};
    for (const Pass pass : group.passes) report.passes += (report.passes.empty() ? "" : "+") + std::string(to_string(pass));
    double inside = 0.5, beyond = 0.7;
    if (fitted.size() >= least_rows && left_out.size() >= least_rows) {
      const KernelFamily part = family_of(group, fitted, settings_.most_residuals);
      const std::vector<double> errors = errors_of(group, part, left_out, true);
      report.left_out_median = quantile_of_sorted(errors, 0.5);
      report.left_out_p90 = quantile_of_sorted(errors, 0.9);
      inside = std::log1p(quantile_of_sorted(errors, 0.95));
    }
    KernelFamily family = family_of(group, group.rows, settings_.most_residuals);
    const std::vector<double> errors = errors_of(group, family, group.rows, false);
    report.formula_median = quantile_of_sorted(errors, 0.5);
    report.formula_p90 = quantile_of_sorted(errors, 0.9);
    beyond = std::max(inside, std::log1p(quantile_of_sorted(errors, 0.95)));
    family.spread_inside = std::max(inside, 0.02);
    family.spread_outside = std::max(beyond, 0.02);
    if (settings_.includes_launch) {
      family.constants.front() = std::min(family.constants.front(), form_of(group.kind).constants.front().usual);
    }
    for (const Pass pass : group.passes) {
      if (group.passes.size() > 1 && known(group, pass) != nullptr) continue;
      family.pass = pass;
      fit_.families.push_back(family);
    }
    fit_.reports.push_back(std::move(report));
  }

  /// |predicted / measured − 1| of each row, sorted.
  [[nodiscard]] std::vector<double> errors_of(const FamilyRows& group, const KernelFamily& family,
                                              const std::vector<std::size_t>& rows, bool with_residuals) const {
    const DevicePeaks peaks = device_peaks(device_, group.precision);
    const auto kernels = std::make_shared<DeviceKernels>();
    kernels->families.push_back(family);
    Device like = device_;
    like.kernels = kernels;
    const KernelModel model(like, group.precision, {}, group.conditions);
    std::vector<double> errors;
    for (const std::size_t row : rows) {
      double predicted = time(group, row, family.constants, peaks);
      if (with_residuals && samples_[row].kernels.size() == 1) {
        const auto& [work, pass] = samples_[row].kernels.front();
        predicted = model.seconds(work, pass, 1).value();
      }
      errors.push_back(std::abs(predicted / samples_[row].time.value() - 1));
    }
    std::sort(errors.begin(), errors.end());
    return errors;
  }

  std::vector<KernelSample> samples_;
  const Device& device_;
  const KernelFitSettings& settings_;
  KernelFit fit_;
};

}  // namespace

KernelFit fit_kernels(std::span<const KernelSample> samples, const Device& device, const KernelFitSettings& settings) {
  return Fitter(samples, device, settings).fit();
}

}  // namespace ddl
