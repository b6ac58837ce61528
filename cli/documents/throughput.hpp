#pragma once

#include <optional>
#include <string>

#include "calibration/inputs/study.hpp"
#include "cli/options/train_tokens.hpp"
#include "estimator/explain/throughput.hpp"

namespace ddl {

/// Formats a rate as `12,345`. Rates below 100 have three digits.
[[nodiscard]] std::string rate_text(double per_second);

/// Summarizes the throughput: `39,700 tokens/s, MFU 48 %`. Models without sequences have samples instead of tokens.
[[nodiscard]] std::string throughput_in_short(const Throughput& throughput);
/// Returns the rate of one device: `620 tokens/s per GPU`.
[[nodiscard]] std::string device_rate_text(const Throughput& throughput, const Plan& plan, const Device& device);
/// Returns the throughput per device: `620 tokens/s per GPU, model 150 TFLOP/s (MFU 48 %), hardware 156 TFLOP/s (HFU 50 %)`.
[[nodiscard]] std::string throughput_text(const Throughput& throughput, const Plan& plan, const Device& device);
/// Returns the MFU: `48 %`, or `-` if the device's peak is unknown.
[[nodiscard]] std::string mfu_text(const std::optional<Throughput>& throughput);

/// Returns the length for which text gives time and cost: the length that the user gave; else an epoch, if the user named
/// the data set; else 1B tokens, or for models without tokens 1,000 steps of `global_batch` samples. Without `global_batch`,
/// for reports with several batches, 1M samples replace 1,000 steps.
[[nodiscard]] Training shown_length(const Training& training, const Study& study,
                                    std::optional<std::int64_t> global_batch = {});
/// Names the length of a training: `epoch`, `1T tokens`.
[[nodiscard]] std::string name_of(const Training& training);
/// Returns the words that follow a time or cost: `per epoch`, `for 90 epochs`, `to 75.9 % top-1 accuracy on ImageNet`.
[[nodiscard]] std::string purpose_of(const Training& training);
/// Returns the time of all evaluations of a whole training, without failures; zero without evaluations.
[[nodiscard]] Seconds evaluation_time(const Estimate& estimate, const Study& study, const Training& training);
/// The time of the steps and evaluations of a training without failures; zero for a plan without a predicted time.
[[nodiscard]] Seconds stepping_time(const Estimate& estimate, const Study& study, const Training& training);
/// The time of the whole training with a plan, including failures and checkpoints if they are known (goodput_of); zero for a
/// plan without a predicted time.
[[nodiscard]] Seconds time_of(const Estimate& estimate, const Study& study, const Training& training);
/// Returns the devices that a plan pays for: whole nodes if the machine is rented by nodes.
[[nodiscard]] double rented_devices(const Plan& plan, const Machine& machine);
/// Returns the cost of the training in the machine's currency; empty if the machine has no price,
/// or if the plan has no predicted time.
[[nodiscard]] std::optional<double> cost_of(const Estimate& estimate, const Study& study, const Training& training);

}  // namespace ddl
