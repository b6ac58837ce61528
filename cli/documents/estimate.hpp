#pragma once

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

/// Adds a line with the throughput of a plan; adds nothing for a plan without a predicted time.
/// `of`: the heading of the line, which is `throughput` or the name of the plan.
void add_throughput(Document& document, const Estimate& estimate, const Study& study, std::string_view of);
[[nodiscard]] std::string kernel_times_text(const Study& study);
/// The source of exchange times: `measured 2026-11-02, nccl-tests, 2 to 540 nodes, 4 B to 1.00 GiB, …`; empty if nothing
/// was measured. If measured times do not apply, because the software reduces gradients in another way, the text says so.
[[nodiscard]] std::string network_text(const Coefficients& coefficients, const Machine& machine);
/// Returns the source of exchange times between nodes that were not measured: `datasheet, at the
/// efficiency of 5 published clusters (infiniband)`. Empty if an exchange between nodes was
/// measured, or if no published cluster with the same network technology is known.
[[nodiscard]] std::string between_nodes_text(const Machine& machine, const MeasuredExchanges& measured);
/// Returns the provenance of kernel times as text, `93 % measured, 5 % interpolated, 2 % curve`, or as a JSON object.
[[nodiscard]] std::string kernel_shares_text(const Explanation& explanation);
[[nodiscard]] nlohmann::ordered_json kernel_shares_to_json(const Explanation& explanation);
/// Adds the section about what limits the step time of a plan.
void add_findings(Document& document, const Estimate& estimate, const Study& study);
/// Adds the section of defaults in force; adds nothing if the user gave all options.
void add_defaults(Document& document, const std::vector<Default>& defaults);
/// Returns all reasons that make a plan impossible, as text.
[[nodiscard]] std::string reasons_text(const Estimate& estimate, const Model& model);

/// Returns the inputs of a report, and the sources of its numbers.
[[nodiscard]] nlohmann::ordered_json inputs_to_json(const Study& study, const Training& training = {});
[[nodiscard]] nlohmann::ordered_json defaults_to_json(const std::vector<Default>& defaults);

}  // namespace ddl
