#include "calibration/kernels/kernel_prediction.hpp"

#include <array>
#include <map>

#include "calibration/inputs/measured_models.hpp"
#include "calibration/inputs/study.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/kernel_time.hpp"
#include "estimator/kernels/problem_times.hpp"
#include "estimator/kernels/recurrent_steps.hpp"
#include "estimator/kernels/roofline.hpp"

namespace ddl {
namespace {

/// The time of a problem by the device's kernel model. Only this function chooses which kernels of the problem are modeled.
KernelTime modeled(const KernelModel& model, const Problem& problem) {
  std::vector<std::pair<Work, Pass>> kernels;
  for (const Work& work : problem.operation->kernels(problem.pass, problem.inputs, problem.output)) {
    if (work.is_any() && !work.is_separate) kernels.emplace_back(work, problem.pass);
  }
  KernelTime all = time_together(model, kernels, static_cast<double>(problem.samples));
  if (!model.has_formulas()) return all;
  all.time += time_between_steps(*problem.operation, problem.pass, problem.inputs, problem.output,
                                 static_cast<double>(problem.samples), PersistentKernels::never);
  return all;
}
KernelTime modeled(const KernelModel& model, const UpdateProblem& problem) {
  const double bytes = static_cast<double>(problem.parameters) *
                       update_bytes_per_parameter(problem.optimizer, problem.precision, problem.implementation);
  return {.time = model.traffic_time(bytes), .source = model.source(KernelKind::elementwise, Pass::forward)};
}

bool is_of_volumes(const KernelProblem& problem) {
  const Problem* const own = std::get_if<Problem>(&problem);
  return own != nullptr && !own->inputs.empty() && own->inputs.front().rank == 3;
}

/// Returns the factor of measured networks whose inputs have `rank` dimensions.
std::optional<KernelScale> scale_of(int rank, const Machine& machine, const Coefficients& coefficients,
                                    Precision precision) {
  Model like;
  like.input.rank = rank;
  return pooled_scale(machine, coefficients, precision, &like);
}

/// Kernel times in one precision.
class PredictedTimes {
 public:
  PredictedTimes(const Machine& machine, const Coefficients& coefficients, const MeasuredKernels& measured,
                 Precision precision)
      : model_(machine.device, precision),
        measured_(measured, Roofline(machine.device, precision), precision),
        scales_{is_measured() ? std::nullopt : scale_of(2, machine, coefficients, precision),
                is_measured() ? std::nullopt : scale_of(3, machine, coefficients, precision)} {}

  [[nodiscard]] bool is_measured() const { return !measured_.empty(); }

  [[nodiscard]] PredictedKernel predict(const KernelProblem& problem) const {
    if (!is_measured()) {
      const KernelTime time = std::visit([&](const auto& own) { return modeled(model_, own); }, problem);
      const std::optional<KernelScale>& scale = scales_[is_of_volumes(problem) ? 1 : 0];
      const double factor = scale.value_or(KernelScale{}).factor;
      const auto scaled = [&](const std::optional<Seconds>& end) {
        return end && !scale ? std::optional(*end * factor) : std::nullopt;
      };
      return {.line = print_problem(problem),
              .time = time.time * factor,
              .low = scaled(time.low),
              .high = scaled(time.high),
              .source = scale ? Provenance::curve : time.source};
    }
    const KernelCost cost = std::visit([&](const auto& own) { return measured_.cost(own); }, problem);
    PredictedKernel predicted{.line = print_problem(problem), .time = cost.time, .source = cost.source};
    // A single sample, or an external measurement, has no interval: both bounds equal the median.
    const MeasuredTime* const time = measured_.measured(predicted.line);
    if (cost.source == Provenance::measured && time != nullptr && time->low < time->high) {
      predicted.low = time->low;
      predicted.high = time->high;
    }
    return predicted;
  }

 private:
  KernelModel model_;
  ProblemTimes measured_;
  std::array<std::optional<KernelScale>, 2> scales_;  ///< factors of image and volume networks
};

}  // namespace

KernelTime time_together(const KernelModel& model, std::span<const std::pair<Work, Pass>> kernels, double samples) {
  std::optional<KernelTime> sum;
  for (const auto& [work, pass] : kernels) {
    const KernelTime one = model.time(work, pass, samples);
    if (!sum) {
      sum = one;
      continue;
    }
    // Errors of a problem's kernels are usually correlated, so the bounds are added up.
    sum->time += one.time;
    sum->low = sum->low && one.low ? std::optional(*sum->low + *one.low) : std::nullopt;
    sum->high = sum->high && one.high ? std::optional(*sum->high + *one.high) : std::nullopt;
    sum->source = least_certain(sum->source, one.source);
  }
  return sum.value_or(KernelTime{});
}

std::string print_problem(const KernelProblem& problem) {
  return std::visit([](const auto& own) { return print_problem(own); }, problem);
}

Precision precision_of(const KernelProblem& problem) {
  return std::visit([](const auto& own) { return own.precision; }, problem);
}

PredictedKernels predict_kernels(std::span<const KernelProblem> problems, const Machine& machine,
                                 const Coefficients& coefficients, std::span<const FoundProfile> profiles) {
  const MeasuredKernels measured = measured_kernels(profiles);
  std::map<Precision, PredictedTimes> times;
  PredictedKernels predicted;
  for (const KernelProblem& problem : problems) {
    const Precision precision = precision_of(problem);
    auto known = times.find(precision);
    if (known == times.end()) {
      require_precision(precision, machine.device);
      known = times.emplace(precision, PredictedTimes(machine, coefficients, measured, precision)).first;
      if (!profiles.empty() && !known->second.is_measured())
        predicted.warnings.push_back(unused_profile_warning(precision, measured.name));
    }
    predicted.kernels.push_back(known->second.predict(problem));
  }
  return predicted;
}

}  // namespace ddl
