#pragma once

#include <optional>
#include <string>

#include "calibration/inputs/study.hpp"
#include "cli/options/train_tokens.hpp"
#include "estimator/explain/throughput.hpp"

namespace ddl {

/// Formats a rate: `12,345`, or three digits below 100.
[[nodiscard]] std::string rate_text(double per_second);

/// `39,700 tokens/s, MFU 48 %`; samples for models without sequences.
[[nodiscard]] std::string throughput_in_short(const Throughput& throughput);
/// The throughput per device: `620 tokens/s per GPU, model 150 TFLOP/s (MFU 48 %), hardware 156 TFLOP/s (HFU 50 %)`.
[[nodiscard]] std::string throughput_text(const Throughput& throughput, const Plan& plan, const Device& device);
/// `48 %`, or `-` if the peak is unknown.
[[nodiscard]] std::string mfu_text(const std::optional<Throughput>& throughput);

/// The training that a time refers to: `epoch`, `1T tokens`.
[[nodiscard]] std::string name_of(const Training& training);
/// `per epoch`, `for 90 epochs`, `to 75.9 % top-1 accuracy on ImageNet`.
[[nodiscard]] std::string purpose_of(const Training& training);
/// The time of the whole training with a plan; zero for a plan without a predicted time.
[[nodiscard]] Seconds time_of(const Estimate& estimate, const Study& study, const Training& training);
/// The cost of the training; empty if the machine has no price, or if the plan has no predicted time.
[[nodiscard]] std::optional<double> cost_of(const Estimate& estimate, const Study& study, const Training& training);
/// `5 min 24 s and 12.30 USD per epoch`, `34.1 d and 1,234,567 USD for 1T tokens`; without cost if the machine has no
/// price.
[[nodiscard]] std::string time_text(const Estimate& estimate, const Study& study, const Training& training);

}  // namespace ddl
