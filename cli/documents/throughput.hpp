#pragma once

#include <optional>
#include <string>

#include "calibration/inputs/study.hpp"
#include "cli/options/train_tokens.hpp"
#include "estimator/explain/throughput.hpp"

namespace ddl {

/// `12,345`, three digits below 100.
[[nodiscard]] std::string rate_text(double per_second);

/// `39,700 tokens/s, MFU 48 %`; samples where the model is not of sequences.
[[nodiscard]] std::string throughput_in_short(const Throughput& throughput);
/// Of each device: `620 tokens/s per GPU, model 150 TFLOP/s (MFU 48 %), hardware 156 TFLOP/s (HFU 50 %)`.
[[nodiscard]] std::string throughput_text(const Throughput& throughput, const Plan& plan, const Device& device);
/// `48 %`, or `-` where the peak is not known.
[[nodiscard]] std::string mfu_text(const std::optional<Throughput>& throughput);

/// What a plan's time is of: `epoch`, `1T tokens`.
[[nodiscard]] std::string name_of(const Training& training);
/// `per epoch`, `for 90 epochs`, `to 75.9 % top-1 accuracy on ImageNet`.
[[nodiscard]] std::string purpose_of(const Training& training);
/// How long a plan trains; zero for one without a time.
[[nodiscard]] Seconds time_of(const Estimate& estimate, const Study& study, const Training& training);
/// What that costs; nothing if the machine has no price, or the plan no time.
[[nodiscard]] std::optional<double> cost_of(const Estimate& estimate, const Study& study, const Training& training);
/// `5 min 24 s and 12.30 USD per epoch`, `34.1 d and 1,234,567 USD for 1T tokens`; no price where the machine has none.
[[nodiscard]] std::string time_text(const Estimate& estimate, const Study& study, const Training& training);

}  // namespace ddl
