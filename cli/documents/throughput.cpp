#include "cli/documents/throughput.hpp"

#include <cmath>

#include <fmt/format.h>

#include "cli/documents/goodput.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "estimator/explain/evaluation.hpp"
#include "estimator/explain/staging.hpp"

namespace ddl {
namespace {

std::string share_in_brackets(std::string_view name, const std::optional<double>& share) {
  return share ? fmt::format(" ({} {})", name, share_text(*share)) : std::string();
}

}  // namespace

std::string rate_text(double per_second) {
  return per_second < 99.95 ? fmt::format("{:.3g}", per_second) : whole_text(per_second + 0.5);
}

std::string throughput_in_short(const Throughput& throughput) {
  const std::string rate =
      throughput.tokens ? rate_text(*throughput.tokens) + " tokens/s" : rate_text(throughput.samples) + " samples/s";
  return throughput.model_share ? fmt::format("{}, MFU {}", rate, share_text(*throughput.model_share)) : rate;
}

std::string device_rate_text(const Throughput& throughput, const Plan& plan, const Device& device) {
  const double all = throughput.tokens.value_or(throughput.samples);
  return fmt::format("{} {} per {}", rate_text(all / static_cast<double>(plan.mesh.devices())),
                     throughput.tokens ? "tokens/s" : "samples/s", device_noun(device));
}

std::string throughput_text(const Throughput& throughput, const Plan& plan, const Device& device) {
  return fmt::format("{}, model {}{}, hardware {}{}", device_rate_text(throughput, plan, device), humanize(throughput.model),
                     share_in_brackets("MFU", throughput.model_share), humanize(throughput.hardware),
                     share_in_brackets("HFU", throughput.hardware_share));
}

std::string mfu_text(const std::optional<Throughput>& throughput) {
  return throughput && throughput->model_share ? share_text(*throughput->model_share) : "-";
}

Training shown_length(const Training& training, const Study& study, std::optional<std::int64_t> global_batch) {
  if (training.is_whole() || !study.spec().dataset.empty()) return training;
  Training unit;
  if (study.model().sequence_length > 0) {
    unit.tokens = 1e9;
    unit.unit = "1B tokens";
  } else if (global_batch) {
    unit.samples = 1000.0 * static_cast<double>(*global_batch);
    unit.unit = "1,000 steps";
  } else {
    unit.samples = 1e6;
    unit.unit = "1M samples";
  }
  return unit;
}

std::string name_of(const Training& training) {
  if (!training.unit.empty()) return training.unit;
  if (training.to_accuracy) return "to target";
  if (training.epochs) return count_text(*training.epochs, "epoch");
  return training.tokens ? print_token_count(*training.tokens) + " tokens" : "epoch";
}

std::string purpose_of(const Training& training) {
  if (training.convergence) return "to " + training.convergence->target;
  return (training.is_whole() ? "for " : "per ") + name_of(training);
}

namespace {

/// The time of the steps of a training, without evaluations.
Seconds time_of_steps(const Estimate& estimate, const Study& study, const Training& training) {
  if (training.convergence) {
    const std::int64_t batch = estimate.plan.global_batch;
    return estimate.time.step_time() * (training.convergence->samples_at(batch).value_or(0) / static_cast<double>(batch));
  }
  if (training.epochs) return estimate.epoch * static_cast<double>(*training.epochs);
  if (training.samples)
    return estimate.time.step_time() * (*training.samples / static_cast<double>(estimate.plan.global_batch));
  if (!training.tokens) return estimate.epoch;
  // A unit of work expresses a rate, so it may be a fraction of a step. A training has at least one step.
  if (!training.unit.empty()) {
    const double tokens_per_step = static_cast<double>(estimate.plan.global_batch * study.model().sequence_length);
    return estimate.time.step_time() * (*training.tokens / tokens_per_step);
  }
  return training_time(study.job(), estimate, *training.tokens).value_or(Seconds{});
}

}  // namespace

Seconds evaluation_time(const Estimate& estimate, const Study& study, const Training& training) {
  const Seconds step = estimate.time.step_time();
  if (!training.evaluation || !training.is_whole() || step <= Seconds{}) return {};
  const auto batch = static_cast<double>(estimate.plan.global_batch);
  const double trained = time_of_steps(estimate, study, training) / step * batch;
  // Rounding of the quotient must not drop the evaluation at the end of the training.
  constexpr double rounding = 1e-9;
  const double evaluations = std::floor(trained / training.evaluation->every * (1 + rounding));
  return forward_only_time(estimate) * (evaluations * training.evaluation->samples / batch);
}

Seconds stepping_time(const Estimate& estimate, const Study& study, const Training& training) {
  return time_of_steps(estimate, study, training) + evaluation_time(estimate, study, training);
}

Seconds time_of(const Estimate& estimate, const Study& study, const Training& training) {
  const std::optional<Goodput> goodput = goodput_of(estimate, study, training);
  const Seconds steps = stepping_time(estimate, study, training);
  const std::optional<StagedData> staged =
      training.is_whole() ? staged_data(study.job(), estimate.plan) : std::optional<StagedData>();
  return (goodput ? steps / goodput->share : steps) + (staged ? staged->time.value_or(Seconds{}) : Seconds{});
}

double rented_devices(const Plan& plan, const Machine& machine) {
  const auto devices = static_cast<double>(plan.mesh.devices());
  const double node = machine.devices_per_node();
  return machine.rents_nodes ? std::ceil(devices / node) * node : devices;
}

std::optional<double> cost_of(const Estimate& estimate, const Study& study, const Training& training) {
  const std::optional<double>& price = study.machine().price_per_gpu_hour;
  const Seconds time = time_of(estimate, study, training);
  if (!price || time.value() <= 0) return std::nullopt;
  const std::optional<Goodput> goodput = goodput_of(estimate, study, training);
  const double node = study.machine().devices_per_node();
  const double spares = goodput ? goodput->spare_nodes * node : 0;
  return *price * (rented_devices(estimate.plan, study.machine()) + spares) * time.value() / 3600.0;
}

}  // namespace ddl
