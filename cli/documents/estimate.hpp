#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/options/study_options.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/document.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The first line of an answer: strategy, degrees, time, throughput and memory, or why it cannot be. `besides` goes behind
/// the time.
void add_plan(Document& document, const Estimate& estimate, const Study& study, const Training& training,
              const std::string& besides = {});
/// A line of what the plan trains in a second; none for a plan without a time. `of`: `throughput`, and of which plan.
void add_throughput(Document& document, const Estimate& estimate, const Study& study, std::string_view of);
/// Where kernel times come from.
[[nodiscard]] std::string kernel_times_text(const Study& study);
/// The basis of the times of exchanges: `measured 2026-11-02, nccl-tests, 2 to 540 nodes, 4 B to 1.00 GiB, …`; empty where
/// nothing was measured.
[[nodiscard]] std::string network_text(const MeasuredExchanges& measured);
/// On what exchanges between nodes rest where none was measured: `data sheet, at the efficiency of 5 published clusters
/// (infiniband)`. Empty where some was measured, or nothing is known of other clusters.
[[nodiscard]] std::string between_nodes_text(const Machine& machine, const MeasuredExchanges& measured);
/// `93 % measured, 5 % interpolated, 2 % curve`, and the same as an object.
[[nodiscard]] std::string kernel_shares_text(const Explanation& explanation);
[[nodiscard]] nlohmann::ordered_json kernel_shares_to_json(const Explanation& explanation);
/// What is trained on what, and where kernel times come from.
void add_study(Document& document, const Study& study, std::int64_t gpus, std::int64_t global_batch);
/// The section of what bounds a plan's time.
void add_findings(Document& document, const Estimate& estimate, const Study& study);
/// The section of what is in force unasked; none where everything was asked for.
void add_defaults(Document& document, const std::vector<Default>& defaults);
/// Everything that rules a plan out, in words.
[[nodiscard]] std::string reasons_text(const Estimate& estimate, const Model& model);

/// What was asked, and where the figures come from.
[[nodiscard]] nlohmann::ordered_json inputs_to_json(const Study& study, const Training& training = {});
[[nodiscard]] nlohmann::ordered_json defaults_to_json(const std::vector<Default>& defaults);

}  // namespace ddl
