#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/study.hpp"
#include "cli/formats/style.hpp"
#include "cli/formats/table.hpp"
#include "cli/options/study_options.hpp"
#include "estimator/step/estimate.hpp"
#include "estimator/step/explanation.hpp"

namespace ddl {

/// The unit of a table's times, picked from its longest.
struct TimeUnit {
  std::string name;
  double factor = 1;
};
[[nodiscard]] TimeUnit time_unit(Seconds longest);
/// A time in the unit of its table: `-` for none, `0.0` for hardly any.
[[nodiscard]] std::string figure(double value);
/// An amount of money: nobody counts the cents of hundreds.
[[nodiscard]] std::string amount(double value);
/// Of an epoch; nothing where the machine has no price, or the plan no time.
[[nodiscard]] std::optional<double> cost_of(const Estimate& estimate, const Machine& machine);

/// The first line of an answer: strategy, degrees, epoch and memory, or why it cannot be. `besides` goes behind the epoch.
[[nodiscard]] std::string plan_line(const Estimate& estimate, const Study& study, const std::string& besides,
                                    const Style& style);
/// Where kernel times come from.
[[nodiscard]] std::string kernel_times_text(const Study& study);
/// `93 % measured, 5 % interpolated, 2 % curve`, and the same as an object.
[[nodiscard]] std::string kernel_shares_text(const Explanation& explanation);
[[nodiscard]] nlohmann::ordered_json kernel_shares_to_json(const Explanation& explanation);
/// What is trained on what, and where kernel times come from.
[[nodiscard]] std::string study_lines(const Study& study, std::int64_t gpus, std::int64_t global_batch);
/// The section of what is in force unasked; empty where everything was asked for.
[[nodiscard]] std::string defaults_text(const std::vector<Default>& defaults, const Style& style);
/// Everything that rules a plan out, in words.
[[nodiscard]] std::string reasons_text(const Estimate& estimate, const Model& model);

/// Of plans that are not possible, the one that needs the least memory too much; the first where none was priced, and
/// nothing where there are none.
[[nodiscard]] const Estimate* nearest_miss(const std::vector<Estimate>& rejected);

/// Ranked plans with their time split into its parts; one unit for all times.
[[nodiscard]] Table ranked_table(const std::vector<Estimate>& estimates, const Study& study, bool with_ranks = true);
/// The ranked plans, and those that are not possible without a rank, in base units: for programs.
[[nodiscard]] std::string plans_csv(const std::vector<Estimate>& ranked, const std::vector<Estimate>& rejected,
                                    const Study& study);
/// Why each family has no plan, one line each: pure strategies first, hybrids with the same reason together.
[[nodiscard]] std::string rejected_text(const std::vector<Estimate>& rejected, const Model& model);

/// A plan's object with everything it costs; `rank` 0 for a plan that is not possible.
[[nodiscard]] nlohmann::ordered_json estimate_to_json(const Estimate& estimate, int rank, const Study& study);
/// What was asked, and where the figures come from.
[[nodiscard]] nlohmann::ordered_json inputs_to_json(const Study& study);

/// The ZeRO stage that every one of several strategies says, `fsdp,fsdp+tp`; nothing where one leaves it open.
[[nodiscard]] std::optional<int> zero_stage_of_all(std::string_view families);
/// `data,data+filter` into families; empty for an empty text.
[[nodiscard]] std::vector<Family> parse_families(const std::string& text);
[[nodiscard]] std::string suggest_family(const std::string& text);

}  // namespace ddl
