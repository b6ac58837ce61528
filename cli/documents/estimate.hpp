#pragma once

#include <cstdint>
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

/// The first line of an answer: strategy, degrees, time, throughput and memory, or why the plan is not possible. `besides`
/// is text that follows the time.
void add_plan(Document& document, const Estimate& estimate, const Study& study, const Training& training,
              const std::string& besides = {});
/// A line with the throughput of a plan; adds nothing for a plan without a predicted time. `of` is the heading:
/// `throughput`, or the name of the plan.
void add_throughput(Document& document, const Estimate& estimate, const Study& study, std::string_view of);
/// The sources of kernel times.
[[nodiscard]] std::string kernel_times_text(const Study& study);
/// The source of exchange times: `measured 2026-11-02, nccl-tests, 2 to 540 nodes, 4 B to 1.00 GiB, …`; empty if nothing
/// was measured. If the software prescribes other exchanges of gradients, so that measured times do not apply, adds so.
[[nodiscard]] std::string network_text(const Coefficients& coefficients, const Machine& machine);
/// The source of exchange times between nodes if no exchange between nodes was measured: `datasheet, at the efficiency of 5
/// published clusters (infiniband)`. Empty if such an exchange was measured, or if no other clusters with this kind of
/// network are known.
[[nodiscard]] std::string between_nodes_text(const Machine& machine, const MeasuredExchanges& measured);
/// The provenance of kernel times as text, `93 % measured, 5 % interpolated, 2 % curve`, and as an object.
[[nodiscard]] std::string kernel_shares_text(const Explanation& explanation);
[[nodiscard]] nlohmann::ordered_json kernel_shares_to_json(const Explanation& explanation);
/// The title lines of a report: model, data set, devices, batch, precision, and the sources of kernel times.
void add_study(Document& document, const Study& study, std::int64_t gpus, std::int64_t global_batch);
/// The section about what limits a plan's time.
void add_findings(Document& document, const Estimate& estimate, const Study& study);
/// Adds the section of defaults in force; adds nothing if the user gave every option.
void add_defaults(Document& document, const std::vector<Default>& defaults);
/// All reasons that rule a plan out, as text.
[[nodiscard]] std::string reasons_text(const Estimate& estimate, const Model& model);

/// Returns the inputs of a report, and the sources of its numbers.
[[nodiscard]] nlohmann::ordered_json inputs_to_json(const Study& study, const Training& training = {});
[[nodiscard]] nlohmann::ordered_json defaults_to_json(const std::vector<Default>& defaults);

}  // namespace ddl
