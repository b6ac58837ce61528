#include "calibration/kernel_prediction.hpp"

#include <map>

#include <fmt/format.h>

#include "calibration/study.hpp"
#include "estimator/kernels/kernel_time.hpp"
#include "estimator/kernels/measured_prices.hpp"
#include "estimator/kernels/roofline.hpp"

namespace ddl {
namespace {

/// By the data sheet. No other function here knows how a roofline prices a problem.
Seconds time_by_sheet(const Roofline& roofline, const Problem& problem) {
  return roofline.time(problem.operation->work(problem.pass, problem.inputs, problem.output),
                       static_cast<double>(problem.samples));
}
Seconds time_by_sheet(const Roofline& roofline, const UpdateProblem& problem) {
  return roofline.traffic_time(static_cast<double>(problem.parameters) *
                               update_bytes_per_parameter(problem.optimizer, problem.precision, problem.implementation));
}

/// Prices of one precision.
class Prices {
 public:
  Prices(const Machine& machine, const Coefficients& coefficients, const MeasuredKernels& measured, Precision precision)
      : roofline_(machine.device, precision),
        measured_(measured, roofline_, precision),
        scale_(measured_.empty() ? pooled_scale(machine, coefficients, precision) : std::nullopt) {}

  [[nodiscard]] bool is_measured() const { return !measured_.empty(); }

  [[nodiscard]] PredictedKernel predict(const KernelProblem& problem) const {
    const KernelPrice price = std::visit([&](const auto& own) { return this->price(own); }, problem);
    PredictedKernel predicted{.line = print_problem(problem), .time = price.time, .source = price.source};
    // Of a single sample, or of a time that somebody else has measured, both ends are the median.
    const MeasuredTime* const time = measured_.measured(predicted.line);
    if (price.source == Provenance::measured && time != nullptr && time->low < time->high) {
      predicted.low = time->low;
      predicted.high = time->high;
    }
    return predicted;
  }

 private:
  template <class AnyProblem>
  [[nodiscard]] KernelPrice price(const AnyProblem& problem) const {
    if (is_measured()) return measured_.price(problem);
    const Seconds time = time_by_sheet(roofline_, problem);
    if (scale_) return {time * *scale_, Provenance::curve, {}};
    return {time, Provenance::roofline, {}};
  }

  Roofline roofline_;
  MeasuredPrices measured_;
  std::optional<double> scale_;
};

}  // namespace

std::string print_problem(const KernelProblem& problem) {
  return std::visit([](const auto& own) { return print_problem(own); }, problem);
}

Precision precision_of(const KernelProblem& problem) {
  return std::visit([](const auto& own) { return own.precision; }, problem);
}

PredictedKernels predict_kernels(std::span<const KernelProblem> problems, const Machine& machine,
                                 const Coefficients& coefficients, std::span<const FoundProfile> profiles) {
  const MeasuredKernels measured = measured_kernels(profiles);
  std::map<Precision, Prices> prices;
  PredictedKernels predicted;
  for (const KernelProblem& problem : problems) {
    const Precision precision = precision_of(problem);
    auto known = prices.find(precision);
    if (known == prices.end()) {
      require_precision(precision, machine.device);
      known = prices.emplace(precision, Prices(machine, coefficients, measured, precision)).first;
      if (!profiles.empty() && !known->second.is_measured())
        predicted.warnings.push_back(unused_profile_warning(precision, measured.name));
    }
    predicted.kernels.push_back(known->second.predict(problem));
  }
  return predicted;
}

}  // namespace ddl
