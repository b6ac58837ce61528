#include "estimator/inputs/time_errors.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

/// The largest width of an interval, as the logarithm of a factor. A time with a larger error is treated as unknown.
constexpr double widest = 4.6;                    // ln 100
constexpr double two_sided = 1.6448536269514722;  // 95 % quantile of the standard normal distribution

double square(double value) { return value * value; }
std::size_t index(ErrorSource source) { return static_cast<std::size_t>(source); }
bool is_kernel(ErrorSource source) { return index(source) < kernel_sources; }
bool is_exchange(ErrorSource source) {
  return source == ErrorSource::gradient_exchange || source == ErrorSource::layer_exchange || source == ErrorSource::halo;
}

ErrorWidth width_of(const TimeErrors& errors, const Sensitivity& of) {
  ErrorWidth width = errors.sources[index(of.source)];
  if (!is_kernel(of.source) && !is_exchange(of.source)) return width;
  const auto basis = static_cast<std::size_t>(of.basis);
  const ErrorWidth factor = is_kernel(of.source) ? errors.kernel_bases[basis] : errors.exchange_bases[basis];
  width.faster *= factor.faster;
  width.slower *= factor.slower;
  return width;
}

/// Returns the variance of a sum of errors if all pairs of errors have equal correlation. `sum`:
/// the sum of the errors' widths. `squares`: the sum of the squared widths.
double together(double sum, double squares, double correlation) {
  return (1 - correlation) * squares + correlation * square(sum);
}

/// Returns the variance of a run that was not used in a fit, relative to the runs of the fit. With
/// few runs, the residuals of the fit are smaller than the errors of predictions. The function
/// therefore adds a number of imaginary runs with the usual scatter. Effects that grow with the number of devices are hardly
/// seen in smaller runs, so the error grows beyond the largest run.
double own_variance(const LearnedRuns& learned, const TimeErrors& errors) {
  constexpr double others = 4, usual_misfit = 0.08;  // 80 % of the usual scatter of 0.1
  const double misfit = (learned.runs * learned.misfit + others * usual_misfit) / (learned.runs + others);
  // The mean of |x| of a normal distribution is √(2/π) times its width.
  return square(two_sided * errors.learned_scatter * misfit * std::sqrt(std::acos(-1.0) / 2)) +
         square(errors.learned_growth * learned.beyond);
}

/// Returns the variance that remains after a fit to runs of the same family: the uncertainty of the
/// error that all runs share, and the scatter of single runs.
double learned_variance(double variance, const LearnedRuns& learned, const TimeErrors& errors) {
  const double own = own_variance(learned, errors);
  const double shared = variance > 0 ? variance * own / (learned.runs * variance + own) : 0;
  return std::min(variance, own + shared);
}

/// Returns the width of the error that no source explains and that depends on the software.
ErrorWidth software_width(const TimeErrors& errors, const TimeSensitivity& time) {
  ErrorWidth width = errors.classes[time.model_class];
  if (is_measured_software(errors, time)) return width;
  width.faster = std::hypot(width.faster, errors.new_software.faster);
  width.slower = std::hypot(width.slower, errors.new_software.slower);
  return width;
}

/// Returns the error of a device without measured runs of the kind of model.
ErrorWidth device_width(const TimeErrors& errors, const TimeSensitivity& time) {
  return is_new_foreign_device(errors, time) ? errors.new_foreign_device : ErrorWidth{};
}

/// Returns the error of a step that reads samples, which depends on the host, its loader and the sizes of samples.
ErrorWidth reading_width(const TimeErrors& errors, const TimeSensitivity& time) {
  return time.reads_samples ? errors.reading_samples : ErrorWidth{};
}

/// Returns the error of the measured runs with this value of a trait; null if no run has the value.
const TraitError* find_trait(const TraitErrors& all, const std::string& name) {
  const auto found = std::lower_bound(all.measured.begin(), all.measured.end(), name,
                                      [](const TraitError& each, const std::string& key) { return each.name < key; });
  return found != all.measured.end() && found->name == name ? &*found : nullptr;
}

/// Returns the usual error of a time's traits; 0 if factors are fitted to runs, because the factors include the error.
double mean_error(const TimeSensitivity& time, const TraitDoubt& doubt) {
  return time.learned && time.learned->runs > 0 ? 0 : doubt.mean;
}

}  // namespace

bool is_measured_software(const TimeErrors& errors, const TimeSensitivity& time) {
  const std::vector<std::string>& measured = errors.measured_software[time.model_class];
  return std::binary_search(measured.begin(), measured.end(), time.software);
}

bool is_new_foreign_device(const TimeErrors& errors, const TimeSensitivity& time) {
  const std::string& trait = time.traits[RunTrait::device];  // `kind and class, device`
  const std::size_t comma = trait.find(", ");
  if (comma == std::string::npos) return false;
  const std::string maker = trait.substr(comma + 2, trait.find(' ', comma + 2) - comma - 2);
  if (std::find(errors.makers.begin(), errors.makers.end(), maker) == errors.makers.end()) return false;
  return find_trait(errors.traits[RunTrait::device], trait) == nullptr;
}

std::vector<WidthShare> width_shares(const TimeErrors& errors, const TimeSensitivity& time) {
  std::vector<WidthShare> shares;
  ErrorWidth sum, squares;
  for (const Sensitivity& each : time.sources) {
    const ErrorWidth width = width_of(errors, each);
    const ErrorWidth own{each.faster * width.faster, each.slower * width.slower};
    if (!is_kernel(each.source)) {
      shares.push_back({error_source_names[index(each.source)], own});
      continue;
    }
    sum.faster += own.faster;
    sum.slower += own.slower;
    squares.faster += square(own.faster);
    squares.slower += square(own.slower);
  }
  const double correlation = errors.kinds_together;
  shares.insert(shares.begin(), {"kernels",
                                 {std::sqrt(together(sum.faster, squares.faster, correlation)),
                                  std::sqrt(together(sum.slower, squares.slower, correlation))}});
  shares.push_back(
      {is_measured_software(errors, time) ? "software" : "software without measured runs", software_width(errors, time)});
  if (is_new_foreign_device(errors, time))
    shares.push_back({"device without measured runs of this kind of model", device_width(errors, time)});
  if (time.reads_samples) shares.push_back({"reading and preparing samples", reading_width(errors, time)});
  const TraitDoubt doubt = trait_doubt(errors, time);
  const double of_traits = two_sided * std::sqrt(doubt.variance);
  shares.push_back({"network, software and device", {of_traits, of_traits}});
  const double mean = mean_error(time, doubt);
  if (mean != 0) shares.push_back({usual_error_name, {std::max(0.0, -mean), std::max(0.0, mean)}});
  if (time.scale_slower > 0 || time.scale_faster > 0)
    shares.push_back({pooled_factor_name, {two_sided * time.scale_faster, two_sided * time.scale_slower}});
  if (time.routing > 0) shares.push_back({"routing of experts", {0, time.routing}});
  return shares;
}

namespace {

/// Returns the squared width of a time's interval in one direction, without the usual error of its traits.
double variance_of(const TimeErrors& errors, const TimeSensitivity& time, const TraitDoubt& doubt,
                   double ErrorWidth::*side) {
  const bool slower = side == &ErrorWidth::slower;
  double sum = 0, squares = 0, others = square(software_width(errors, time).*side) + square(two_sided) * doubt.variance;
  for (const Sensitivity& each : time.sources) {
    const double own = (slower ? each.slower : each.faster) * width_of(errors, each).*side;
    if (is_kernel(each.source)) {
      sum += own;
      squares += square(own);
    } else {
      others += square(own);
    }
  }
  others += square(device_width(errors, time).*side) + square(reading_width(errors, time).*side);
  if (slower) others += square(time.routing);
  // Runs of other networks do not show how far the kernels of this network are from theirs.
  const double scale = square(two_sided * (slower ? time.scale_slower : time.scale_faster));
  const double variance = others + std::max(together(sum, squares, errors.kinds_together), scale);
  if (!time.learned || time.learned->runs <= 0) return variance;
  return std::min(variance, learned_variance(variance, *time.learned, errors) + scale);
}

}  // namespace

TraitDoubt trait_doubt(const TimeErrors& errors, const TimeSensitivity& time) {
  TraitDoubt doubt{errors.usual_error, 0};
  for (std::size_t i = 0; i < run_trait_names.size(); ++i) {
    const TraitErrors& all = errors.traits[i];
    const std::string& name = time.traits[i];
    if (const TraitError* found = find_trait(all, name)) {
      doubt.mean += found->mean;
      doubt.variance += square(found->spread);
    } else if (i != static_cast<std::size_t>(RunTrait::software) || is_measured_software(errors, time)) {
      doubt.variance += square(all.spread);
    }
  }
  return doubt;
}

double width_of(const TimeErrors& errors, const TimeSensitivity& time, const TraitDoubt& doubt, double ErrorWidth::*side) {
  const double width = std::sqrt(variance_of(errors, time, doubt, side)), mean = mean_error(time, doubt);
  return width + std::max(0.0, side == &ErrorWidth::slower ? mean : -mean);
}

TimeInterval interval_of(const TimeErrors& errors, const TimeSensitivity& time) {
  const TraitDoubt doubt = trait_doubt(errors, time);
  const auto width = [&](double ErrorWidth::*side) { return std::min(widest, width_of(errors, time, doubt, side)); };
  return {std::exp(-width(&ErrorWidth::faster)), std::exp(width(&ErrorWidth::slower))};
}

TimeInterval ratio_interval_of(const TimeErrors& errors, const TimeSensitivity& a, const TimeSensitivity& b) {
  // For each source of error, how much the times a and b depend on it.
  struct Both {
    Sensitivity a, b;
  };
  std::vector<Both> sources;
  const auto add = [&](const TimeSensitivity& from, Sensitivity Both::*side) {
    for (const Sensitivity& each : from.sources) {
      auto found = std::find_if(sources.begin(), sources.end(), [&](const Both& known) {
        return known.a.source == each.source && known.a.basis == each.basis;
      });
      if (found == sources.end()) {
        const Sensitivity none{each.source, each.basis};
        found = sources.insert(sources.end(), {none, none});
      }
      (*found).*side = each;
    }
  };
  add(a, &Both::a);
  add(b, &Both::b);
  // The ratio b/a grows in two cases: if a source on which b depends more is slower, and if a source on which a depends more
  // is faster.
  double up = 0, down = 0, up_sum = 0, down_sum = 0, up_squares = 0, down_squares = 0;
  for (const Both& each : sources) {
    const ErrorWidth width = width_of(errors, each.a);
    if (each.a.source == ErrorSource::rare_splits) {
      // Each type of split has an error of its own, and an error that all types of splits share.
      const double own = std::min(1.0, errors.own_of_plan), shared = (1 - own) * square(each.b.slower - each.a.slower);
      up += own * (square(each.b.slower * width.slower) + square(each.a.faster * width.faster)) +
            shared * square(each.b.slower > each.a.slower ? width.slower : width.faster);
      down += own * (square(each.b.faster * width.faster) + square(each.a.slower * width.slower)) +
              shared * square(each.b.slower > each.a.slower ? width.faster : width.slower);
      continue;
    }
    const double slower = (each.b.slower - each.a.slower) * width.slower;
    const double faster = (each.a.faster - each.b.faster) * width.faster;
    const double grows = std::max({0.0, slower, faster}), shrinks = std::max({0.0, -slower, -faster});
    if (is_kernel(each.a.source)) {
      up_sum += grows - shrinks;
      down_sum += shrinks - grows;
      up_squares += square(grows);
      down_squares += square(shrinks);
    } else {
      up += square(grows);
      down += square(shrinks);
    }
  }
  up += together(std::max(0.0, up_sum), up_squares, errors.kinds_together);
  down += together(std::max(0.0, down_sum), down_squares, errors.kinds_together);
  // Natural routing slows down both plans.
  up += square(std::max(0.0, b.routing - a.routing));
  down += square(std::max(0.0, a.routing - b.routing));
  // A part of the error that no source explains differs between plans. It may slow down one plan, or speed up the other.
  const ErrorWidth own = software_width(errors, a);
  const double residual = errors.own_of_plan * (square(own.faster) + square(own.slower));
  up += residual;
  down += residual;
  if (a.learned && b.learned) {
    const double most = own_variance(*a.learned, errors) + own_variance(*b.learned, errors);
    up = std::min(up, most);
    down = std::min(down, most);
  } else if (a.learned || b.learned) {
    // If runs of a plan's family were measured, the error of their fit bounds the plan's error, whatever its sources are.
    const auto variance = [&](const TimeSensitivity& time, double ErrorWidth::*side) {
      return square(width_of(errors, time, trait_doubt(errors, time), side));
    };
    up = std::min(up, variance(b, &ErrorWidth::slower) + variance(a, &ErrorWidth::faster));
    down = std::min(down, variance(b, &ErrorWidth::faster) + variance(a, &ErrorWidth::slower));
  }
  // Both plans have the same error of the factor from other networks.
  const double scale =
      square(two_sided * std::max(std::abs(b.scale_slower - a.scale_slower), std::abs(b.scale_faster - a.scale_faster)));
  up += scale;
  down += scale;
  return {std::exp(-std::min(widest, std::sqrt(down))), std::exp(std::min(widest, std::sqrt(up)))};
}

}  // namespace ddl
